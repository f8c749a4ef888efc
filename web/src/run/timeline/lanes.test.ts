// Events by lane and column: counted completely, and found by a click.
import { expect, test } from "vitest";
import { ALL, shownOf } from "./filter.ts";
import { binned, lanesOf, nearest } from "./lanes.ts";
import { type Made, fold } from "./made.ts";

const events: Made[] = [
  { at: 0, type: "run.started" },
  { at: 100, type: "raw.stderr" },
  { at: 101, type: "raw.stdout", level: 1 },
  { at: 102, type: "raw.stdout" },
  { at: 500, type: "tool.call.started", tool: "a" },
  { at: 480, type: "raw.stdout" },
  { at: 999, type: "engine.error", level: 2 },
];
const outline = fold(events);
const lanes = lanesOf(outline);
const { mask } = shownOf(outline, ALL);
const view = { from: 0, to: 1_000 };

test("there is a lane for what occurs, in one order", () => {
  expect(lanes).toEqual([
    { category: "lifecycle", count: 1 },
    { category: "tool", count: 1 },
    { category: "diagnostic", count: 1 },
    { category: "raw", count: 4 },
  ]);
});

test("events fall on their column, with the worst level, whatever order they came in", () => {
  const { counts, worst, most } = binned(outline, mask, lanes, view, 10);
  const raw = 3 * 10;
  expect([...counts.subarray(raw, raw + 10)]).toEqual([0, 3, 0, 0, 1, 0, 0, 0, 0, 0]);
  expect(worst[raw + 1]).toBe(1);
  expect([...most]).toEqual([1, 1, 1, 3]);
  expect(counts[2 * 10 + 9]).toBe(1);
});

test("what is outside or left out is not counted", () => {
  const inside = binned(outline, mask, lanes, { from: 400, to: 900 }, 10);
  expect(inside.counts.reduce((sum, count) => sum + count, 0)).toBe(2);
  const errors = binned(outline, shownOf(outline, { ...ALL, least: 2 }).mask, lanes, view, 10);
  expect(errors.counts.reduce((sum, count) => sum + count, 0)).toBe(1);
});

test("a click finds the nearest event of its lane, or none", () => {
  expect(nearest(outline, mask, lanes, 3, 460, 50)).toBe(6);
  expect(nearest(outline, mask, lanes, undefined, 496, 50)).toBe(5);
  expect(nearest(outline, mask, lanes, 3, 300, 50)).toBeUndefined();
  expect(nearest(outline, shownOf(outline, { ...ALL, off: new Set(["raw"]) }).mask, lanes, 3, 480, 50)).toBeUndefined();
});

test("of two events at one moment the worse one is found", () => {
  const both = fold([{ at: 5, type: "raw.stdout" }, { at: 5, type: "raw.stderr", level: 2 }, { at: 5, type: "raw.stdout", level: 1 }]);
  expect(nearest(both, shownOf(both, ALL).mask, lanesOf(both), 0, 5, 1)).toBe(2);
});

test("a hundred thousand events are counted completely", () => {
  const many = fold(Array.from({ length: 100_000 }, (_, index) => ({ at: index, type: "raw.stdout" as const })));
  const { counts } = binned(many, shownOf(many, ALL).mask, lanesOf(many), { from: 0, to: 100_000 }, 1_000);
  expect(counts.every((count) => count === 100)).toBe(true);
});
