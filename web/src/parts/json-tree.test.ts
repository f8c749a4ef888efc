// JSON as a tree: cut where it is long, with nothing hidden in it.
import { expect, test } from "vitest";
import { STEP, canGrow, entries, node } from "./json-tree.ts";

test("a value is a branch, a text or a plain word", () => {
  expect(node({ a: 1, b: 2 }, false)).toEqual({ kind: "branch", shape: "object", count: 2 });
  expect(node([1], false)).toEqual({ kind: "branch", shape: "array", count: 1 });
  expect(node(null, false)).toEqual({ kind: "plain", text: "null" });
  expect(node(false, false)).toEqual({ kind: "plain", text: "false" });
  expect(node("<img onerror=alert(1)>", false)).toEqual({ kind: "text", text: "<img onerror=alert(1)>", rest: 0 });
});

test("a long string is cut between characters, and shown on demand", () => {
  const text = `${"x".repeat(299)}😀tail`;
  expect(node(text, false)).toEqual({ kind: "text", text: "x".repeat(299), rest: 6 });
  expect(node(text, true)).toEqual({ kind: "text", text, rest: 0 });
  expect(canGrow(text)).toBe(true);
  expect(canGrow("short")).toBe(false);
});

test("even all of a string has a bound", () => {
  const shown = node("y".repeat(1_000_000), true);
  expect(shown).toMatchObject({ kind: "text", rest: 800_000 });
});

test("a limited number of entries, in their order, hidden characters of names shown", () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, index]));
  expect(entries(many, STEP)).toHaveLength(STEP);
  expect(entries(many, STEP)[199]).toEqual({ name: "k199", value: 199 });
  expect(entries(["a", "b"], 1)).toEqual([{ name: "0", value: "a" }]);
  expect(entries({ "a\u202e": 1 }, 5)[0]?.name).toBe("a⟨U+202E⟩");
  expect(entries("text", 5)).toEqual([]);
});

test("lines of a string stay, what is hidden in it does not", () => {
  expect(node("one\ntwo\u200b\u0000", false)).toMatchObject({ text: "one\ntwo⟨U+200B⟩⟨U+0000⟩" });
});
