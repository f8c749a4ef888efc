// Engines in their order, and what is said about their versions.
import type { Engine } from "@skillrun/client";
import { expect, test } from "vitest";
import { say } from "../words/words.ts";
import { grouped, rangeOf, testedLook } from "./engines.ts";

const engine = (name: string, program: string | null): Engine => ({ name, program }) as Engine;

test("engines one can use come first, each group in the order it came", () => {
  const { installed, missing } = grouped([engine("a", null), engine("b", "/bin/b"), engine("c", null), engine("d", "/bin/d")]);
  expect([installed.map(({ name }) => name), missing.map(({ name }) => name)]).toEqual([["b", "d"], ["a", "c"]]);
});

test.each([
  [["1.0.0", "2.3.0"], "Tested versions: 1.0.0 to 2.3.0"],
  [["1.0.0", "1.0.0"], "Tested version: 1.0.0"],
  [null, "No version was ever tested."],
  [undefined, "No version was ever tested."],
])("a range in words: %j", (versions, words) => {
  const { word, from, to } = rangeOf(versions);
  expect(say("en", word, { from, to })).toBe(words);
});

test("a tested version does not look like a success", () => {
  expect(Object.values(testedLook).map(({ tone }) => tone)).not.toContain("good");
});
