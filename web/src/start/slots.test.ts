// Names for the files that go with a run.
import { expect, test } from "vitest";
import { added, renamed, wrongSlot } from "./slots.ts";

function file(name: string): { name: string } {
  return { name };
}

test("a file gets a name the skill may know, and no two the same", () => {
  const slots = added([], ["Q3 report.final.pdf", "q3.csv", "q3.xlsx", ".env", "\u202e", "数据.csv"].map(file));
  expect(slots.map(({ name }) => name)).toEqual(["Q3_report_final", "q3", "q3_2", "env", "file", "数据"]);
});

test("there are not more than can be looked at", () => {
  expect(added([], Array.from({ length: 500 }, () => file("x")))).toHaveLength(50);
});

test("missing and repeated names are reported", () => {
  const slots = added([], [file("a"), file("b")]);
  expect(wrongSlot(slots)).toBeUndefined();
  expect(wrongSlot(renamed(slots, 1, " "))).toEqual({ index: 1, is: "unnamed" });
  expect(wrongSlot(renamed(slots, 1, "a "))).toEqual({ index: 1, is: "twice" });
});
