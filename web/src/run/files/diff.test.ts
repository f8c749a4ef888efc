// Differences are read line by line, odd and endless ones too.
import { expect, test } from "vitest";
import { MOST_OF_LINE, parseDiff } from "./diff.ts";

/** One line as a reader sees it: old number, new number, kind, text. */
function shown(diff: string): string[] {
  return parseDiff(diff).lines.map((line) => `${line.before ?? "·"} ${line.after ?? "·"} ${line.kind} ${line.text}`);
}

test("each line has its numbers in the old text and the new", () => {
  expect(shown("@@ -3,3 +3,4 @@\n a\n-b\n+B\n+C\n c\n@@ -90 +91 @@\n-x\n+y\n")).toEqual([
    "· · part @@ -3,3 +3,4 @@",
    "3 3 same a",
    "4 · removed b",
    "· 4 added B",
    "· 5 added C",
    "5 6 same c",
    "· · part @@ -90 +91 @@",
    "90 · removed x",
    "· 91 added y",
  ]);
});

test("what was added and removed is counted", () => {
  expect(parseDiff("@@ -0,0 +1,2 @@\n+a\n+b\n")).toMatchObject({ added: 2, removed: 0, isCut: false });
  expect(shown("@@ -0,0 +1 @@\n+a\n")[1]).toBe("· 1 added a");
});

test("a last line that nothing ends says so, on both sides", () => {
  const { lines } = parseDiff("@@ -1 +1 @@\n-a\r\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n");
  expect(lines.map((line) => [line.text, line.isUnended])).toEqual([["@@ -1 +1 @@", false], ["a\r", true], ["b", true]]);
});

test("text that looks like a part of a difference is text", () => {
  expect(shown("@@ -1,4 +1,3 @@\n @@ -9 +9 @@\n--- a\n+++ b\n \\ No newline\n-\n")).toEqual([
    "· · part @@ -1,4 +1,3 @@",
    "1 1 same @@ -9 +9 @@",
    "2 · removed -- a",
    "· 2 added ++ b",
    "3 3 same \\ No newline",
    "4 · removed ",
  ]);
});

test.each([
  ["", []],
  ["\n", ["· · odd "]],
  ["\\ no line before\n", []],
  ["+a before any part", ["· · odd +a before any part"]],
  ["@@ -x +y @@\n", ["· · odd @@ -x +y @@"]],
  ["@@ -99999999999999999999 +1 @@\n+a", ["· · odd @@ -99999999999999999999 +1 @@", "· · odd +a"]],
  ["@@ -1 +1 @@\nno sign\n+a", ["· · part @@ -1 +1 @@", "· · odd no sign", "· 1 added a"]],
])("a line that fits nowhere is kept and marked: %j", (diff, lines) => {
  expect(shown(diff)).toEqual(lines);
});

test("a limited number of lines is read, and it says so", () => {
  const diff = `@@ -0,0 +1,9 @@\n${"+x\n".repeat(9)}`;
  expect(parseDiff(diff, 5)).toMatchObject({ added: 4, isCut: true });
  expect(parseDiff(diff, 10)).toMatchObject({ added: 9, isCut: false });
  const unended = "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n";
  expect(parseDiff(unended, 2).isCut).toBe(false);
});

test("a line of a million characters makes no list a million characters wide", () => {
  const parsed = parseDiff(`@@ -0,0 +1 @@\n+${"x".repeat(1_000_000)}\n`);
  expect(parsed.longest).toBe(MOST_OF_LINE);
  expect(parsed.lines[1]?.text.length).toBe(1_000_000);
});
