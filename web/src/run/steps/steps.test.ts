// The steps of a workflow as a picture: layers after all that is needed, the lines that say it, and the keys through it.
import type { StepItemView, StepStanding } from "@skillrun/client";
import { expect, test } from "vitest";
import type { Box } from "../links/layout.ts";
import { MOST_BOXES, boxesOf, countsOf, drawingOf, firstToSee, neighbour, readyOf, shapeOf, stepName } from "./steps.ts";

const NODE = { width: 200, height: 80 };
const step = (step_id: string, ...needs: string[]) => ({ step_id, needs });
const lines = (...steps: ReturnType<typeof step>[]): string[] => shapeOf(steps).edges.map(({ from, to }) => `${from} ${to}`);
const items = (...standings: StepStanding[]): StepItemView[] => standings.map((standing, item) => ({ item, standing }));

/** Three that work side by side on what the one before it left, again and again. */
function many(count: number): ReturnType<typeof step>[] {
  return Array.from({ length: count }, (_, index) => {
    const layer = Math.floor(index / 4);
    if (index === 0) return step("s0");
    return index % 4 === 0 ? step(`s${index}`, `s${index - 3}`, `s${index - 2}`, `s${index - 1}`) : step(`s${index}`, `s${layer * 4}`);
  });
}

const shapes: Record<string, ReturnType<typeof step>[]> = {
  layers: many(200),
  chain: Array.from({ length: 200 }, (_, index) => step(`s${index}`, ...(index > 0 ? [`s${index - 1}`] : []))),
  "chain written backwards": Array.from({ length: 200 }, (_, index) => step(`s${index}`, ...(index < 199 ? [`s${index + 1}`] : []))),
  "all before one": [...Array.from({ length: 199 }, (_, index) => step(`s${index}`)), step("last", ...Array.from({ length: 199 }, (_, index) => `s${index}`))],
  "each needs all before it": Array.from({ length: 200 }, (_, index) => step(`s${index}`, ...Array.from({ length: index }, (_, before) => `s${before}`))),
  alone: Array.from({ length: 200 }, (_, index) => step(`s${index}`)),
};

test.each(Object.entries(shapes))("200 steps are laid out within 50 ms, each behind what it needs and none on another: %s", (_, steps) => {
  const took = Array.from({ length: 7 }, () => {
    const began = performance.now();
    drawingOf(steps, NODE, 168, 700);
    return performance.now() - began;
  });
  // The machine may be busy in some of them; what is slow is slow in all.
  expect(Math.min(...took)).toBeLessThan(50);
  const { layout, direction } = drawingOf(steps, NODE, 168, 700);
  expect(layout.boxes).toHaveLength(200);
  const at = new Map(layout.boxes.map((box) => [box.id, direction === "right" ? box.x : box.y]));
  for (const { step_id, needs } of steps) for (const need of needs) expect(at.get(need)).toBeLessThan(at.get(step_id)!);
  const overlaps = (one: Box, other: Box): boolean => one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;
  layout.boxes.forEach((box, index) => expect(layout.boxes.slice(index + 1).find((other) => overlaps(box, other))).toBe(undefined));
});

test("a step stands one layer behind the last of its needs", () => {
  const { layout } = drawingOf([step("c", "a", "b"), step("b", "a"), step("a"), step("d", "a")], NODE, 168, 2_000);
  const columns = new Map(layout.boxes.map(({ id, x }) => [id, x]));
  const step1 = columns.get("b")!;
  expect(Object.fromEntries(columns)).toEqual({ a: 0, b: step1, d: step1, c: 2 * step1 });
});

test("what fits goes to the right, and what does not goes the way that is less wide", () => {
  const three = [step("a"), step("b", "a"), step("c", "b")];
  expect(drawingOf(three, NODE, 168, 800).direction).toBe("right");
  expect(drawingOf(three, NODE, 168, 390).direction).toBe("down");
  expect(drawingOf(shapes["all before one"]!, NODE, 168, 800).direction).toBe("right");
});

