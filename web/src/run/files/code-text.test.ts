// Lines of code: what hides is shown, and long ones are cut.
import { expect, test } from "vitest";
import { codeLine, codeText } from "./code-text.ts";

test("tabs stay, what hides is shown", () => {
  expect(codeLine("\tif (a) \u202E// ok\u200B\r", 100)).toBe("\tif (a) ⟨U+202E⟩// ok⟨U+200B⟩⟨U+000D⟩");
});

test("a line is cut, and never in the middle of a character", () => {
  expect(codeLine("abcdef", 3)).toBe("abc…");
  expect(codeLine("ab😀f", 3)).toBe("ab…");
  expect(codeLine("abc", 3)).toBe("abc");
});

test("lines stay lines, however they end", () => {
  expect(codeText("a\r\nb\n\u2028c")).toBe("a\nb\n⟨U+2028⟩c");
});
