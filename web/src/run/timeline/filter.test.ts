// What the filter leaves out, and how one moves among the rest.
import { expect, test } from "vitest";
import { ALL, placeOf, shownOf, stepped, toggled } from "./filter.ts";
import { fold } from "./made.ts";

const outline = fold([
  { at: 0, type: "run.started" },
  { at: 1, type: "attempt.started", attempt: 1 },
  { at: 2, type: "tool.call.started", attempt: 1 },
  { at: 3, type: "tool.call.failed", attempt: 1, level: 1 },
  { at: 4, type: "engine.error", attempt: 2, level: 2 },
  { at: 5, type: "raw.stderr", attempt: 2 },
]);
const seqs = (parts: Partial<typeof ALL>): number[] => [...shownOf(outline, { ...ALL, ...parts }).seqs];

test("everything is shown where nothing is left out", () => {
  expect(seqs({})).toEqual([1, 2, 3, 4, 5, 6]);
});

test("each part of the filter leaves out, and they work together", () => {
  expect(seqs({ off: new Set(["tool", "raw"]) })).toEqual([1, 2, 5]);
  expect(seqs({ least: 1 })).toEqual([4, 5]);
  expect(seqs({ least: 2 })).toEqual([5]);
  expect(seqs({ attempt: 2 })).toEqual([5, 6]);
  expect(seqs({ text: " Call. " })).toEqual([3, 4]);
  expect(seqs({ attempt: 1, least: 1, text: "tool" })).toEqual([4]);
  expect(seqs({ text: "nothing" })).toEqual([]);
});

test("mask and list say the same", () => {
  const shown = shownOf(outline, { ...ALL, text: "started" });
  expect([...shown.mask]).toEqual([1, 1, 1, 0, 0, 0]);
  expect([...shown.seqs]).toEqual([1, 2, 3]);
});

test("a seq is found, and where it would be", () => {
  const list = Uint32Array.of(2, 5, 9);
  expect([1, 2, 3, 5, 9, 10].map((seq) => placeOf(list, seq))).toEqual([-1, 0, -2, 1, 2, -4]);
});

test("arrows go on from the selected event, even if it is left out", () => {
  const list = Uint32Array.of(2, 5, 9);
  expect(stepped(list, undefined, 1)).toBe(2);
  expect(stepped(list, undefined, -1)).toBe(9);
  expect(stepped(list, 2, 1)).toBe(5);
  expect(stepped(list, 9, 1)).toBe(9);
  expect(stepped(list, 2, -1)).toBe(2);
  expect(stepped(list, 4, 1)).toBe(5);
  expect(stepped(list, 4, -1)).toBe(2);
  expect(stepped(list, 99, 1)).toBe(9);
  expect(stepped(new Uint32Array(), 4, 1)).toBeUndefined();
});

test("a category is turned off and on", () => {
  const off = toggled(ALL.off, "tool");
  expect([...off]).toEqual(["tool"]);
  expect([...toggled(off, "tool")]).toEqual([]);
  expect(ALL.off.size).toBe(0);
});
