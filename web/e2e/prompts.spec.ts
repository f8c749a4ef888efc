// Runs without a skill: started from a prompt, and continued on another engine.
import type { Page } from "@playwright/test";
import { rows, verdict } from "./lab/look.ts";
import type { Turn } from "./lab/script.ts";
import type { Server } from "./lab/server.ts";
import { expect, go, test } from "./lab/test.ts";

const GOOD: Turn = [{ say: "Basel costs 12.40." }];
const FAILS: Turn = [{ say: "All is well, every price is known!" }, { fail: "The model is overloaded." }];

/** A conversation at rest, with a good turn and one that failed. */
async function talked(server: Server): Promise<string> {
  const run = await server.played([GOOD, FAILS], { mode: "conversation" });
  await server.client.reply(run, { interaction_id: 1, text: "And Chur?" }, { wait: 60 });
  return run;
}

const newest = async (server: Server): Promise<string> => (await server.client.listRuns({ limit: 1 })).runs[0]?.run_id ?? "";

async function fillContinue(page: Page, prompt: string): Promise<void> {
  await page.getByTestId("continue").click();
  const form = page.getByTestId("continue-form");
  await expect(form.getByRole("combobox", { name: "Engine" })).toHaveValue("scripted");
  await form.getByRole("textbox", { name: "Next prompt" }).fill(prompt);
}

test("a conversation continues on an engine, and the new run leads back", async ({ page, server }) => {
  const old = await talked(server);
  await go(page, `#/runs/${old}/conversation`);
  await fillContinue(page, "What does Bern cost?");
  await page.getByTestId("continue-form").getByRole("button", { name: "Continue" }).click();
  const link = page.getByTestId("continues");
  await expect(link).toHaveAttribute("data-run", old);
  await expect(link).toContainText("This run continues the conversation of");
  await expect(page.getByTestId("continues-left-out")).toContainText("1 message of a turn that did not complete");
  const run = await newest(server);
  expect(run).not.toBe(old);
  expect(page.url()).toContain(run);
  await expect(verdict(page)).toContainText("waits for the next prompt");
  // The message that began it: the transcript, without the text of the turn that failed, and then the prompt.
  const message = page.locator("[data-testid=prompt][data-origin=orchestrator]");
  await message.locator("summary").click();
  const text = message.locator("p.long");
  await expect(text).toContainText("Basel costs 12.40.");
  await expect(text).toContainText("And Chur?");
  await expect(text).toContainText(/What does Bern cost\?$/);
  await expect(page.getByTestId("conversation")).not.toContainText("All is well");
  await page.evaluate(() => localStorage.setItem("skillrun.language", "zh"));
  await page.reload();
  await expect(link).toContainText("此运行接续以下运行的对话");
  await link.getByRole("link").click();
  await expect(rows(page).filter({ hasText: "All is well" })).toHaveCount(1);
  expect(page.url()).toContain(old);
  await expect(page.getByTestId("continues")).toHaveCount(0);
  expect((await server.settled(old)).status).toBe("waiting_user");
});

test("a run is continued once, whatever became of the response", async ({ page, server }) => {
  const old = await talked(server);
  let made = 0;
  await page.route("**/continue", async (route) => {
    made += 1;
    const response = await route.fetch();
    if (made === 1) await route.abort();
    else await route.fulfill({ response });
  });
  await go(page, `#/runs/${old}/conversation`);
  await fillContinue(page, "Go on.");
  const submit = page.getByTestId("continue-form").getByRole("button", { name: "Continue" });
  await submit.click();
  await expect(page.getByTestId("continue-form").getByRole("alert")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Next prompt" }).first()).toHaveValue("Go on.");
  await submit.click();
  await expect(page.getByTestId("continues")).toHaveAttribute("data-run", old);
  expect(made).toBe(2);
  expect((await server.client.listRuns()).runs).toHaveLength(2);
});

test("a run that is at work is not continued, and a refusal is shown", async ({ page, server }) => {
  const busy = await server.play([[{ say: "I begin" }, { hang: null }], GOOD], { mode: "conversation" });
  await go(page, `#/runs/${busy}/conversation`);
  await expect(page.getByTestId("interrupt")).toBeVisible();
  await expect(page.getByTestId("continue")).toHaveCount(0);
  await server.client.interruptRun(busy, { wait: 60 });
  await page.route("**/continue", (route) => route.continue({ postData: JSON.stringify({ engine: "nothing" }) }));
  await fillContinue(page, "Go on.");
  await page.getByTestId("continue-form").getByRole("button", { name: "Continue" }).click();
  await expect(page.getByTestId("continue-form").getByRole("alert")).toContainText("nothing");
  await expect(page.getByTestId("continue-form").getByRole("textbox")).toHaveValue("Go on.");
  expect((await server.client.listRuns()).runs).toHaveLength(1);
  // The focus returns to the button.
  await page.keyboard.press("Escape");
  await expect(page.getByTestId("continue-form")).toHaveCount(0);
  await expect(page.getByTestId("continue")).toBeFocused();
});

for (const { mode, ends } of [
  { mode: "auto", ends: "succeeded" },
  { mode: "interactive", ends: "succeeded" },
  { mode: "conversation", ends: "waiting_user" },
] as const) {
  test(`a run is started from a prompt, in mode ${mode}`, async ({ page, server }) => {
    await go(page, "#/start");
    await page.getByTestId("kind-prompt").click();
    const prompt = page.getByTestId("prompt-text");
    await expect(prompt).toBeFocused();
    await page.getByTestId("start").click();
    await expect(page.getByTestId("field-error")).toHaveText("This field is required.");
    expect((await server.client.listRuns()).runs).toHaveLength(0);
    await prompt.fill("Which city is first?");
    await page.getByLabel("Mode", { exact: true }).selectOption(mode);
    // The other modes have no command that begins with a prompt.
    await expect(page.getByText("skillrun ask 'Which city is first?' --engine scripted")).toHaveCount(mode === "auto" ? 1 : 0);
    await prompt.press("Control+Enter");
    await expect(verdict(page)).toHaveAttribute("data-status", ends);
    await expect(verdict(page).getByRole("heading", { level: 1 })).toHaveText("Which city is first?");
    const run = await server.client.getRun(await newest(server));
    expect([run.skill, run.mode]).toEqual([null, mode]);
    expect((await server.client.request(run.run_id)).prompt).toBe("Which city is first?");
    // Without a script the engine repeats the prompt.
    await expect(page.locator("[data-standing=answer]")).toContainText("Which city is first?");
  });
}

test("what the service refuses of a prompt is shown at its field", async ({ page, server }) => {
  await go(page, "#/prompt");
  await page.getByTestId("prompt-text").fill("x".repeat(600_000));
  await page.getByTestId("start").click();
  const field = page.locator("[data-testid=field][data-path=prompt]");
  await expect(field.getByTestId("field-error")).toBeVisible();
  expect((await server.client.listRuns()).runs).toHaveLength(0);
  await page.getByTestId("prompt-text").fill("Short.");
  await expect(field.getByTestId("field-error")).toHaveCount(0);
  await page.getByTestId("start").click();
  await expect(verdict(page)).toHaveAttribute("data-status", "succeeded");
});
