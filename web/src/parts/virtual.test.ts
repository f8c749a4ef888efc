// Rows of one height: no more are drawn than can be seen.
import { expect, test } from "vitest";
import { drawn, scrollTo } from "./virtual.ts";

test("as many rows are drawn as can be seen, however long the list is", () => {
  const { from, to } = drawn(1_000_000, 20, 500_000, 600);
  expect(from).toBe(25_000 - 12);
  expect(to).toBe(25_030 + 12);
});

test.each([
  [0, 0, 0],
  [3, 0, 3],
  [3, 99_999, 3],
])("a list of %i, scrolled to %i, draws nothing that is not there", (count, top, last) => {
  const { from, to } = drawn(count, 20, top, 600);
  expect(from).toBeGreaterThanOrEqual(0);
  expect(to).toBe(last);
});

test("a row that can be seen moves nothing, another comes to the middle", () => {
  expect(scrollTo(5, 20, 0, 200)).toBe(0);
  expect(scrollTo(100, 20, 0, 200)).toBe(2000 - 90);
  expect(scrollTo(1, 20, 1000, 200)).toBe(0);
});
