// Long texts are read once, and no more of them are kept than there is room for.
import { expect, test } from "vitest";
import type { Tree } from "./tree.ts";
import { Trees } from "./trees.ts";

/** Trees that record which texts were parsed, by their first letter. */
function watched(): { trees: Trees; read: () => string } {
  let read = "";
  const trees = new Trees((text): Tree => {
    read += text[0] ?? "";
    return { blocks: [], weights: [], rest: text };
  });
  return { trees, read: () => read };
}

const long = (letter: string, length = 30_000): string => letter.repeat(length);

test("a long text is read once", () => {
  const { trees, read } = watched();
  const first = trees.of(long("a"));
  expect(trees.of(long("a"))).toBe(first);
  expect(trees.of(long("b")).rest).toBe(long("b"));
  expect(trees.of(long("a")).rest).toBe(long("a"));
  expect(read()).toBe("ab");
});

test("a short one is not kept, and takes no room", () => {
  const { trees, read } = watched();
  trees.of("c");
  trees.of("c");
  expect(read()).toBe("cc");
});

test("of many, the one that was longest not asked for goes first", () => {
  const { trees, read } = watched();
  const letters = Array.from({ length: 40 }, (_, index) => String.fromCodePoint(0x41 + index));
  for (const letter of letters) trees.of(long(letter));
  trees.of(long("A"));
  trees.of(long("z"));
  expect(read()).toBe(`${letters.join("")}z`);
  trees.of(long("A"));
  expect(read()).toHaveLength(41);
  trees.of(long("B"));
  expect(read()).toHaveLength(42);
});

test("few very long ones are as much as many", () => {
  const { trees, read } = watched();
  for (const letter of "abcde") trees.of(long(letter, 1_000_000));
  trees.of(long("b", 1_000_000));
  expect(read()).toBe("abcde");
  trees.of(long("a", 1_000_000));
  expect(read()).toBe("abcdea");
});
