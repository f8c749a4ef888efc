// Workflows: their steps as a graph and as a list, held steps, what a partial one has left, and starting one.
import type { Locator, Page } from "@playwright/test";
import { conversation, questions, rows, verdict } from "./lab/look.ts";
import { answer } from "./lab/script.ts";
import type { Server } from "./lab/server.ts";
import { expect, go, test } from "./lab/test.ts";

interface Step {
  id: string;
  skill?: string;
  needs?: string[];
  [more: string]: unknown;
}

const step = (id: string, more: Omit<Step, "id"> = {}): Step => ({ id, skill: "answer", engine: "scripted", ...more });
const text = (steps: Step[], more: object = {}): string => JSON.stringify({ name: "parcels", steps, ...more });
/** The same as a person writes it. */
const THREE = `name: parcels
inputs:
  city: {description: Where the parcels go.}
  most: {schema: {type: integer, minimum: 1}, default: 3}
steps:
  - {id: weigh, skill: answer, engine: scripted}
  - {id: price, skill: answer, engine: scripted, needs: [weigh]}
  - {id: send, skill: answer, engine: scripted, needs: [weigh, price], required: false}
`;

const nodes = (page: Page): Locator => page.getByTestId("step-node");
const node = (page: Page, id: string): Locator => nodes(page).and(page.locator(`[data-step="${id}"]`));
const badge = (page: Page): Locator => verdict(page).locator("[data-outcome]").first();

/** Skills that answer, break off and never end. */
async function skills(server: Server): Promise<void> {
  await server.script("answer", [[{ say: "I weigh it." }, answer("42")]]);
  await server.skill("broken", "Breaks off.");
  await server.script("broken", [[{ say: "All is well, every price is known!" }, { fail: "The model is overloaded." }]]);
  await server.skill("slow", "Takes its time.");
  await server.script("slow", [[{ say: "I begin." }, { hang: null }]]);
}

async function start(server: Server, steps: Step[], more: object = {}): Promise<string> {
  return (await server.client.createWorkflow({ workflow: text(steps, more) })).run_id;
}

/** Starts one and waits until it is over or asks. */
async function settled(server: Server, steps: Step[], more: object = {}): Promise<string> {
  const run = await start(server, steps, more);
  await server.settled(run);
  return run;
}

/** Whether the page itself is wider than the window. */
const isTooWide = (page: Page): Promise<boolean> => page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

test("a workflow is checked as it is written, started from the page, and followed to its end", async ({ page, server }) => {
  await skills(server);
  await go(page, "#/workflow");
  const check = page.getByTestId("workflow-check");
  await page.getByTestId("start").click();
  await expect(page.getByTestId("workflow-text")).toBeFocused();
  await page.getByTestId("workflow-text").fill(THREE.replace("needs: [weigh]", "needs: [wiegh]"));
  await expect(check).toHaveAttribute("data-is", "wrong");
  await expect(check).toContainText("wiegh");
  await page.getByTestId("start").click();
  expect((await server.client.listRuns()).runs).toEqual([]);

  await page.getByTestId("workflow-file").setInputFiles({ name: "parcels.yaml", mimeType: "text/yaml", buffer: Buffer.from(THREE) });
  await expect(check).toHaveAttribute("data-is", "valid");
  await expect(check).toContainText("parcels: 3 steps");
  await page.getByTestId("start").click();
  await expect(page.getByTestId("field-error")).toHaveCount(1);
  await page.getByRole("textbox", { name: /^city/ }).fill("Basel");
  await expect(page.getByText("skillrun workflow run parcels.yaml --input city=Basel --input most=3")).toBeVisible();
  await page.getByTestId("start").click();

  await expect(page.getByRole("tab").first()).toHaveText("Steps");
  await expect(nodes(page)).toHaveCount(3);
  await expect(badge(page)).toHaveAttribute("data-outcome", "completed", { timeout: 60_000 });
  await expect(badge(page)).toHaveText(/completed/);
  await expect(page.getByTestId("success-mark")).toHaveCount(1);
  await expect(page.getByTestId("steps-ready")).toHaveText("3 of 3 steps ready");
  // What follows from another need has no line.
  await expect(page.getByTestId("step-line")).toHaveCount(2);

  // One row for each step, none for its child besides it, and one for the end of the workflow.
  await expect(rows(page).and(page.locator("[data-kind=step]"))).toHaveCount(3);
  await expect(rows(page).and(page.locator("[data-kind=child]"))).toHaveCount(0);
  await expect(page.getByTestId("workflow-end")).toHaveText(/The workflow ended: completed/);
  const row = page.getByTestId("step-row").first();
  await expect(row).toHaveAttribute("data-state", "ready");
  await row.getByRole("link").click();
  await expect(page.getByTestId("parent")).toBeVisible();
  await expect(page.getByRole("tab", { name: "Steps" })).toHaveCount(0);

  await go(page, "#/runs");
  await expect(page.getByTestId("run-row").filter({ hasText: "parcels" }).locator("[data-outcome=completed]")).toHaveText(/completed/);
});

