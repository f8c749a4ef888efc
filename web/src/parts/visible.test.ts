// What hides in a text is marked, and nothing else is.
import { expect, test } from "vitest";
import { visible, visibleLine, visibleText } from "./visible.ts";

test.each([
  ["a\u0000b", "a⟨U+0000⟩b"],
  ["\u001b[31mred", "⟨U+001B⟩[31mred"],
  ["one\r\ntwo", "one⟨U+000D⟩⟨U+000A⟩two"],
  ["\u0085\u009b1m", "⟨U+0085⟩⟨U+009B⟩1m"],
  ["photo\u202egpj.exe", "photo⟨U+202E⟩gpj.exe"],
  ["\u061c\u200e\u200f\u202a\u202c\u2066\u2069", "⟨U+061C⟩⟨U+200E⟩⟨U+200F⟩⟨U+202A⟩⟨U+202C⟩⟨U+2066⟩⟨U+2069⟩"],
  ["pay\u200bpal\u200c\u2060\ufeff", "pay⟨U+200B⟩pal⟨U+200C⟩⟨U+2060⟩⟨U+FEFF⟩"],
  ["a\u2028b\u2029c", "a⟨U+2028⟩b⟨U+2029⟩c"],
  ["\ud800x\udc00", "⟨U+D800⟩x⟨U+DC00⟩"],
  ["hi\u{e0068}\u{e0069}\u{e007f}", "hi⟨U+E0068⟩⟨U+E0069⟩⟨U+E007F⟩"],
  ["soft\u00adhyphen", "soft⟨U+00AD⟩hyphen"],
  ["\u3164name", "⟨U+3164⟩name"],
  ["a\u200db", "a⟨U+200D⟩b"],
  ["👩\u200db", "👩⟨U+200D⟩b"],
])("what cannot be seen is marked: %j", (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test.each(["", "<img src=x onerror=alert(1)>", "naïve café", "数字 と かな", "שלום", "مرحبا", "हिन्दी", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👩🏽‍🚀", "🧑🏿‍❤️‍💋‍🧑🏻", "a⟨U+0000⟩"])("what can be seen stays: %s", (text) => {
  expect(visible(text)).toBe(text);
});

test("a line is cut between characters, and says so", () => {
  expect(visibleLine("😀😀😀", 2)).toBe("😀😀…");
  expect(visibleLine("😀😀", 2)).toBe("😀😀");
  expect(visibleLine("👩‍👧", 2)).toBe("👩…");
  expect(visibleLine("a\nb", 2)).toBe("a⏎…");
  expect(visibleLine("x".repeat(1_000_000), 3)).toBe("xxx…");
});

test("a text keeps its lines and its tabs", () => {
  expect(visibleText("a\tb\r\nc\rd\n\u200be")).toBe("a\tb\nc⟨U+000D⟩d\n⟨U+200B⟩e");
  expect(visibleText("a\r\n\r\n\tb\r\n")).toBe("a\n\n\tb\n");
  expect(visibleText("plain\n\ttext")).toBe("plain\n\ttext");
  expect(visibleText("\u007f")).toBe("⟨U+007F⟩");
});

test("several lines become one, and one sees where they ended", () => {
  expect(visibleLine("a\nb\tc", 10)).toBe("a⏎b c");
  expect(visible("a\nb")).toBe("a⟨U+000A⟩b");
});
