// The page of one run when things do not go smoothly: lost answers, quicker clients, small screens.
import { questions } from "./lab/look.ts";
import { type Act, answer } from "./lab/script.ts";
import { expect, go, test } from "./lab/test.ts";

const interactive = { mode: "interactive" } as const;
const ask: Act = { ask: { kind: "choose_one", prompt: "Which one?", options: [{ value: "red", label: "Red" }, { value: "blue", label: "Blue" }] } };
const TELEPHONE = { width: 360, height: 740 };

test("what is opened at the end of a conversation stays under the hand", async ({ page, server }) => {
  const says = Array.from({ length: 30 }, (_, n): Act => ({ say: `Message ${n}.` }));
  const run = await server.played([[...says, { think: "why\n".repeat(200) }, answer()]]);
  await go(page, `#/runs/${run}/conversation`);
  const fold = page.locator("[data-kind=reasoning] summary");
  // Until the verdict is whole, the list below it moves.
  await expect(page.getByTestId("ground").first()).toBeVisible();
  await expect(page.locator("[data-kind=end]")).toBeInViewport();
  const before = await fold.boundingBox();
  await fold.click();
  await expect(page.locator("[data-kind=reasoning] .thought")).toBeInViewport();
  // The end is out of view once the list has grown, and not before.
  await expect(page.locator("[data-kind=end]")).not.toBeInViewport();
  expect((await fold.boundingBox())?.y).toBeCloseTo(before?.y ?? 0, 0);
});

test("long thoughts are bounded, and nothing is hidden in them", async ({ page, server }) => {
  const run = await server.played([[{ think: `a\u202eb\u200bc ${"x".repeat(100_000)}` }, answer()]]);
  await go(page, `#/runs/${run}/conversation`);
  const row = page.locator("[data-kind=reasoning]");
  await row.locator("summary").click();
  await expect(row).toContainText("more characters");
  await expect(row.locator(".thought")).toContainText("a⟨U+202E⟩b⟨U+200B⟩c");
  expect((await row.boundingBox())?.height).toBeLessThan(700);
});

test("on a telephone an open question stands once, and its row leads to it", async ({ page, server }) => {
  await page.setViewportSize(TELEPHONE);
  const run = await server.played([[{ say: "Hm." }, ask], [answer()]], interactive);
  await go(page, `#/runs/${run}/conversation`);
  const row = page.locator("[data-kind=question]");
  await expect(row.getByRole("listitem")).toHaveCount(0);
  expect((await row.boundingBox())?.height).toBeLessThan(60);
  await row.getByRole("button").click();
  await expect(questions(page).getByRole("button", { name: "Red" })).toBeFocused();
  await questions(page).getByRole("button", { name: "Red" }).click();
  await expect(row.getByRole("listitem")).toHaveCount(2);
});

test("on a telephone the selected event is seen where it was tapped", async ({ page, server }) => {
  await page.setViewportSize(TELEPHONE);
  const run = await server.played([[{ say: "Hello." }, answer()]]);
  await go(page, `#/runs/${run}/timeline`);
  await page.getByTestId("timeline-event").nth(2).click();
  await expect(page.getByTestId("selected-type")).toBeInViewport();
  expect((await page.getByTestId("selected-event").boundingBox())?.height).toBeLessThan(TELEPHONE.height / 2);
});

test("what was written outlives another view and another's answer, until it is dismissed", async ({ page, server }) => {
  await page.setViewportSize({ width: 600, height: 800 });
  const run = await server.played([[ask], [answer()]], interactive);
  await go(page, `#/runs/${run}/conversation`);
  await page.getByTestId("answer-text").fill("half an answer");
  await page.getByRole("tab", { name: "Files" }).click();
  await page.getByRole("tab", { name: "Conversation" }).click();
  await expect(page.getByTestId("answer-text")).toHaveValue("half an answer");
  await server.client.reply(run, { interaction_id: 1, text: "blue" });
  await expect(page.getByTestId("late")).toContainText("blue");
  await expect(page.getByTestId("answer-text")).toHaveValue("half an answer");
  await page.getByTestId("closed-question").getByRole("button", { name: "Dismiss" }).click();
  await expect(questions(page)).toHaveCount(0);
});

test("an event that there is not is said to be missing, and one request that was lost is made again", async ({ page, server }) => {
  const run = await server.played([[{ say: "Hello." }, answer()]]);
  await go(page, `#/runs/${run}/evidence?seq=99999`);
  await expect(page.getByTestId("selected-event")).toContainText("There is no event 99999");
  await expect(page.getByTestId("evidence")).toContainText("Hello.");
  let lost = 0;
  await page.route("**/v1/runs/*/events/history*", (route) => ((lost += 1) === 1 ? route.abort() : route.continue()));
  await go(page, `#/runs/${run}/evidence?seq=1`);
  await expect(page.getByTestId("selected-type")).toHaveText("run.started");
  expect(lost).toBeGreaterThan(1);
});
