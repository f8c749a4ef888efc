// Turns of a conversation: text of a turn that did not complete is marked wherever it is shown, whatever the page missed.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { conversation, rows, verdict } from "./lab/look.ts";
import { type Turn, answer, talk } from "./lab/script.ts";
import type { Server } from "./lab/server.ts";
import { Wire } from "./lab/wire.ts";
import { expect, go, test } from "./lab/test.ts";

const GOOD: Turn = [{ say: "I look at the table." }, { say: "Basel costs 12.40." }];
const FAILS: Turn = [{ say: "All is well, every price is known!" }, { fail: "The model is overloaded." }];
const HANGS: Turn = [{ say: "I begin with Chur and then" }, { hang: null }];

/** The row of a message by its text. */
const message = (page: Page, text: string) => rows(page).and(page.locator("[data-kind=message]")).filter({ hasText: text });
const standing = (page: Page, text: string) => message(page, text).locator("[data-standing]");

/** A conversation with a good turn and one that failed, at rest. */
async function talked(server: Server, ...more: Turn[]): Promise<string> {
  const run = await server.played([GOOD, FAILS, ...more], { mode: "conversation" });
  await server.client.reply(run, { interaction_id: 1, text: "And Chur?" }, { wait: 60 });
  return run;
}

/** What versions before turns did not write. */
const TURNS = ["turn.started", "user.message", "turn.ended"];

/** Leaves events out of the stored conversation of a run that is over. */
async function leaveOut(server: Server, run: string, types: readonly string[]): Promise<void> {
  await server.stop();
  const file = join(server.folder, "data", "runs", run, "fcmp.jsonl");
  const events = (await readFile(file, "utf8")).trimEnd().split("\n").map((line) => JSON.parse(line) as { seq: number; type: string });
  const left = events.filter(({ type }) => !types.includes(type));
  expect(events.length - left.length).toBe(types.length);
  await writeFile(file, left.map((event, index) => `${JSON.stringify({ ...event, seq: index + 1 })}\n`).join(""));
  await server.startAgain();
}

test("text of a turn that failed is marked in the conversation, and not shown in the list as an answer", async ({ page, server }) => {
  const run = await talked(server);
  await go(page, `#/runs/${run}/conversation`);
  await expect(standing(page, "Basel costs 12.40.")).toHaveAttribute("data-standing", "answer");
  await expect(standing(page, "I look at the table.")).toHaveAttribute("data-standing", "step");
  await expect(standing(page, "All is well")).toHaveAttribute("data-standing", "broken");
  await expect(page.getByTestId("broken-mark")).toHaveCount(1);
  await expect(message(page, "All is well").getByTestId("broken-mark")).toContainText("its text is not an answer");
  const end = page.getByTestId("turn-end").and(page.locator("[data-turn=partial_failed]"));
  await expect(end).toContainText("Turn 2 failed");
  await expect(end).toContainText("ENGINE_FAILED");
  await expect(end).toContainText("The model is overloaded.");
  const action = end.getByTestId("turn-action").and(page.locator("[data-action=reply]"));
  await end.locator("summary").click();
  await expect(action).toContainText(`skillrun reply ${run}`);
  await expect(page.getByTestId("success-mark")).toHaveCount(0);

  await go(page, "#/runs");
  const words = page.getByTestId("run-row").getByTestId("last-words");
  await expect(words).toHaveAttribute("data-broken", "ENGINE_FAILED");
  await expect(words).toContainText("The last turn did not complete: The model is overloaded.");
  await expect(page.getByTestId("run-row")).not.toContainText("All is well");
});

