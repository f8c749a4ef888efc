// A run of a hundred thousand events: how soon there is something to see, how much is on the page, and what scrolling
// and reloading cost. Here the figures are printed, and only how much is on the page is asserted; `make bench` takes
// them from the file SKILLRUN_FIGURES and asserts the rest.
import { writeFile } from "node:fs/promises";
import { long, answer } from "./lab/script.ts";
import { rows, verdict } from "./lab/look.ts";
import { expect as expectSoon, go, test } from "./lab/test.ts";

const isMeasuring = process.env["SKILLRUN_MEASURE"] === "1";
/** How often the same page goes back and forth, and how often it is reloaded. */
const ROUNDS = isMeasuring ? 10 : 2;
/** A debug build takes seconds for this many events, and more on a busy machine. */
const expect = expectSoon.configure({ timeout: 60_000 });
const EVENTS = 100_000;
/** Elements on the page at any time. */
const MOST_NODES = 3_500;

test("100,000 events @measure", async ({ page, server }) => {
  test.setTimeout(300_000);
  const run = await server.play([[...long(EVENTS), answer()]]);
  await server.client.getRun(run, { wait: 120 });
  const { last_seq } = await server.client.eventsHistory(run, { limit: 1 });
  expect(last_seq).toBeGreaterThan(EVENTS * 0.98);

  const nodes = (): Promise<number> => page.evaluate(() => document.querySelectorAll("*").length);
  const address = `${server.url}/#/runs/${run}/timeline`;

  // From nothing to the verdict and the end of the conversation.
  const painted = async (to: string): Promise<number[]> => {
    const paints: number[] = [];
    for (let round = 0; round < (isMeasuring ? 5 : 1); round += 1) {
      await page.goto("about:blank");
      const begin = Date.now();
      await page.goto(to, { waitUntil: "commit" });
      await expect(verdict(page)).toHaveAttribute("data-status", "succeeded");
      await rows(page).last().waitFor();
      paints.push(Date.now() - begin);
    }
    return paints.sort((one, other) => one - other);
  };
  const short = await server.played([[{ say: "short" }, answer()]]);
  const floor = middle(await painted(`${server.url}/#/runs/${short}/timeline`));
  const paints = await painted(address);
  const paint = middle(paints);

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
  // The same page goes back and forth, so that leaks become visible; then it is reloaded.
  const settled = async (pane: string, sees: string): Promise<void> => {
    await go(page, `#/runs/${run}/${pane}`);
    await expect(page.getByTestId(sees).first()).toBeVisible();
    await rows(page).last().waitFor();
  };
  await settled("timeline", "timeline-event");
  const before = await heap();
  for (let round = 0; round < ROUNDS; round += 1) {
    await go(page, `#/runs/${short}/timeline`);
    await expect(page.getByText("short").first()).toBeVisible();
    await settled("evidence", "bytes-row");
    await settled("timeline", "timeline-event");
  }
  const wandered = await heap();
  for (let round = 0; round < ROUNDS; round += 1) {
    await page.reload();
    await expect(page.getByTestId("timeline-event").first()).toBeVisible();
    await rows(page).last().waitFor();
  }
  const after = await heap();

  console.log(
    [
      `page: ${last_seq} events`,
      `first useful paint ${paint} ms (longest of ${paints.length}: ${paints.at(-1)} ms; a short run ${floor} ms)`,
      `at most ${most} elements`,
      `script per scroll step: conversation ${chatStep.toFixed(2)} ms, events ${listStep.toFixed(2)} ms, bytes ${bytesStep.toFixed(2)} ms`,
      `heap ${before.toFixed(1)} MB, after going to and fro (${ROUNDS}) ${wandered.toFixed(1)} MB, after as many reloads ${after.toFixed(1)} MB`,
    ].join("\n  "),
  );
  const figures = process.env["SKILLRUN_FIGURES"];
  if (figures) {
    const told = {
      events: last_seq,
      paint_ms: paint,
      longest_paint_ms: paints.at(-1),
      floor_paint_ms: floor,
      elements: most,
      chat_step_ms: chatStep,
      list_step_ms: listStep,
      bytes_step_ms: bytesStep,
      heap_mb: before,
      heap_wandered_mb: wandered,
      heap_after_mb: after,
    };
    await writeFile(figures, JSON.stringify(told));
  }
  expect(most).toBeLessThan(MOST_NODES);
});

function middle(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
