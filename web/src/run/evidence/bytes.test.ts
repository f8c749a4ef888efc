// Bytes become rows, and none is lost or cut in two.
import { expect, test } from "vitest";
import { bytesOf, characterAt, find, hexRows, textRows } from "./bytes.ts";
import { encoded, meanBytes, random } from "./testing.ts";

const part = (text: string, base = 0) => ({ base, bytes: encoded(text) });
const ranges = (rows: ReturnType<typeof textRows>) => Array.from({ length: rows.count }, (_, row) => [rows.from(row), rows.to(row)]);

test("a row is a line with its end", () => {
  expect(ranges(textRows(part("one\ntwo\r\n\nend"), 512))).toEqual([[0, 4], [4, 9], [9, 10], [10, 13]]);
  expect(ranges(textRows(part("one\n", 100), 512))).toEqual([[100, 104]]);
  expect(textRows(part(""), 512).count).toBe(0);
});

test("a line that just fits is one row with its end", () => {
  expect(ranges(textRows(part(`${"x".repeat(8)}\r\ny`), 8))).toEqual([[0, 10], [10, 11]]);
});

test("a longer line is several rows, and those say that they go on", () => {
  const rows = textRows(part("abcdefgh\nij"), 3);
  expect(ranges(rows)).toEqual([[0, 3], [3, 6], [6, 9], [9, 11]]);
  expect([0, 1, 2, 3].map((row) => rows.isContinued(row))).toEqual([false, true, true, false]);
});

test("no character and no short escape sequence is cut", () => {
  expect(ranges(textRows(part("ab😀cd"), 4))).toEqual([[0, 2], [2, 6], [6, 8]]);
  expect(ranges(textRows(part("abcd\u001b[31mefg"), 7))).toEqual([[0, 4], [4, 11], [11, 12]]);
});

test("a line of a megabyte without an end is many small rows", () => {
  const rows = textRows({ base: 0, bytes: new Uint8Array(1_000_000).fill(120) }, 512);
  expect(rows.count).toBe(Math.ceil(1_000_000 / 512));
});

test("whatever the bytes are, every one is in one row, in order", () => {
  const next = random(1);
  for (let round = 0; round < 30; round += 1) {
    const bytes = meanBytes(next, Math.floor(next() * 3_000));
    const base = Math.floor(next() * 1e12);
    const most = 1 + Math.floor(next() * 40);
    for (const rows of [textRows({ base, bytes }, most), hexRows({ base, bytes }, 16)]) {
      let at = base;
      for (let row = 0; row < rows.count; row += 1) {
        expect(rows.from(row)).toBe(at);
        expect(rows.to(row)).toBeGreaterThan(at);
        expect(rows.at(at)).toBe(row);
        expect(rows.at(rows.to(row) - 1)).toBe(row);
        at = rows.to(row);
      }
      expect(at).toBe(base + bytes.length);
    }
  }
});

test("rows of numbers begin at multiples of their width", () => {
  expect(ranges(hexRows({ base: 20, bytes: new Uint8Array(30) }, 16))).toEqual([[20, 32], [32, 48], [48, 50]]);
});

test("characters are read as a strict decoder reads them", () => {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const next = random(2);
  for (let round = 0; round < 8_000; round += 1) {
    const bytes = Uint8Array.from({ length: 4 }, () => (next() < 0.5 ? 0x80 + Math.floor(next() * 0x80) : 0xc0 + Math.floor(next() * 0x40)));
    const { code, length } = characterAt(bytes, 0, 4);
    let expected = -1;
    for (let size = 1; size <= 4 && expected < 0; size += 1) {
      try {
        expected = decoder.decode(bytes.subarray(0, size)).codePointAt(0) ?? -1;
        expect(length).toBe(size);
      } catch {
        // Fewer bytes.
      }
    }
    expect(code).toBe(expected);
  }
});

test.each([[0xed, 0xa0, 0x80], [0xc0, 0x80], [0xe0, 0x80, 0x80], [0xf0, 0x80, 0x80, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf8], [0xff], [0x80], [0xe4, 0xb8]])("bytes that are no character: %i %i %i", (...bytes) => {
  expect(characterAt(Uint8Array.from(bytes), 0, bytes.length)).toEqual({ code: -1, length: 1 });
});

test("a text is as long as its bytes", () => {
  for (const text of ["", "a", "é", "数", "😀", "a\u0000é😀"]) expect(bytesOf(text)).toBe(encoded(text).length);
});

test("a text is found, forwards and back", () => {
  const bytes = encoded("one two one");
  expect(find(bytes, encoded("one"), 1, 1)).toBe(8);
  expect(find(bytes, encoded("one"), 7, -1)).toBe(0);
  expect(find(bytes, encoded("three"), 0, 1)).toBe(-1);
  expect(find(bytes, encoded(""), 0, 1)).toBe(-1);
});
