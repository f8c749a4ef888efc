// From time to pixels and back, while one zooms and moves.
import { expect, test } from "vitest";
import { SHORTEST, atOf, panned, showing, wholeOf, within, xOf, zoomed } from "./scale.ts";

const whole = { from: 1_000, to: 11_000 };

test("pixels lead back to their time", () => {
  const view = { from: 1_794_755_878_000, to: 1_794_755_999_123 };
  for (const at of [view.from, view.from + 17, view.to]) expect(atOf(view, 733, xOf(view, 733, at))).toBeCloseTo(at, 3);
  expect(xOf(view, 733, view.to)).toBe(733);
});

test("zooming keeps the moment under the pointer where it is", () => {
  const near = zoomed(whole, whole, 4, 3_500);
  expect(near.to - near.from).toBeCloseTo(2_500);
  expect(xOf(near, 100, 3_500)).toBeCloseTo(xOf(whole, 100, 3_500));
});

test("a view stays inside the whole", () => {
  expect(zoomed({ from: 2_000, to: 3_000 }, whole, 0.0001, 2_500)).toEqual(whole);
  expect(panned({ from: 2_000, to: 3_000 }, whole, -99_999)).toEqual({ from: 1_000, to: 2_000 });
  expect(panned({ from: 2_000, to: 3_000 }, whole, 99_999)).toEqual({ from: 10_000, to: 11_000 });
  expect(within({ from: -5, to: 99_999 }, whole)).toEqual(whole);
});

test("there is a nearest view, and a run of one moment has a length", () => {
  const nearest = zoomed(whole, whole, 1e9, 4_000);
  expect(nearest.to - nearest.from).toBeCloseTo(SHORTEST);
  const point = wholeOf(500, 500);
  expect(point.from).toBeLessThan(500);
  expect(point.to).toBeGreaterThan(500 + SHORTEST);
});

test("what is selected comes into view, and what is in view moves nothing", () => {
  const view = { from: 2_000, to: 3_000 };
  expect(showing(view, whole, 2_500)).toBe(view);
  expect(showing(view, whole, 7_000)).toEqual({ from: 6_500, to: 7_500 });
  expect(showing(view, whole, 1_100)).toEqual({ from: 1_000, to: 2_000 });
});
