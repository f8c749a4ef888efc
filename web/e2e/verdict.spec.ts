// The verdict: what it offers first, where its evidence leads, and that it leaves room for the rest on a small screen.
import { verdict } from "./lab/look.ts";
import { expect, go, test } from "./lab/test.ts";

const TELEPHONE = { width: 390, height: 844 };

test("what may help is offered before what only looks", async ({ page, server }) => {
  const run = await server.played([[{ say: "I begin." }, { fail: "The model is overloaded. Try again later." }]]);
  await go(page, `#/runs/${run}/conversation`);
  const actions = page.getByTestId("next-action");
  await expect(actions.first()).toHaveAttribute("data-action", "retry");
  await expect(actions.first().getByRole("button").first()).toHaveClass(/primary/);
  await expect(verdict(page).locator("button.primary")).toHaveCount(1);
});

test("a retry for later shows its time, and can still be made at once", async ({ page, server }) => {
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const run = await server.played([[{ fail: `Rate limit reached, 429. Resets at ${soon}` }]]);
  await go(page, `#/runs/${run}/conversation`);
  const later = page.locator("[data-action=retry_later]");
  await expect(later.getByRole("button").first()).not.toHaveClass(/primary/);
  await expect(page.getByTestId("retry-when")).toContainText(/in \d+ (min|h)/);
  await later.getByRole("button").first().click();
  await expect(page).not.toHaveURL(new RegExp(run));
});

test("the evidence begins where the verdict stands", async ({ page, server }) => {
  const run = await server.played([[{ say: "I begin." }, { fail: "The model is overloaded." }]]);
  await go(page, `#/runs/${run}/conversation`);
  const ground = page.getByTestId("ground").first();
  const [from, to] = [await ground.getAttribute("data-from"), await ground.getAttribute("data-to")];
  await page.locator("[data-action=inspect_evidence]").getByRole("button").first().click();
  await expect(page.getByTestId("mark-range")).toHaveAttribute("data-ranges", `stdout:${from}-${to}`);
});

test("bytes that no event was made from are shown and marked all the same", async ({ page, server }) => {
  const run = await server.played([[{ say: "I begin." }, { fail: "The model is overloaded." }]]);
  await page.route("**/events/at*", (route) => route.fulfill({ json: { events: [], cut: false } }));
  await go(page, `#/runs/${run}/evidence?seq=1`);
  await expect(page.getByTestId("selected-event")).toHaveAttribute("data-seq", "1");
  const ground = page.getByTestId("ground").last();
  const [from, to] = [await ground.getAttribute("data-from"), await ground.getAttribute("data-to")];
  await ground.click();
  await expect(page.getByTestId("mark-range")).toHaveAttribute("data-ranges", `stdout:${from}-${to}`);
  await expect(page.getByTestId("selected-event")).toHaveCount(0);
  await expect(page.getByTestId("marked").first()).toBeInViewport();
});

test("the focus comes back from a question that was answered with no", async ({ page, server }) => {
  const run = await server.play([[{ say: "I work." }, { hang: null }]]);
  await go(page, `#/runs/${run}/conversation`);
  await page.getByTestId("cancel").press("Enter");
  await page.locator(":focus").press("Enter");
  await expect(page.getByTestId("cancel")).toBeFocused();
  await page.getByTestId("cancel").press("Enter");
  await page.getByTestId("cancel-yes").press("Enter");
  await expect(verdict(page)).toHaveAttribute("data-status", "canceled");
  await expect(verdict(page)).toBeFocused();
});

test("the focus comes back from a form that was put away", async ({ page, server }) => {
  const run = await server.played([[{ say: "I think." }, { hang: null }]], { options: { hard_timeout_sec: 1 } });
  await go(page, `#/runs/${run}/conversation`);
  const open = page.locator("[data-action=raise_timeout]").getByRole("button").first();
  await open.press("Enter");
  await page.getByRole("button", { name: "Not now" }).press("Enter");
  await expect(open).toBeFocused();
});

test("the focus stays in a question while the answer is under way, and after it", async ({ page, server }) => {
  const run = await server.played([[{ ask: { kind: "choose_one", prompt: "Which?", options: [{ value: "a", label: "A" }, { value: "b", label: "B" }] } }]], { mode: "interactive" });
  let answer = (): void => {};
  const held = new Promise<void>((done) => (answer = done));
  await page.route("**/interaction/reply*", async (route) => {
    await held;
    await route.continue();
  });
  await go(page, `#/runs/${run}/conversation`);
  const option = page.getByTestId("option").first();
  await option.press("Enter");
  await expect(page.getByTestId("question")).toHaveAttribute("data-phase", "sending");
  // Chromium takes the focus from what is disabled with the next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await expect(option).toBeFocused();
  answer();
  await expect(page.getByTestId("question")).toHaveCount(0);
  await expect(page.getByTestId("chat-list")).toBeFocused();
});

