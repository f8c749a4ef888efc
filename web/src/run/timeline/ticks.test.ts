// The marks of the axis of time, and what stands at them.
import { expect, test } from "vitest";
import { sinceStart, ticksOf, timeOfDay } from "./ticks.ts";

test.each([
  [100, 10],
  [1_000, 100],
  [60_000, 10_000],
  [250_000, 30_000],
  [3_600_000, 600_000],
  [86_400_000, 3 * 3_600_000],
  [30 * 86_400_000, 3 * 86_400_000],
])("%i ms on 800 pixels have marks %i ms apart", (length, step) => {
  const zero = 1_794_755_878_522;
  const ticks = ticksOf({ from: zero, to: zero + length }, 800, zero, 72);
  expect(ticks.step).toBe(step);
  expect(ticks.at[0]).toBe(zero);
  expect(ticks.at.length).toBe(Math.floor(length / step) + 1);
});

test("marks stand at whole distances from zero, in view alone", () => {
  expect(ticksOf({ from: 1_250, to: 4_400 }, 400, 1_000, 80).at).toEqual([2_000, 3_000, 4_000]);
  expect(ticksOf({ from: -1_500, to: 1_500 }, 300, 0, 90).at).toEqual([-1_000, 0, 1_000]);
});

test("so few marks that they are never too many, whatever the length", () => {
  for (const length of [1, 40, 999, 1e5, 1e8, 1e12]) expect(ticksOf({ from: 0, to: length }, 1_000, 0, 72).at.length).toBeLessThanOrEqual(15);
});

test.each([
  [0, 1_000, "0:00"],
  [65_000, 5_000, "1:05"],
  [3_723_000, 1_000, "1:02:03"],
  [250, 50, "0:00.25"],
  [59_999.6, 1_000, "1:00"],
  [-1_500, 500, "−0:01.5"],
])("%d ms at steps of %i is %s", (ms, step, text) => {
  expect(sinceStart(ms, step)).toBe(text);
});

test("the time of day is as exact as the marks", () => {
  const at = new Date(2026, 10, 15, 9, 5, 7, 250).getTime();
  expect(timeOfDay("en", at, 60_000)).toBe("09:05");
  expect(timeOfDay("en", at, 1_000)).toBe("09:05:07");
  expect(timeOfDay("en", at, 50)).toBe("09:05:07.25");
  expect(timeOfDay("en", at, 86_400_000)).toBe("Nov 15");
});