test("the graph is moved through with keys, and the list says the same", async ({ page, server }) => {
  await skills(server);
  const run = await settled(server, [step("weigh"), step("price", { needs: ["weigh"] }), step("label", { needs: ["weigh"], required: false }), step("send", { needs: ["price", "label"] })]);
  await page.setViewportSize({ width: 820, height: 1_000 });
  await go(page, `#/runs/${run}/steps`);
  await expect(nodes(page)).toHaveCount(4);
  expect(await isTooWide(page)).toBe(false);
  const main = (id: string): Locator => node(page, id).getByRole("button");
  await expect(main("send")).toHaveAccessibleName(/^send .*is ready.* needs price, label$/);
  await expect(main("label")).toHaveAccessibleName(/not required/);
  // One stop of Tab for all nodes; arrows move on from there.
  await expect(page.locator("[data-choose][tabindex='0']")).toHaveCount(1);
  await main("weigh").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(main("send")).toBeFocused();
  await page.keyboard.press("Enter");
  const detail = page.getByTestId("step-detail");
  await expect(detail).toHaveAttribute("data-step", "send");
  await detail.getByRole("button", { name: "label" }).click();
  await expect(detail).toHaveAttribute("data-step", "label");
  await detail.getByRole("button", { name: "Close" }).focus();
  await page.keyboard.press("Escape");
  await expect(detail).toHaveCount(0);
  await expect(main("label")).toBeFocused();

  await page.getByTestId("steps-as-list").click();
  const list = page.getByTestId("step-list").getByRole("listitem");
  await expect(list).toHaveCount(4);
  await expect(list.last()).toContainText("needs price, label");
  expect(await isTooWide(page)).toBe(false);
  await page.evaluate(() => localStorage.setItem("skillrun.language", "zh"));
  await page.reload();
  await expect(page.getByTestId("steps-ready")).toHaveText("4 个步骤中 4 个已就绪");
});

test("a held step is answered in the pane of its workflow, and one that is left undecided is not a success", async ({ page, server }) => {
  await skills(server);
  const steps = [step("weigh"), step("send", { needs: ["weigh"], ask: "before" })];
  const run = await settled(server, steps);
  await go(page, `#/runs/${run}/steps`);
  await expect(node(page, "send")).toHaveAttribute("data-standing", "held_now");
  await expect(node(page, "send")).toContainText("waits for a decision");
  // Once on the whole page, and only as its options.
  await expect(questions(page)).toHaveCount(1);
  await expect(questions(page).getByTestId("answer-text")).toHaveCount(0);
  await expect(questions(page).getByTestId("option")).toHaveText(["Start the step", "Leave it out, and all that needs it", "End the workflow here"]);
  await rows(page).and(page.locator("[data-kind=question]")).getByRole("button").click();
  await expect(questions(page).getByTestId("option").first()).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(badge(page)).toHaveAttribute("data-outcome", "completed", { timeout: 60_000 });
  await expect(questions(page)).toHaveCount(0);

  const other = await settled(server, [step("send", { ask: "before" })]);
  await go(page, "#/inbox");
  await expect(questions(page).getByTestId("option")).toHaveCount(3);
  await go(page, `#/runs/${other}/steps`);
  await page.getByTestId("close_question").click();
  await expect(badge(page)).toHaveAttribute("data-outcome", "held");
  await expect(badge(page)).toHaveText(/not decided/);
  await expect(page.getByTestId("success-mark")).toHaveCount(0);
  await expect(node(page, "send")).toHaveAttribute("data-standing", "held");
});

