// From a height in the picture to the lane and the row that is drawn there.
import { expect, test } from "vitest";
import { ROWS } from "./bars.ts";
import { LANE, LANES_TOP, heightOf, laneAt, rowAt } from "./draw.ts";

test("a height leads to its lane, and to none above and below them", () => {
  expect(laneAt(LANES_TOP - 1, 3)).toBeUndefined();
  expect([0, 1, 2].map((lane) => laneAt(LANES_TOP + lane * LANE, 3))).toEqual([0, 1, 2]);
  expect(laneAt(heightOf(3) - 1, 3)).toBe(2);
  expect(laneAt(heightOf(3), 3)).toBeUndefined();
});

test("a height in a lane leads to its row of bars", () => {
  const rows = Array.from({ length: LANE }, (_, pixel) => rowAt(LANES_TOP + 2 * LANE + pixel));
  expect(rows[0]).toBe(0);
  expect(rows[LANE / 2]).toBe(1);
  expect(rows.at(-1)).toBe(ROWS - 1);
  expect([...rows].sort((one, other) => one - other)).toEqual(rows);
});
