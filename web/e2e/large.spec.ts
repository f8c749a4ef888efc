// A run of a hundred thousand events: how soon there is something to see, how much is on the page, and what scrolling
// and reloading cost. In `make test` the figures are printed and only the size of the page is asserted; `make bench`
// asserts the rest, with SKILLRUN_MEASURE=1.
import { long, answer } from "./lab/script.ts";
import { rows, verdict } from "./lab/look.ts";
import { expect, go, test } from "./lab/test.ts";

const isMeasuring = process.env["SKILLRUN_MEASURE"] === "1";
const EVENTS = 100_000;
/** Elements on the page at any time. */
const MOST_NODES = 3_500;

test("100,000 events @measure", async ({ page, server }) => {
  test.setTimeout(180_000);
  const run = await server.play([[...long(EVENTS), answer()]]);
  await server.client.getRun(run, { wait: 120 });
  const { last_seq } = await server.client.eventsHistory(run, { limit: 1 });
  expect(last_seq).toBeGreaterThan(EVENTS * 0.98);

  const nodes = (): Promise<number> => page.evaluate(() => document.querySelectorAll("*").length);
  const address = `${server.url}/#/runs/${run}/timeline`;

  // From nothing to the verdict and the end of the conversation.
  const paints: number[] = [];
  for (let round = 0; round < (isMeasuring ? 5 : 1); round += 1) {
    await page.goto("about:blank");
    const begin = Date.now();
    await page.goto(address, { waitUntil: "commit" });
    await expect(verdict(page)).toHaveAttribute("data-status", "succeeded");
    await rows(page).last().waitFor();
    paints.push(Date.now() - begin);
  }
  paints.sort((one, other) => one - other);
  const paint = paints[Math.floor(paints.length / 2)] ?? 0;

  await expect(page.getByTestId("timeline-event").first()).toBeVisible();
  let most = await nodes();
  const scroll = async (testId: string): Promise<number> => {
    const list = page.getByTestId(testId);
    await list.waitFor();
    const steps = 60;
    const spent = await list.evaluate(async (element, steps) => {
      const frame = (): Promise<void> => new Promise((done) => requestAnimationFrame(() => done()));
      let total = 0;
      for (let step = 0; step < steps; step += 1) {
        element.scrollTop = element.scrollHeight - ((step + 1) * element.scrollHeight) / (steps + 1);
        const begin = performance.now();
        element.dispatchEvent(new Event("scroll"));
        await Promise.resolve();
        total += performance.now() - begin;
        await frame();
      }
      return total / steps;
    }, steps);
    most = Math.max(most, await nodes());
    return spent;
  };
  const chatStep = await scroll("chat-list");
  const listStep = await scroll("timeline-list");
  await go(page, `#/runs/${run}/evidence`);
  await expect(page.getByTestId("bytes-row").first()).toBeVisible();
  const bytesStep = await scroll("bytes-list");

  const heap = async (): Promise<number> => {
    const session = await page.context().newCDPSession(page);
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    await session.detach();
    return usedSize / 1e6;
  };
  await go(page, `#/runs/${run}/timeline`);
  await expect(page.getByTestId("timeline-event").first()).toBeVisible();
  const before = await heap();
  for (let round = 0; round < 10; round += 1) {
    await page.reload();
    await expect(page.getByTestId("timeline-event").first()).toBeVisible();
    await rows(page).last().waitFor();
  }
  const after = await heap();

  console.log(
    [
      `page: ${last_seq} events`,
      `first useful paint ${paint} ms (longest of ${paints.length}: ${paints.at(-1)} ms)`,
      `at most ${most} elements`,
      `script per scroll step: conversation ${chatStep.toFixed(2)} ms, events ${listStep.toFixed(2)} ms, bytes ${bytesStep.toFixed(2)} ms`,
      `heap ${before.toFixed(1)} MB, after ten reloads ${after.toFixed(1)} MB`,
    ].join("\n  "),
  );
  expect(most).toBeLessThan(MOST_NODES);
  if (!isMeasuring) return;
  expect(paint).toBeLessThan(2_000);
  expect(Math.max(chatStep, listStep, bytesStep)).toBeLessThan(16);
  expect(after).toBeLessThan(before * 1.5 + 10);
});