test("nodes are narrower where that makes all of them fit downwards", () => {
  const { layout, direction } = drawingOf(many(40), NODE, 168, 630);
  expect([direction, layout.width <= 630, layout.boxes[0]!.width < NODE.width]).toEqual(["down", true, true]);
  expect(drawingOf(many(40), NODE, 168, 500).layout.boxes[0]!.width).toBe(NODE.width);
});

test("a large picture begins with what waits for the user, then with what works, then with what went wrong", () => {
  const standing = (...all: StepStanding[]) => firstToSee(all.map((one, index) => ({ step_id: `s${index}`, standing: one })));
  expect(standing("ready", "failed", "running", "held_now")).toBe("s3");
  expect(standing("ready", "failed", "running", "pending")).toBe("s2");
  expect(standing("ready", "failed", "skipped")).toBe("s1");
  expect(standing("ready", "ready")).toBe(undefined);
});

test("a need that follows from another one has no line", () => {
  expect(lines(step("a"), step("b", "a"), step("c", "a", "b"))).toEqual(["a b", "b c"]);
  expect(lines(step("c", "a", "b"), step("b", "a"), step("a"))).toEqual(["b c", "a b"]);
  expect(lines(step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c", "a"))).toEqual(["a b", "a c", "b d", "c d"]);
});

test("a need that does not exist, one named twice and a circle are survived", () => {
  expect(lines(step("a", "nowhere"), step("b", "a", "a"))).toEqual(["a b"]);
  expect(drawingOf([step("a", "b"), step("b", "a"), step("c", "c")], NODE, 168, 700).layout.boxes).toHaveLength(3);
  expect(drawingOf([], NODE, 168, 700).layout.boxes).toEqual([]);
});

test("arrows lead to the nearest step in their direction, and nowhere at the edge", () => {
  const { layout } = drawingOf([step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c")], NODE, 168, 2_000);
  const path = (from: string, ...keys: string[]) => keys.reduce<string | undefined>((at, key) => (at === undefined ? undefined : neighbour(layout.boxes, at, key)), from);
  expect(path("a", "ArrowRight", "ArrowRight")).toBe("d");
  expect(path("b", "ArrowDown")).toBe("c");
  expect(path("c", "ArrowUp", "ArrowLeft")).toBe("a");
  expect(path("a", "ArrowLeft")).toBe(undefined);
  expect(path("a", "End", "Home")).toBe("a");
  expect(path("a", "x")).toBe(undefined);
});

test("counts name what needs the user first", () => {
  const all = items("ready", "ready", "running", "failed", "held_now");
  expect(countsOf(all)).toEqual([{ standing: "held_now", n: 1 }, { standing: "failed", n: 1 }, { standing: "running", n: 1 }, { standing: "ready", n: 2 }]);
  expect(readyOf(all)).toBe(2);
  // Partial and ready by an answer that was never given are not ready.
  expect(readyOf(items("partial", "held", "skipped"))).toBe(0);
});

test("of many items those that are not ready are shown, in their order", () => {
  const all = items(...Array.from({ length: 100 }, (_, index): StepStanding => (index === 70 ? "failed" : "ready")));
  const { shown, left } = boxesOf(all, MOST_BOXES);
  expect(shown).toHaveLength(MOST_BOXES);
  expect(shown.map(({ item }) => item)).toContain(70);
  expect(shown.map(({ item }) => item)).toEqual(shown.map(({ item }) => item).toSorted((one, other) => one - other));
  expect(left).toBe(100 - MOST_BOXES);
  expect(boxesOf(all.slice(0, 3), MOST_BOXES)).toEqual({ shown: all.slice(0, 3), left: 0 });
});

test("an item is called as the service calls it", () => {
  expect([stepName("build", undefined), stepName("build", null), stepName("build", 0)]).toEqual(["build", "build", "build[0]"]);
});
