// Child runs: what the page says of them in the conversation of their parent, in the tree and on their own page.
import type { Locator, Page } from "@playwright/test";
import { rows, verdict } from "./lab/look.ts";
import { type Act, answer } from "./lab/script.ts";
import type { Server } from "./lab/server.ts";
import { expect, go, test } from "./lab/test.ts";

const spawn = (request: Record<string, unknown>): Act => ({ delegate: { do: "spawn", request } });
const wait: Act = { delegate: { do: "wait", timeout_sec: 45 } };
const TASK = "Weigh the parcel for Basel.";

const children = (page: Page): Locator => page.getByTestId("child");
const family = (page: Page): Locator => page.getByTestId("family-run");

/** What the tree says: how deep each run stands, and its status. */
const tree = (page: Page): Promise<(string | null)[][]> =>
  family(page).evaluateAll((all) => all.map((one) => [one.getAttribute("data-depth"), one.querySelector("[data-status]")?.getAttribute("data-status") ?? null]));

/** A parent with a child that completed and one that failed. */
async function parent(server: Server): Promise<string> {
  await server.skill("broken", "Breaks off.");
  await server.script("broken", [[{ say: "All is well, every price is known!" }, { fail: "The model is overloaded." }]]);
  const run = await server.play([[{ say: "I hand out the work." }, spawn({ key: "good", prompt: TASK }), spawn({ skill: "broken" }), wait, answer("One of two.")]], { options: { delegation: {} } });
  await server.settled(run);
  return run;
}

test("each child has one row, and only a completed one has an answer", async ({ page, server }) => {
  const run = await parent(server);
  await go(page, `#/runs/${run}/conversation`);
  await expect(rows(page).and(page.locator("[data-kind=child]"))).toHaveCount(2);
  const [good, bad] = [children(page).nth(0), children(page).nth(1)];
  await expect(good).toHaveAttribute("data-status", "completed");
  await expect(good).toContainText(/Weigh the parcel for Basel\.\s*scripted\s*✓ completed/);
  await expect(good.locator("p.text")).toHaveCount(0);
  await expect(good.getByTestId("child-text")).toHaveText("Answer");
  await good.locator("summary").click();
  await expect(good.locator("p.text")).toContainText(TASK);
  await expect(bad).toHaveAttribute("data-status", "failed");
  await expect(bad).toContainText("ENGINE_FAILED");
  await expect(bad.getByTestId("child-text")).toHaveCount(0);
  await expect(bad).not.toContainText("All is well");

  // A child and its parent link to each other, and both have the whole tree.
  const child = (await good.getAttribute("data-run")) ?? "";
  await good.getByRole("link", { name: TASK }).click();
  await expect(page).toHaveURL(new RegExp(child));
  await expect(page.getByTestId("parent")).toHaveAttribute("data-run", run);
  await page.getByRole("tab", { name: "Links" }).click();
  await expect(family(page)).toHaveCount(3);
  expect(await tree(page)).toEqual([["0", "succeeded"], ["1", "succeeded"], ["1", "failed"]]);
  await expect(family(page).locator("[aria-current]")).toHaveText(TASK);
  await page.getByTestId("parent").getByRole("link").click();
  await expect(children(page)).toHaveCount(2);
  await expect(page.getByTestId("parent")).toHaveCount(0);

  await page.evaluate(() => localStorage.setItem("skillrun.language", "zh"));
  await page.reload();
  await expect(children(page).nth(0)).toContainText(/子运行.*已完成/);
  await expect(children(page).nth(1)).toContainText(/子运行.*失败/);
});

test("a child is followed while the page looks on, and is canceled with its parent", async ({ page, server }) => {
  await server.skill("slow", "Takes its time.");
  await server.script("slow", [[{ say: "I begin." }, { hang: null }]]);
  const run = await server.play([[{ sleep_ms: 1_500 }, spawn({ skill: "slow" }), { hang: null }]], { options: { delegation: {} } });
  await go(page, `#/runs/${run}/links`);
  await expect(verdict(page)).toHaveAttribute("data-status", "running");
  // The child may come after the tree was loaded.
  await expect(family(page)).toHaveCount(2);
  await expect(children(page)).toHaveAttribute("data-status", "open");
  await expect(children(page).locator("[data-status=running]")).toHaveText(/running/);
  await server.client.cancelRun(run, { wait: 60 });
  await expect(children(page)).toHaveAttribute("data-status", "cancelled");
  await expect(children(page)).toContainText("was canceled");
  await expect.poll(() => tree(page)).toEqual([["0", "canceled"], ["1", "canceled"]]);
});
