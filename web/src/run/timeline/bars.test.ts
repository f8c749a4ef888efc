// Calls and questions as bars that begin and end.
import { expect, test } from "vitest";
import { type Bar, barAt, barsOf } from "./bars.ts";
import { fold } from "./made.ts";

const short = (bars: readonly Bar[]): unknown[] => bars.map(({ kind, from, to, first, last, ending }) => [kind, from, to, first, last, ending]);

test("a call lasts from its start to its end", () => {
  const outline = fold([
    { at: 10, type: "tool.call.started", tool: "a", attempt: 1 },
    { at: 20, type: "tool.call.started", tool: "b", attempt: 1 },
    { at: 30, type: "tool.call.failed", tool: "b", attempt: 1 },
    { at: 50, type: "tool.call.completed", tool: "a", attempt: 1 },
    { at: 60, type: "tool.call.started", tool: "c", attempt: 1 },
  ]);
  expect(short(barsOf(outline))).toEqual([
    ["tool", 10, 50, 1, 4, "done"],
    ["tool", 20, 30, 2, 3, "failed"],
    ["tool", 60, undefined, 5, undefined, "open"],
  ]);
  expect(barsOf(outline).map((bar) => bar.row)).toEqual([0, 1, 0]);
});

test("an id that comes again in the next attempt is another call", () => {
  const outline = fold([
    { at: 10, type: "tool.call.started", tool: "item_1", attempt: 1 },
    { at: 20, type: "attempt.ended", attempt: 1 },
    { at: 90, type: "tool.call.started", tool: "item_1", attempt: 2 },
    { at: 95, type: "tool.call.completed", tool: "item_1", attempt: 2 },
  ]);
  expect(short(barsOf(outline))).toEqual([
    ["tool", 10, 20, 1, undefined, "open"],
    ["tool", 90, 95, 3, 4, "done"],
  ]);
});

test("a call that begins again before it ended was over by then", () => {
  const outline = fold([{ at: 10, type: "tool.call.started", tool: "a" }, { at: 30, type: "tool.call.started", tool: "a" }]);
  expect(short(barsOf(outline))).toEqual([["tool", 10, 30, 1, undefined, "open"], ["tool", 30, undefined, 2, undefined, "open"]]);
});

test("a question lasts until it is answered, and a missing answer stays known", () => {
  const outline = fold([
    { at: 10, type: "interaction.requested", question: 1 },
    { at: 40, type: "interaction.replied", question: 1 },
    { at: 50, type: "interaction.requested", question: 2 },
    { at: 70, type: "interaction.timeout", question: 2 },
    { at: 71, type: "interaction.auto_decision", question: 2 },
    { at: 72, type: "interaction.replied", question: 2 },
    { at: 80, type: "interaction.requested", question: 3 },
    { at: 90, type: "interaction.timeout", question: 3 },
    { at: 91, type: "interaction.requested", question: 4 },
    { at: 99, type: "run.canceled" },
  ]);
  expect(short(barsOf(outline))).toEqual([
    ["question", 10, 40, 1, 2, "answered"],
    ["question", 50, 72, 3, 6, "decided"],
    ["question", 80, 90, 7, 8, "expired"],
    ["question", 91, 99, 9, undefined, "open"],
  ]);
});

test("an end without a start, and a clock that goes back, make no bar of negative length", () => {
  const outline = fold([
    { at: 50, type: "tool.call.completed", tool: "x" },
    { at: 60, type: "tool.call.started", tool: "y" },
    { at: 55, type: "tool.call.completed", tool: "y" },
  ]);
  expect(short(barsOf(outline))).toEqual([
    ["tool", 50, 50, 1, 1, "done"],
    ["tool", 60, 60, 2, 3, "done"],
  ]);
});

test("a click means the bar that is there, its end near its end", () => {
  const bars = barsOf(fold([
    { at: 0, type: "tool.call.started", tool: "a" },
    { at: 1_000, type: "tool.call.completed", tool: "a" },
    { at: 2_000, type: "tool.call.started", tool: "b" },
  ]));
  expect(barAt(bars, "tool", 0, 400, 5_000, 20)).toBe(1);
  expect(barAt(bars, "tool", 0, 990, 5_000, 20)).toBe(2);
  expect(barAt(bars, "tool", 0, 1_500, 5_000, 20)).toBeUndefined();
  expect(barAt(bars, "tool", 0, 4_000, 5_000, 20)).toBe(3);
  expect(barAt(bars, "tool", 1, 400, 5_000, 20)).toBeUndefined();
  expect(barAt(bars, "question", 0, 400, 5_000, 20)).toBeUndefined();
});