test("what is unfolded stays unfolded when its row is drawn again, and behind another view", async ({ page, server }) => {
  const run = await talked(server);
  await page.evaluate(() => localStorage.setItem("skillrun.language", "zh"));
  await page.reload();
  await go(page, `#/runs/${run}/conversation`);
  const end = page.getByTestId("turn-end").and(page.locator("[data-turn=partial_failed]"));
  await expect(end).toContainText("第 2 轮");
  // Everything is drawn again between the click and the task in which the browser reports the fold.
  await end.locator("summary").evaluate((summary: HTMLElement) => {
    summary.click();
    const language = [...document.querySelectorAll("select")].find((select) => select.value === "zh");
    if (!language) throw new Error("there is no language to choose");
    language.value = "en";
    language.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await expect(end).toContainText("Turn 2 failed");
  const action = end.getByTestId("turn-action").first();
  await expect(action).toBeVisible();
  // Where there is room for one view, the conversation is left and returned to.
  await page.setViewportSize({ width: 700, height: 900 });
  await page.getByRole("tab", { name: "Files" }).click();
  await expect(end).toHaveCount(0);
  await page.getByRole("tab", { name: "Conversation" }).click();
  await expect(action).toBeVisible();
  await end.locator("summary").click();
  await expect(action).toBeHidden();
});

test("a run at rest waits for the next prompt, which is shown once", async ({ page, server }) => {
  const run = await talked(server, [{ say: "Chur costs 9.80." }]);
  await go(page, `#/runs/${run}/conversation`);
  await expect(verdict(page)).toContainText("waits for the next prompt");
  await expect(page.getByTestId("conversation")).not.toContainText(/waits for an answer|Question \d|Answer to question/);
  await expect(page.getByRole("region", { name: "Next prompt" })).toBeVisible();
  await page.getByTestId("answer-text").fill("Once more, please.");
  await page.keyboard.press("Control+Enter");
  await expect(standing(page, "Chur costs 9.80.")).toHaveAttribute("data-standing", "answer");
  const texts = (await conversation(page)).map((row) => row.text);
  expect(texts.filter((text) => text.includes("Once more, please."))).toHaveLength(1);
  expect(texts.filter((text) => text.includes("And Chur?"))).toHaveLength(1);
  // The instructions of the skill are there, folded.
  const instructions = page.locator("[data-testid=prompt][data-origin=skill]");
  await page.getByTestId("chat-list").evaluate((element) => (element.scrollTop = 0));
  await expect(instructions).toContainText("Instructions of the skill");
  await expect(instructions.locator("p")).toHaveCount(0);
  await instructions.locator("summary").click();
  await expect(instructions.locator("p")).toContainText("SKILL.md");
  await go(page, "#/runs");
  await expect(page.getByTestId("run-row")).toContainText("waits for the next prompt");
  await go(page, "#/inbox");
  await expect(page.getByTestId("question")).toHaveCount(0);
});

test("text of a turn that is interrupted is marked while the page looks on", async ({ page, server }) => {
  const run = await server.play([HANGS, GOOD], { mode: "conversation" });
  await go(page, `#/runs/${run}/conversation`);
  await expect(standing(page, "I begin with Chur")).toHaveAttribute("data-standing", "undecided");
  await expect(page.getByTestId("broken-mark")).toHaveCount(0);
  await page.getByTestId("interrupt").click();
  await expect(standing(page, "I begin with Chur")).toHaveAttribute("data-standing", "broken");
  await expect(page.getByTestId("broken-mark")).toHaveAttribute("data-turn", "interrupted");
  await expect(page.getByTestId("turn-end")).toContainText("Turn 1 was interrupted");
  await page.getByTestId("answer-text").fill("Basel, then.");
  await page.keyboard.press("Control+Enter");
  await expect(standing(page, "Basel costs 12.40.")).toHaveAttribute("data-standing", "answer");
  await expect(standing(page, "I begin with Chur")).toHaveAttribute("data-standing", "broken");
});

test("a page that was away when a turn broke shows the same as one that was not", async ({ context, server }) => {
  const wire = await Wire.to(server.url);
  const [page, patient] = [await context.newPage(), await context.newPage()];
  await page.goto(server.link.replace(server.url, wire.url));
  await page.getByRole("navigation").waitFor();
  // The link is good once; the other page has another origin, and gets the token of this one.
  const token = (await page.evaluate(() => localStorage.getItem("skillrun.token"))) ?? "";
  await patient.goto(server.url);
  await patient.evaluate((token) => localStorage.setItem("skillrun.token", token), token);
  await patient.reload();
  await patient.getByRole("navigation").waitFor();
  const run = await server.play([HANGS, [...talk(3, 50)], GOOD], { mode: "conversation" });
  for (const one of [page, patient]) {
    await go(one, `#/runs/${run}/conversation`);
    await expect(standing(one, "I begin with Chur")).toHaveAttribute("data-standing", "undecided");
  }
  wire.cut();
  await expect(page.getByTestId("away")).toBeVisible();
  // Nothing is an answer for want of news.
  await expect(standing(page, "I begin with Chur")).toHaveAttribute("data-standing", "undecided");
  await server.client.interruptRun(run, { wait: 60 });
  await server.client.reply(run, { interaction_id: 1, text: "Count, then." }, { wait: 60 });
  wire.mend();
  await expect(page.getByTestId("away")).toBeHidden();
  for (const one of [page, patient]) {
    await expect(standing(one, "line 3")).toHaveAttribute("data-standing", "answer");
    await expect(verdict(one)).toHaveAttribute("data-status", "waiting_user");
    await expect(verdict(one)).toContainText("waits for the next prompt");
  }
  const [cut, whole] = [await conversation(page), await conversation(patient)];
  expect(cut).toEqual(whole);
  expect(cut.find((row) => row.text.includes("I begin with Chur"))?.text).toContain("This turn was interrupted; its text is not an answer.");
  await page.close();
  await wire.remove();
});

test("the end of a turn that the page missed closes it as not completed", async ({ page, server }) => {
  const run = await server.played([GOOD], { mode: "conversation" });
  await server.client.closeRun(run);
  // Neither the conversation nor the attempts have it.
  await leaveOut(server, run, ["turn.ended"]);
  await page.route("**/attempts", (route) => route.fulfill({ json: { attempts: [] } }));
  await go(page, `#/runs/${run}/conversation`);
  await expect(page.locator("[data-kind=end]")).toBeVisible();
  await expect(message(page, "Basel costs 12.40.").getByTestId("broken-mark")).toHaveText("This turn did not complete; its text is not an answer.");
});

test("a conversation of an older version keeps its rule: no marks in a run that succeeded", async ({ page, server }) => {
  const run = await server.played([[{ say: "Here it is." }, answer("12.40")]]);
  expect((await server.settled(run)).status).toBe("succeeded");
  await leaveOut(server, run, TURNS);
  await go(page, `#/runs/${run}/conversation`);
  await expect(page.locator("[data-kind=end]")).toBeVisible();
  await expect(standing(page, "Here it is.")).toHaveAttribute("data-standing", "answer");
  await expect(page.getByTestId("broken-mark")).toHaveCount(0);
  await expect(page.getByTestId("turn-end")).toHaveCount(0);
  expect((await conversation(page)).map((row) => row.text).join("\n")).toContain("Turn 1");
});

test("text of a run of an older version that failed is marked all the same", async ({ page, server }) => {
  const run = await server.played([FAILS]);
  expect((await server.settled(run)).status).toBe("failed");
  await leaveOut(server, run, TURNS);
  await go(page, `#/runs/${run}/conversation`);
  await expect(page.locator("[data-kind=end]")).toBeVisible();
  await expect(message(page, "All is well").getByTestId("broken-mark")).toContainText("its text is not an answer");
});
