// A row of bytes as it is shown, in each of the views, with its marks.
import { expect, test } from "vitest";
import { PLAIN, classesOf } from "./ansi.ts";
import { type Part, textRows } from "./bytes.ts";
import { type View, VIEWS, byteOf, indexOf, measureOf, piecesOf } from "./pieces.ts";
import { encoded, meanBytes, random } from "./testing.ts";

const part = (text: string, base = 0): Part => ({ base, bytes: encoded(text) });
const all = (given: Part) => ({ from: given.base, to: given.base + given.bytes.length });
const shown = (given: Part, view: View): string => piecesOf(given, all(given), view, PLAIN, []).map((piece) => piece.text).join("");

test("rendered: colours are followed, what a terminal would do is a sign", () => {
  const given = part("a\u001b[31mb\u001b[0m\u001b]8;;javascript:alert(1)\u0007link\u001b]52;c;aGk=\u0007\r\n");
  expect(shown(given, "rendered")).toBe("ab⟨ESC⟩link⟨ESC⟩");
  const pieces = piecesOf(given, all(given), "rendered", PLAIN, []);
  expect(pieces.map((piece) => [piece.text, classesOf(piece.style)])).toEqual([
    ["a", ""], ["", ""], ["b", "ink-2"], ["", "ink-2"], ["⟨ESC⟩", ""], ["link", ""], ["⟨ESC⟩", ""], ["", ""], ["", ""],
  ]);
});

test("bytes: everything can be seen", () => {
  expect(shown(part("a\u001b[31mb\t\u0000\r\n"), "bytes")).toBe("a⟨ESC⟩[31mb⇥⟨NUL⟩⟨CR⟩↵");
  expect(shown({ base: 0, bytes: Uint8Array.of(0xff, 0x61, 0xc3) }, "bytes")).toBe("⟨FF⟩a⟨C3⟩");
  expect(shown(part("x\u202egpj\u200b\u0085"), "bytes")).toBe("x⟨U+202E⟩gpj⟨U+200B⟩⟨U+0085⟩");
});

test("rendered: what hides is marked there too", () => {
  expect(shown(part("x\u202egpj\u200b\rno\b\u0000"), "rendered")).toBe("x⟨U+202E⟩gpj⟨U+200B⟩⟨CR⟩no⟨BS⟩⟨NUL⟩");
  expect(shown({ base: 0, bytes: Uint8Array.of(0xff, 0x61) }, "rendered")).toBe("\ufffda");
  expect(shown(part("\u001b]0;never ends"), "rendered")).toBe("⟨ESC⟩]0;never ends");
});

test("markup is text", () => {
  expect(shown(part("<img src=x onerror=alert(1)><script>"), "rendered")).toBe("<img src=x onerror=alert(1)><script>");
});

test("hex: the numbers, then the letters", () => {
  expect(shown(part("a\u0000é"), "hex")).toBe("61 00 C3 A9 a···");
});

test("marks begin and end at their bytes", () => {
  const given = part("one two three", 100);
  const pieces = piecesOf(given, all(given), "bytes", PLAIN, [{ from: 104, to: 107 }, { from: 112, to: 500 }]);
  expect(pieces.map((piece) => [piece.text, piece.isMarked, piece.from, piece.to])).toEqual([
    ["one ", false, 100, 104], ["two", true, 104, 107], [" thre", false, 107, 112], ["e", true, 112, 113],
  ]);
});

test("in hex, marks begin and end at their bytes, on both sides", () => {
  const given = part("abcd");
  const pieces = piecesOf(given, all(given), "hex", PLAIN, [{ from: 1, to: 3 }]);
  expect(pieces.filter((piece) => piece.isMarked).map((piece) => piece.text)).toEqual(["62 63 ", "bc"]);
});

test("whatever the bytes are: a character leads to its byte, and the byte back to it", () => {
  const next = random(4);
  for (let round = 0; round < 30; round += 1) {
    const base = Math.floor(next() * 1e12);
    const given = { base, bytes: meanBytes(next, 300) };
    const rows = textRows(given, 64);
    const marks = [0, 1, 2].map(() => base + Math.floor(next() * 300)).map((from) => ({ from, to: from + 1 + Math.floor(next() * 30) }));
    for (let row = 0; row < rows.count; row += 1) {
      const range = { from: rows.from(row), to: rows.to(row) };
      for (const view of VIEWS) {
        const pieces = piecesOf(given, range, view, PLAIN, marks);
        let at = range.from;
        for (const piece of pieces.filter(({ kind }) => kind !== "ascii")) {
          expect(piece.from).toBe(at);
          at = piece.to;
          // Only what colours and ends of lines are made of is not seen.
          if (piece.text === "") expect([0x0a, 0x0d, 0x1b]).toContain(given.bytes[piece.from - base]);
        }
        expect(at).toBe(range.to);
        for (const piece of pieces) {
          let index = 0;
          for (const character of piece.kind === "text" ? piece.text : [...piece.text].filter((_, place) => piece.kind !== "hex" || place % 3 === 0)) {
            const offset = byteOf(piece, index);
            if (piece.kind === "sign") break;
            expect(indexOf(piece, offset)).toBe(index);
            expect(offset).toBeLessThan(piece.to);
            const isIn = marks.some((mark) => offset >= mark.from && offset < mark.to);
            if (isIn) expect(piece.isMarked).toBe(true);
            index += piece.kind === "hex" ? 3 : character.length;
          }
        }
      }
    }
  }
});

test("each byte of a character leads to where it begins", () => {
  const piece = { kind: "text", from: 10, text: "a😀b" } as const;
  expect([10, 11, 12, 13, 14, 15].map((offset) => indexOf(piece, offset))).toEqual([0, 1, 1, 1, 1, 3]);
  expect([0, 1, 3].map((index) => byteOf(piece, index))).toEqual([10, 11, 15]);
});

test("rows are wrapped by what is seen: colours take no room, marks take theirs", () => {
  const wrap = { columns: 10, measure: measureOf("rendered") };
  const ends = (text: string): string[] => {
    const given = part(text);
    const rows = textRows(given, 512, wrap);
    return Array.from({ length: rows.count }, (_, row) => piecesOf(given, { from: rows.from(row), to: rows.to(row) }, "rendered", PLAIN, []).map((piece) => piece.text).join(""));
  };
  expect(ends("\u001b[31mabcde\u001b[0m\u001b[32mfghij\u001b[0m\nx")).toEqual(["abcdefghij", "x"]);
  expect(ends("abcdefghijkl\r\n")).toEqual(["abcdefghij", "kl"]);
  expect(ends("数字数字数字")).toEqual(["数字数字数", "字"]);
  expect(ends("abcde\u202efg")).toEqual(["abcde", "⟨U+202E⟩fg"]);
});

test("whatever the bytes are, wrapped rows have every byte once, and are bounded", () => {
  const next = random(6);
  for (let round = 0; round < 20; round += 1) {
    const given = { base: 0, bytes: meanBytes(next, 2_000) };
    for (const view of ["rendered", "bytes"] as const) {
      const rows = textRows(given, 64, { columns: 20, measure: measureOf(view) });
      let at = 0;
      for (let row = 0; row < rows.count; row += 1) {
        expect(rows.from(row)).toBe(at);
        at = rows.to(row);
        expect(at - rows.from(row)).toBeLessThanOrEqual(66);
      }
      expect(at).toBe(2_000);
    }
  }
});
