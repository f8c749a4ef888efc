// Notes beside the bars, where there is room for them.
import { expect, test } from "vitest";
import { type Note, placed } from "./notes.ts";

const view = { from: 0, to: 1_000 };
const measured = (text: string): number => text.length * 10;
const put = (...notes: (Omit<Note, "until"> & { until?: number })[]): unknown[] => placed(notes.map((note) => ({ until: note.at, ...note })), view, 500, measured).map(({ text, x }) => [text, x]);

test("a note stands where its time is", () => {
  expect(put({ kind: "silence", at: 200, text: "quiet" })).toEqual([["quiet", 100]]);
});

test("at the right edge it is moved in, and outside it is not shown", () => {
  expect(put({ kind: "stall", at: 990, text: "stalled" }, { kind: "stall", at: 1_200, text: "later" })).toEqual([["stalled", 430]]);
});

test("the graver one stays where two would overlap", () => {
  expect(put({ kind: "silence", at: 200, text: "quiet" }, { kind: "next", at: 220, text: "attempt" }, { kind: "timeout", at: 230, text: "over" })).toEqual([["over", 115]]);
  expect(put({ kind: "silence", at: 200, text: "quiet" }, { kind: "next", at: 400, text: "attempt" })).toEqual([["attempt", 200], ["quiet", 100]]);
});

test("what is wider than the picture is left to the list", () => {
  expect(put({ kind: "stall", at: 0, text: "x".repeat(51) })).toEqual([]);
});

test("a note on a long piece moves aside for a graver one, as long as it stays on its piece", () => {
  const next: Note = { kind: "next", at: 200, until: 200, text: "attempt" };
  expect(put(next, { kind: "silence", at: 200, until: 900, text: "quiet" })).toEqual([["attempt", 100], ["quiet", 178]]);
  expect(put(next, { kind: "silence", at: 200, until: 440, text: "quiet" })).toEqual([["attempt", 100]]);
  expect(put({ kind: "silence", at: -500, until: 900, text: "quiet" })).toEqual([["quiet", 0]]);
});
