// The status events of the list: what they say, and when they are asked for.
import type { RaspEvent } from "@skillrun/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { saidOf, saidWords, stretchesOf } from "./status.ts";
import { type Ask, REST_MS, Statuses } from "./statuses.svelte.ts";

const event = (seq: number, data: unknown, type = "run.status"): RaspEvent => ({ seq, event: { type }, data }) as unknown as RaspEvent;

test("a status event says which status or phase it is", () => {
  expect(saidWords("en", saidOf(event(1, { status: "queued" })) ?? { status: "failed" })).toBe("Status: queued");
  expect(saidWords("zh", saidOf(event(1, { status: null, phase: "turn_started" })) ?? { status: "failed" })).toBe("阶段：本轮开始");
});

test.each([{}, null, "queued", { status: "constructor" }, { phase: "toString" }, { status: "new_one" }])("an unknown word says nothing: %j", (data) => {
  expect(saidOf(event(1, data))).toBeUndefined();
  expect(saidOf(event(1, { status: "queued" }, "raw.stdout"))).toBeUndefined();
});

test("near ones are asked for together, far ones apart, and never too many", () => {
  expect(stretchesOf([2, 3, 5, 6, 20], 2, 9)).toEqual([{ from: 2, to: 6 }, { from: 20, to: 20 }]);
  expect(stretchesOf([1, 10, 20, 21, 30], 2, 3)).toEqual([{ from: 1, to: 1 }, { from: 10, to: 10 }, { from: 20, to: 21 }]);
  expect(stretchesOf([], 2, 3)).toEqual([]);
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const all = (): ReturnType<typeof vi.fn<Ask>> => vi.fn<Ask>((from, to) => Promise.resolve(Array.from({ length: to - from + 1 }, (_, index) => event(from + index, { status: "running" }))));

test("only what the list comes to rest on is asked for, and once", async () => {
  const ask = all();
  const statuses = new Statuses(ask);
  statuses.want([1]);
  statuses.want([50, 51]);
  await vi.advanceTimersByTimeAsync(REST_MS);
  statuses.want([50, 51]);
  await vi.advanceTimersByTimeAsync(REST_MS);
  expect(ask.mock.calls.map(([from, to]) => [from, to])).toEqual([[50, 51]]);
  expect([...statuses.said.keys()]).toEqual([50, 51]);
});

test("what did not come is asked for again, and what is kept has an end", async () => {
  const ask = all();
  ask.mockRejectedValueOnce(new Error("away"));
  const statuses = new Statuses(ask);
  statuses.want([7]);
  await vi.advanceTimersByTimeAsync(REST_MS);
  expect(statuses.said.size).toBe(0);
  for (let view = 0; view < 40; view += 1) {
    statuses.want(Array.from({ length: 40 }, (_, index) => view * 40 + index + 7));
    await vi.advanceTimersByTimeAsync(REST_MS);
    expect(statuses.said.has(view * 40 + 7)).toBe(true);
    expect(statuses.said.size).toBeLessThanOrEqual(1_000);
  }
});

test("after it is closed nothing is asked for", async () => {
  const ask = all();
  const statuses = new Statuses(ask);
  statuses.want([1]);
  statuses.close();
  await vi.advanceTimersByTimeAsync(REST_MS * 2);
  expect(ask).not.toHaveBeenCalled();
});
