// Looks at the service: one at a time, and none that was asked for is left out.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Dated, Looks, later } from "./looks.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work whose answers come when the test says so. */
function slow(): { work: () => Promise<void>; answers: (() => void)[] } {
  const answers: (() => void)[] = [];
  return { answers, work: () => new Promise((resolve) => void answers.push(resolve)) };
}

test("there is one look at a time, and one more for all who asked meanwhile", async () => {
  const { work, answers } = slow();
  const looks = new Looks(work);
  const ended = vi.fn();
  void looks.again();
  void looks.again().then(ended);
  void looks.again().then(ended);
  expect(answers.length).toBe(1);
  answers[0]?.();
  await vi.advanceTimersByTimeAsync(0);
  expect([answers.length, ended.mock.calls.length]).toEqual([2, 0]);
  answers[1]?.();
  await vi.advanceTimersByTimeAsync(0);
  expect([answers.length, ended.mock.calls.length]).toEqual([2, 2]);
});

test("a look that was asked for later is looked at sooner, and only once", async () => {
  const work = vi.fn(() => Promise.resolve());
  const looks = new Looks(work, () => Date.now());
  looks.soon(2_000);
  looks.soon(100);
  looks.soon(500);
  await vi.advanceTimersByTimeAsync(99);
  expect(work).toHaveBeenCalledTimes(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(work).toHaveBeenCalledTimes(1);
  looks.soon(1);
  looks.close();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(work).toHaveBeenCalledTimes(1);
});

test("work that breaks does not end looking", async () => {
  let times = 0;
  const looks = new Looks(() => ((times += 1) === 1 ? Promise.reject(new Error("no")) : Promise.resolve()));
  await expect(looks.again()).rejects.toThrow("no");
  await looks.again();
  expect(times).toBe(2);
});

const at = (status: Dated["status"], second: number): Dated => ({ status, updated_at: `2026-01-01T00:00:0${second}Z` as Dated["updated_at"] });

test.each([
  ["the first", undefined, at("queued", 1), "fresh"],
  ["a newer one", at("running", 1), at("waiting_user", 2), "fresh"],
  ["one of the same moment", at("queued", 1), at("running", 1), "fresh"],
  ["not an older one", at("waiting_user", 2), at("running", 1), "held"],
  ["an end, though the clock was set back", at("running", 5), at("failed", 1), "fresh"],
  ["nothing after an end", at("failed", 1), at("running", 5), "held"],
] as const)("of two answers holds %s", (_, held, fresh, which) => {
  expect(later<Dated>(held, fresh)).toBe(which === "held" ? held : fresh);
});
