// What a model would see again of a run: text of turns that did not complete is not in it, and the page says so.
import type { Turn } from "./lab/script.ts";
import { expect, go, test } from "./lab/test.ts";

const TURNS: Turn[] = [
  [{ think: "I look first." }, { tool: { name: "shell", input: { command: "ls" }, output: "prices.md\n" } }, { say: "Basel costs 12.40." }],
  [{ say: "All is well, every price is known!" }, { fail: "The model is overloaded." }],
  [{ say: "Chur costs 9.80." }],
];

test("the pane shows what a model would see, in every dialect, and what was left out", async ({ page, server }) => {
  const run = await server.played(TURNS, { mode: "conversation" });
  await server.client.reply(run, { interaction_id: 1, text: "And Chur?" }, { wait: 60 });
  await go(page, `#/runs/${run}/replay`);
  const pane = page.getByTestId("replay");
  await expect(pane).toHaveAttribute("data-turns", "2");
  const items = page.getByTestId("replay-item");
  await expect(items.filter({ hasText: "Basel costs 12.40." })).toHaveAttribute("data-type", "agent");
  await expect(items.filter({ hasText: "And Chur?" })).toHaveAttribute("data-type", "user");
  await expect(page.getByTestId("left-out")).toContainText("1 message of a turn that did not complete");
  await expect(page.getByTestId("left-out")).toContainText("1 summary of reasoning");
  await expect(page.locator("[data-testid=replay-turn][data-turn='2']").getByTestId("turn-left-out")).toHaveAttribute("data-reason", "text_of_broken_turn");
  await expect(pane).not.toContainText("All is well");
  // A turn that ends while the pane is open is added.
  await server.client.reply(run, { interaction_id: 2, text: "Again." }, { wait: 60 });
  await expect(pane).toHaveAttribute("data-turns", "3");
  for (const dialect of ["text", "anthropic-messages", "openai-responses", "openai-chat"]) {
    await page.getByTestId("dialect").selectOption(dialect);
    await expect(pane).toHaveAttribute("data-dialect", dialect);
    await expect(page.getByTestId("rendered")).toContainText("Basel costs 12.40.");
    await expect(page.getByTestId("rendered")).toContainText("Chur costs 9.80.");
    await expect(page.getByTestId("rendered")).not.toContainText("All is well");
    if (dialect !== "text") JSON.parse((await page.getByTestId("rendered").textContent()) ?? "");
  }
});