test("a partial workflow says what is usable, is no success anywhere, and its failed steps are retried", async ({ page, server }) => {
  await skills(server);
  const run = await settled(server, [step("weigh"), step("price", { skill: "broken", needs: ["weigh"] }), step("send", { needs: ["price"] })]);
  await go(page, `#/runs/${run}/steps`);
  await expect(badge(page)).toHaveAttribute("data-outcome", "partial");
  await expect(badge(page)).toHaveText(/partial/);
  await expect(page.getByTestId("success-mark")).toHaveCount(0);
  await expect(verdict(page)).toContainText("WORKFLOW_PARTIAL");
  await expect(page.getByTestId("steps-usable").locator("[data-step]")).toHaveText([/weigh\s*is ready/]);
  await expect(page.getByTestId("steps-missing").locator("[data-step]")).toHaveText([/price\s*failed/, /send\s*did not begin/]);
  await expect(node(page, "price")).toHaveAttribute("data-standing", "failed");
  await expect(node(page, "send")).toHaveAttribute("data-standing", "skipped");
  await node(page, "price").getByRole("button").click();
  await expect(page.getByTestId("step-reason")).toContainText("ENGINE_FAILED");
  // The last words of a child that failed are not shown as a result of its step.
  const said = (await conversation(page)).map((row) => row.text).join("\n");
  expect(said).not.toContain("All is well");
  expect(said).toContain("The workflow ended: partial");
  expect(said).not.toMatch(/succeeded/);
  await go(page, "#/runs");
  await expect(page.getByTestId("run-row").and(page.locator(`[data-run="${run}"]`)).locator("[data-outcome]")).toHaveAttribute("data-outcome", "partial");

  await server.script("broken", [[{ say: "Now it works." }, answer()]]);
  await go(page, `#/runs/${run}/steps`);
  const retry = page.getByTestId("next-action").and(page.locator("[data-action=retry_failed_steps]"));
  await expect(retry).toContainText(`skillrun workflow retry ${run} --from-failed`);
  await retry.getByRole("button").first().click();
  await expect(page.getByTestId("retry-of")).toContainText(run);
  await expect(badge(page)).toHaveAttribute("data-outcome", "completed", { timeout: 60_000 });
  // What was ready was not done again.
  await expect(page.getByTestId("step-reused")).toHaveCount(1);
  await expect(node(page, "weigh").getByTestId("step-reused")).toHaveText("taken over");
});

test("the items of a step that repeats are boxes with a count, each a way to its run", async ({ page, server }) => {
  await skills(server);
  const run = await settled(server, [step("weigh", { for_each: { from: "/inputs/cities" }, with: { city: { from: "/item" } } })], { inputs: { cities: { default: ["Basel", "Bern", "Chur", "Olten"] } } });
  await go(page, `#/runs/${run}/steps`);
  await expect(badge(page)).toHaveAttribute("data-outcome", "completed");
  await expect(node(page, "weigh").locator(".box")).toHaveCount(4);
  await expect(node(page, "weigh")).toContainText("4/4");
  await node(page, "weigh").getByRole("button").click();
  const items = page.getByTestId("step-items").getByRole("link");
  await expect(items).toHaveCount(4);
  await items.nth(2).click();
  await expect(page.getByTestId("parent")).toHaveAttribute("data-run", run);
});

test("a workflow of 200 steps is drawn in its pane, and canceled while the page looks on", async ({ page, server }) => {
  await skills(server);
  // Layers of three with one between them; the first never ends.
  const many = Array.from({ length: 200 }, (_, n) => {
    if (n === 0) return step("s0", { skill: "slow" });
    return step(`s${n}`, { needs: n % 4 === 0 ? [`s${n - 3}`, `s${n - 2}`, `s${n - 1}`] : [`s${Math.floor(n / 4) * 4}`] });
  });
  const run = await start(server, many);
  await go(page, `#/runs/${run}/steps`);
  await expect(nodes(page)).toHaveCount(200);
  await expect(node(page, "s0")).toHaveAttribute("data-standing", "running");
  await expect(page.getByTestId("steps-ready")).toHaveText("0 of 200 steps ready");
  const pane = page.getByRole("region", { name: "Steps of the workflow" });
  expect(await pane.evaluate((element) => element.scrollHeight > 2 * element.clientHeight)).toBe(true);
  await node(page, "s0").getByRole("button").focus();
  await page.keyboard.press("End");
  await expect(nodes(page).last().getByRole("button")).toBeFocused();
  await expect(nodes(page).last()).toBeInViewport();
  // The page around it has not moved.
  await expect(page.getByRole("tab", { name: "Steps" })).toBeInViewport();
  expect(await isTooWide(page)).toBe(false);
  await server.client.cancelRun(run, { wait: 60 });
  await expect(badge(page)).toHaveAttribute("data-outcome", "cancelled");
  await expect(badge(page)).toHaveText(/canceled/);
  await expect(node(page, "s0")).toHaveAttribute("data-standing", "cancelled");
  await expect(page.getByTestId("step-counts").locator("[data-standing=running]")).toHaveCount(0);
});
