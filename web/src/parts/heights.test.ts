// Rows of different heights: where they stand, and that what is read stays where it is.
import { expect, test } from "vitest";
import { anchorsOf, held, notBelow, offsetsOf, revealed, rowAt, stretch, totalOf } from "./heights.ts";

const keys = ["a", "b", "c", "d"];
const known = new Map([["a", 10], ["b", 100], ["d", 5]]);
const offsets = offsetsOf(keys, known, 40);

function at(list: readonly string[]) {
  return (key: string) => (list.includes(key) ? list.indexOf(key) : undefined);
}

test("rows stand one after the other, guessed where they are not known", () => {
  expect([...offsets]).toEqual([0, 10, 110, 150, 155]);
  expect(totalOf(offsets)).toBe(155);
  expect(totalOf(offsetsOf([], known, 40))).toBe(0);
});

test.each([[-5, 0], [0, 0], [9, 0], [10, 1], [109, 1], [110, 2], [149.5, 2], [150, 3], [9_999, 3]])("at %i stands row %i", (distance, row) => {
  expect(rowAt(offsets, distance)).toBe(row);
});

test("as many rows are drawn as can be seen, however many there are", () => {
  const many = offsetsOf(Array.from({ length: 100_000 }, (_, index) => String(index)), new Map(), 50);
  const { from, to } = stretch(many, 1_000_000, 800, 200);
  expect([from, to]).toEqual([19_996, 20_021]);
  expect(stretch(offsetsOf([], known, 40), 0, 800, 200)).toEqual({ from: 0, to: 0 });
  expect(stretch(offsets, 0, 800, 200)).toEqual({ from: 0, to: 4 });
});

test("what is read stays where it is when rows come before it, and when a height turns out to be another", () => {
  const anchors = anchorsOf(keys, offsets, 60, 60);
  expect(anchors).toEqual([{ key: "b", below: 50 }, { key: "c", below: -50 }]);
  const longer = ["x", "y", ...keys];
  expect(held(anchors, at(longer), offsetsOf(longer, known, 40))).toBe(80 + 60);
  expect(held(anchors, at(keys), offsetsOf(keys, new Map([...known, ["a", 500]]), 40))).toBe(550);
});

test("when the row that is read goes away the next one holds", () => {
  const anchors = anchorsOf(keys, offsets, 60, 60);
  const shorter = ["c", "d"];
  expect(held(anchors, at(shorter), offsetsOf(shorter, known, 40))).toBe(0);
  const other = ["z", "z2", "z3", "c"];
  expect(held(anchors, at(other), offsetsOf(other, known, 40))).toBe(70);
  expect(held(anchors, at(["q"]), offsetsOf(["q"], known, 40))).toBeUndefined();
});

test("a row that can be seen moves nothing, another comes to the middle, a tall one begins at the top", () => {
  expect(revealed(offsets, 0, 0, 50)).toBe(0);
  expect(revealed(offsets, 2, 0, 60)).toBe(100);
  expect(revealed(offsets, 1, 0, 60)).toBe(10);
});

test("a row that would slip below what is seen keeps so much of its beginning in view, and else nothing moves", () => {
  expect(notBelow(offsets, 1, 0, 40, 20)).toBe(0);
  expect(notBelow(offsets, 1, 0, 20, 20)).toBe(10);
  expect(notBelow(offsets, 0, 0, 5, 20)).toBe(5);
  expect(notBelow(offsets, 0, 60, 20, 20)).toBe(60);
});
