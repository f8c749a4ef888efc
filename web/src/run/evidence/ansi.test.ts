// Escape sequences: colours are followed, everything else is not done.
import { expect, test } from "vitest";
import { PLAIN, classesOf, sequenceAt, stylesOfRows } from "./ansi.ts";
import { textRows } from "./bytes.ts";
import { encoded, meanBytes, random } from "./testing.ts";

const read = (text: string, style = PLAIN) => {
  const bytes = encoded(text);
  return sequenceAt(bytes, 0, bytes.length, style);
};
const looks = (text: string, style = PLAIN): string => {
  const sequence = read(text, style);
  return sequence?.kind === "style" ? classesOf(sequence.style) : `no style: ${sequence?.kind}`;
};

test.each([
  ["\u001b[31m", "ink-2"],
  ["\u001b[1;32m", "ink-3 bold"],
  ["\u001b[1;32;0m", ""],
  ["\u001b[m", ""],
  ["\u001b[2m", "dim"],
  ["\u001b[3;4m", "italic underline"],
  ["\u001b[97m", "ink-8"],
  ["\u001b[41m", "ground-2"],
  ["\u001b[32;41m", "ground-2"],
  ["\u001b[31;7m", "ground-2"],
  ["\u001b[7m", "ground-8"],
  ["\u001b[38;5;9m", "ink-2"],
  ["\u001b[38;5;46m", "ink-3"],
  ["\u001b[38;2;250;20;20m", "ink-2"],
  ["\u001b[38:2::20:20:250m", "ink-5"],
  ["\u001b[48;2;255;255;255;1m", "ground-8 bold"],
  ["\u001b[38;5m", "ink-1"],
  ["\u001b[8m", ""],
  ["\u001b[5m", ""],
  ["\u001b[99999999999999999999m", ""],
])("colours and weight are followed: %j", (text, expected) => {
  expect(looks(text)).toBe(expected);
});

test.each([
  ["\u001b[2J", 4],
  ["\u001b[?1049h", 8],
  ["\u001b[10;20H", 8],
  ["\u001b]0;title\u0007rest", 10],
  ["\u001b]8;;javascript:alert(1)\u001b\\rest", 26],
  ["\u001b]52;c;aGk=\u0007", 12],
  ["\u001bPq#0\u001b\\", 7],
  ["\u001b(B", 3],
  ["\u001bc", 2],
])("everything else is one thing that is not done: %j", (text, to) => {
  expect(read(text)).toEqual({ kind: "other", to });
});

test.each(["\u001b", "\u001b[", "\u001b[31", "\u001b]0;never ends", "\u001b]0;a\u001bX", "\u001b\u0000", "\u001b[3\u00001m"])("what has no end hides nothing: %j", (text) => {
  expect(read(text)).toBeUndefined();
});

test("a sequence of a megabyte is none", () => {
  expect(read(`\u001b]0;${"x".repeat(1_000_000)}\u0007`)).toBeUndefined();
  expect(read(`\u001b[${"1;".repeat(500_000)}m`)).toBeUndefined();
});

test("colours hold until they are ended, over rows", () => {
  const bytes = encoded("\u001b[31mred\nstill\u001b[0m\nplain\n");
  const rows = textRows({ base: 0, bytes }, 512);
  const ends = Array.from({ length: rows.count }, (_, row) => rows.to(row));
  expect([...stylesOfRows(bytes, ends)].map(classesOf)).toEqual(["", "ink-2", "", ""]);
});

test("no bytes break it, and it always continues", () => {
  const next = random(3);
  for (let round = 0; round < 200; round += 1) {
    const bytes = meanBytes(next, 500);
    for (let at = bytes.indexOf(0x1b); at >= 0; at = bytes.indexOf(0x1b, at + 1)) {
      const sequence = sequenceAt(bytes, at, bytes.length, PLAIN);
      if (sequence) {
        expect(sequence.to).toBeGreaterThan(at + 1);
        expect(sequence.to).toBeLessThanOrEqual(bytes.length);
      }
    }
  }
});
