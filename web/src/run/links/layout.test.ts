// The graph as a picture: causes before effects, lines past the nodes.
import { expect, test } from "vitest";
import type { Graph } from "./builder.ts";
import { type Box, fitting, layoutOf, pathOf } from "./layout.ts";

const NODE = { width: 100, height: 40 };

function graph(edges: readonly (readonly [string, string])[], more: readonly string[] = []): Graph {
  const ids = [...new Set([...edges.flat(), ...more])];
  return {
    nodes: ids.map((id) => ({ id, what: { kind: "request", id } })),
    edges: edges.map(([from, to]) => ({ from, to, label: "then" })),
  };
}

const wide = graph([["run", "attempt"], ...Array.from({ length: 20 }, (_, index) => ["attempt", `call ${index}`] as const), ["call 3", "result"], ["run", "result"], ["attempt", "end"], ["end", "over"], ["result", "over"]], ["alone"]);

function overlap(one: Box, other: Box): boolean {
  return one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;
}

test.each(["right", "down"] as const)("no node stands on another, and all are in the picture (%s)", (direction) => {
  const layout = layoutOf(wide, NODE, direction);
  expect(layout.boxes).toHaveLength(wide.nodes.length);
  layout.boxes.forEach((box, index) => {
    expect(layout.boxes.slice(index + 1).filter((other) => overlap(box, other))).toEqual([]);
    expect(Math.min(box.x, box.y)).toBeGreaterThanOrEqual(0);
    expect(box.x + box.width).toBeLessThanOrEqual(layout.width);
    expect(box.y + box.height).toBeLessThanOrEqual(layout.height);
  });
});

test("effects stand after their causes", () => {
  const layout = layoutOf(wide, NODE, "right");
  const x = new Map(layout.boxes.map((box) => [box.id, box.x]));
  for (const { from, to } of wide.edges) expect(x.get(to)).toBeGreaterThan(x.get(from) ?? Infinity);
});

test("a line that passes a column passes no node", () => {
  const { lines, boxes } = layoutOf(wide, NODE, "right");
  const long = lines.filter((line) => line.points.length > 2);
  expect(long.length).toBeGreaterThan(0);
  for (const { points } of long) {
    for (let index = 1; index + 1 < points.length; index += 2) {
      const [[fromX, y], [toX]] = [points[index] ?? [0, 0], points[index + 1] ?? [0, 0]];
      expect(boxes.filter((box) => box.x < toX && box.x + box.width > fromX && y > box.y && y < box.y + box.height)).toEqual([]);
    }
  }
});

test("lines begin and end at their nodes", () => {
  const { lines, boxes } = layoutOf(wide, NODE, "down");
  const at = new Map(boxes.map((box) => [box.id, box]));
  for (const { from, to, points } of lines) {
    const [one, other] = [at.get(from), at.get(to)];
    expect(points[0]).toEqual([(one?.x ?? 0) + 50, (one?.y ?? 0) + 40]);
    expect(points.at(-1)).toEqual([(other?.x ?? 0) + 50, other?.y]);
  }
});

test("the same graph always looks the same", () => {
  expect(layoutOf(wide, NODE, "right")).toEqual(layoutOf(structuredClone(wide), NODE, "right"));
});

test("a circle, which there should not be, ends all the same", () => {
  expect(layoutOf(graph([["a", "b"], ["b", "c"], ["c", "a"]]), NODE, "right").boxes).toHaveLength(3);
});

test("nothing is a picture of no size", () => {
  expect(layoutOf({ nodes: [], edges: [] }, NODE, "right")).toMatchObject({ boxes: [], lines: [], width: 0, height: 0 });
});

test("it lies down where it is too wide, unless it would be wider so", () => {
  const chain = graph([["a", "b"], ["b", "c"], ["c", "d"]]);
  expect(fitting(chain, NODE, 80, 700)).toMatchObject({ direction: "right", layout: { width: 604 } });
  expect(fitting(chain, NODE, 80, 560)).toMatchObject({ direction: "right", layout: { width: 560 } });
  expect(fitting(chain, NODE, 80, 500).direction).toBe("down");
  expect(fitting(wide, NODE, 80, 300).direction).toBe("right");
});

test("a path goes over all its points", () => {
  expect(pathOf([[0, 0], [10, 20]], "right")).toBe("M0 0C5 0 5 20 10 20");
  expect(pathOf([[0, 0], [10, 20]], "down")).toBe("M0 0C0 10 10 10 10 20");
  expect(pathOf([], "right")).toBe("");
});