test("the focus is not lost with a question of the inbox", async ({ page, server }) => {
  await server.played([[{ ask: { kind: "choose_one", prompt: "Which?", options: [{ value: "a", label: "A" }] } }]], { mode: "interactive" });
  await go(page, "#/inbox");
  await page.getByTestId("option").first().press("Enter");
  await expect(page.getByTestId("question")).toHaveCount(0);
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).not.toBe("BODY");
});

test("on a telephone the conversation begins in the upper part, and nothing is lost", async ({ page, server }) => {
  await page.setViewportSize(TELEPHONE);
  const run = await server.played([[{ say: "I begin." }, { fail: "The model is overloaded." }]]);
  await go(page, `#/runs/${run}/conversation`);
  const action = page.getByTestId("next-action").first();
  await expect(action.getByRole("button").first()).toBeVisible();
  const top = async (): Promise<number | undefined> => (await page.getByTestId("chat-list").boundingBox())?.y;
  await expect.poll(top).toBeLessThan(TELEPHONE.height * 0.65);
  await expect(action.locator("code")).toBeHidden();
  await page.getByRole("button", { name: "As commands" }).click();
  await expect(action.locator("code")).toBeVisible();
  await page.getByRole("button", { name: "Based on" }).click();
  await expect(page.getByTestId("ground").first()).toBeVisible();
  const language = page.getByRole("combobox", { name: "Language", exact: true });
  await expect(language).toBeHidden();
  await page.getByRole("button", { name: "Language, colours and more" }).click();
  await expect(language).toBeVisible();
  await language.press("Escape");
  await expect(language).toBeHidden();
});

test("the list of events says which status it is", async ({ page, server }) => {
  const run = await server.played([[{ say: "Here." }, { fail: "No." }]]);
  await go(page, `#/runs/${run}/timeline`);
  const statuses = page.locator("[data-testid=timeline-event][data-type='run.status']");
  await expect(statuses.first()).toContainText("queued");
  await expect(page.getByTestId("timeline-list")).toContainText("Phase: turn began");
});

test("the checks of a run are shown with their severities, in both languages", async ({ page, server }) => {
  const run = await server.played([[{ say: "Basel costs 12.40." }], [{ say: "All is well!" }, { fail: "The model is overloaded." }]], { mode: "conversation" });
  await go(page, `#/runs/${run}/conversation`);
  const check = (topic: string) => page.locator(`[data-testid=check][data-check=${topic}]`);
  const details = page.getByTestId("verdict-details");
  await details.locator("summary").first().click();
  const topics = ["tool_pairing", "turn_records", "partial_answers", "failure_class", "output_cut", "user_message"];
  for (const topic of topics) await expect(check(topic)).toHaveAttribute("data-severity", "passed");
  await expect(page.getByTestId("checks-warn")).toHaveCount(0);
  // Another turn, while the page looks on.
  await server.client.reply(run, { interaction_id: 1, text: "And Chur?" }, { wait: 60 });
  await expect(check("partial_answers")).toHaveAttribute("data-severity", "warning");
  await expect(check("partial_answers")).toContainText("warning");
  await expect(check("partial_answers")).toContainText("attempt 2 broke off after text, which is not an answer");
  await expect(check("turn_records")).toHaveAttribute("data-severity", "passed");
  await expect(page.getByTestId("checks-warn")).toHaveText("2 warnings");
  await expect(page.getByTestId("checks-failed")).toHaveCount(0);
  await page.route("**/diagnosis", async (route) => {
    const response = await route.fetch();
    const told = (await response.json()) as { checks: { check: string; severity: string; words: string }[] };
    const checks = told.checks.map((one) => (one.check === "turn_records" ? { ...one, severity: "failed", words: "attempt 2 does not have exactly one turn record" } : one));
    await route.fulfill({ response, json: { ...told, checks: [...checks, { check: "of_a_newer_version", severity: "unknown", words: "new" }] } });
  });
  await page.evaluate(() => localStorage.setItem("skillrun.language", "zh"));
  await page.reload();
  await expect(page.getByTestId("checks-failed")).toHaveText("1 项检查不通过");
  await details.locator("summary").first().click();
  await expect(check("turn_records")).toContainText("不通过");
  await expect(check("turn_records")).toContainText("各轮次的记录");
  await expect(check("partial_answers")).toContainText("警告");
  await expect(check("of_a_newer_version")).toContainText("其他检查");
});
