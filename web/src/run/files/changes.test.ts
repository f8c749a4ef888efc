// The list of what a run changed, attempt by attempt.
import type { Attempt, Diff, Run } from "@skillrun/client";
import { expect, test } from "vitest";
import { keyAt, omittedOf, pathOf, rowsOf, whyNone } from "./changes.ts";

const diff: Diff = {
  attempts: [
    { attempt: 1, cut: false, changes: [{ change: "created", path: "src/a.rs" }, { change: "deleted", path: "B.md" }] },
    { attempt: 2, cut: false, changes: [] },
    { attempt: 3, cut: true, changes: [{ change: "modified", path: { hex: "ff2e6d64" } }] },
  ],
};

test("attempts are headings, and one that did nothing has none", () => {
  expect(rowsOf(diff, "").map((row) => (row.is === "attempt" ? `#${row.attempt} ${row.count}` : row.key))).toEqual(["#1 2", "1.0", "1.1", "#3 1", "3.0"]);
});

test("letters choose, upper case or lower; a list that is cut is never hidden by it", () => {
  expect(rowsOf(diff, " b.MD ").map((row) => (row.is === "attempt" ? row.attempt : row.key))).toEqual([1, "1.1", 3]);
});

test("a path shows what is hidden in it, and one that is not text is shown as bytes", () => {
  expect(pathOf("a\u202Ecod.exe\n")).not.toMatch(/[\u202E\n]/);
  expect(pathOf({ hex: "ff2e" })).toBe("⟨ff2e⟩");
});

test("the next change is found past headings, and the ends hold", () => {
  const rows = rowsOf(diff, "");
  expect([keyAt(rows, undefined, 1), keyAt(rows, "1.1", 1), keyAt(rows, "3.0", 1), keyAt(rows, "1.0", -1)]).toEqual(["1.0", "3.0", "3.0", "1.0"]);
  expect(keyAt([], undefined, 1)).toBeUndefined();
});

const none: Diff = { attempts: [] };
const run = (attempt: number, ended_at: string | null): Run => ({ attempt, ended_at }) as Run;
const held = { bytes: 5 } as Attempt;
const gone = { bytes: null } as Attempt;

test.each([
  ["unchanged", { attempts: [{ attempt: 1, changes: [], cut: false }] }, run(1, "x"), [held], false],
  ["off", none, run(1, "x"), [held], true],
  ["no_attempt", none, run(0, null), [], false],
  ["removed", none, run(1, "x"), [gone], false],
  ["not_yet", none, run(1, null), [held], false],
  ["unknown", none, run(1, "x"), [held], false],
] as const)("no list of changes: %s", (why, changes, of, attempts, isOff) => {
  expect(whyNone(changes as Diff, of, attempts, isOff)).toBe(why);
});

test("a reason we do not know is not guessed", () => {
  expect([omittedOf("binary"), omittedOf("toString")]).toEqual(["binary", undefined]);
});
