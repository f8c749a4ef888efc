// The positions of the nodes of a graph: in columns from cause to effect, without overlaps, and without lines through
// nodes. If there is not enough width for the columns, they become rows from top to bottom.
import type { Label } from "./builder.ts";

/** What stands on a line, if anything does. */
interface Arrow<Mark> {
  readonly from: string;
  readonly to: string;
  readonly label: Mark;
}

/** A graph of any pane, as far as it matters where its nodes stand. */
export interface Shape<Mark> {
  readonly nodes: readonly { readonly id: string }[];
  readonly edges: readonly Arrow<Mark>[];
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Box extends Size {
  readonly id: string;
  readonly x: number;
  readonly y: number;
}

export interface Line<Mark = Label> extends Arrow<Mark> {
  /** From the edge of one node, between others, to the edge of the other. */
  readonly points: readonly (readonly [number, number])[];
}

export interface Layout<Mark = Label> extends Size {
  /** Column by column, from top to bottom. */
  readonly boxes: readonly Box[];
  readonly lines: readonly Line<Mark>[];
}

/** Which way effects lie. */
export type Direction = "right" | "down";

/** Between two columns, where the lines run and their words stand; and between two nodes of a column. */
const GAPS: Record<Direction, { readonly along: number; readonly across: number }> = {
  right: { along: 68, across: 14 },
  down: { along: 38, across: 20 },
};
/** A line that passes a column takes up this much of it. */
const PASS = 10;

/** Something in a column: a node, or a line that passes. */
interface Spot {
  readonly id: string;
  readonly height: number;
  y: number;
}

export function layoutOf<Mark>(graph: Shape<Mark>, node: Size, direction: Direction): Layout<Mark> {
  if (direction === "right") return laid(graph, node, GAPS.right);
  const { boxes, lines, width, height } = laid(graph, { width: node.height, height: node.width }, GAPS.down);
  return {
    boxes: boxes.map(({ id, x, y }) => ({ id, x: y, y: x, ...node })),
    lines: lines.map((line) => ({ ...line, points: line.points.map(([x, y]) => [y, x] as const) })),
    width: height,
    height: width,
  };
}

/** To the right where that fits, with narrower nodes if need be; else the way that is less wide. Up and down one scrolls anyway. */
export function fitting<Mark>(graph: Shape<Mark>, node: Size, least: number, width: number): { layout: Layout<Mark>; direction: Direction } {
  const columns = Math.max(1, new Set(laid(graph, node, GAPS.right).boxes.map((box) => box.x)).size);
  const room = Math.floor((width + GAPS.right.along) / columns - GAPS.right.along);
  const right = layoutOf(graph, { ...node, width: Math.min(node.width, Math.max(least, room)) }, "right");
  if (right.width <= width) return { layout: right, direction: "right" };
  const down = layoutOf(graph, node, "down");
  return down.width < right.width ? { layout: down, direction: "down" } : { layout: right, direction: "right" };
}

function laid<Mark>(graph: Shape<Mark>, node: Size, gap: { along: number; across: number }): Layout<Mark> {
  const columnOf = columns(graph);
  const spots: Spot[][] = [];
  for (const { id } of graph.nodes) (spots[columnOf.get(id) ?? 0] ??= []).push({ id, height: node.height, y: 0 });
  const chains = graph.edges.map((edge) => chain(edge, columnOf, spots));
  place(spots, chains, gap.across);

  const boxes: Box[] = [];
  const at = new Map<string, Spot>();
  const top = Math.min(...spots.flat().map((spot) => spot.y));
  const step = node.width + gap.along;
  spots.forEach((column, index) => {
    for (const spot of column) {
      spot.y -= top;
      at.set(spot.id, spot);
      if (columnOf.has(spot.id)) boxes.push({ id: spot.id, x: index * step, y: spot.y, ...node });
    }
  });
  const lines = graph.edges.map(({ from, to, label }, index): Line<Mark> => {
    const through = chains[index] ?? [];
    const first = columnOf.get(from) ?? 0;
    const points = through.flatMap((id, place): (readonly [number, number])[] => {
      const spot = at.get(id);
      if (!spot) return [];
      const [x, y] = [(first + place) * step, spot.y + spot.height / 2];
      if (place === 0) return [[x + node.width, y]];
      return place === through.length - 1 ? [[x, y]] : [[x, y], [x + node.width, y]];
    });
    return { from, to, label, points };
  });
  const height = Math.max(0, ...spots.flat().map((spot) => spot.y + spot.height));
  return { boxes, lines, width: Math.max(0, spots.length * step - gap.along), height };
}

/** Each node one column after the last of its causes. An edge against the order would make a circle and is passed over. */
function columns({ nodes, edges }: Shape<unknown>): Map<string, number> {
  const column = new Map(nodes.map(({ id }) => [id, 0]));
  // As many rounds as there can be columns, and no more, whatever the edges say.
  for (let round = 0; round < nodes.length; round += 1) {
    let isDone = true;
    for (const { from, to } of edges) {
      const least = (column.get(from) ?? 0) + 1;
      if ((column.get(to) ?? 0) >= least || least >= nodes.length) continue;
      column.set(to, least);
      isDone = false;
    }
    if (isDone) break;
  }
  return column;
}

/** The ids an edge leads over, with a spot of its own in every column it passes. */
function chain({ from, to }: Arrow<unknown>, columnOf: ReadonlyMap<string, number>, spots: Spot[][]): string[] {
  const [first, last] = [columnOf.get(from) ?? 0, columnOf.get(to) ?? 0];
  const ids = [from];
  for (let column = first + 1; column < last; column += 1) {
    const id = `pass ${from} ${to} ${column}`;
    (spots[column] ??= []).push({ id, height: PASS, y: 0 });
    ids.push(id);
  }
  return [...ids, to];
}

/** Column by column: each as high as what leads to it, in the order of that, and below the one before. */
function place(spots: readonly Spot[][], chains: readonly (readonly string[])[], gap: number): void {
  const causes = new Map<string, string[]>();
  for (const ids of chains) {
    for (let index = 1; index < ids.length; index += 1) {
      const [from, to] = [ids[index - 1] ?? "", ids[index] ?? ""];
      causes.set(to, [...(causes.get(to) ?? []), from]);
    }
  }
  const middle = new Map<string, number>();
  for (const column of spots) {
    const wish = new Map(column.map(({ id }) => {
      const known = (causes.get(id) ?? []).flatMap((cause) => middle.get(cause) ?? []);
      return [id, known.length === 0 ? 0 : known.reduce((sum, y) => sum + y, 0) / known.length];
    }));
    // Sorting keeps the order of what is equally high, so the same graph always looks the same.
    column.sort((one, other) => (wish.get(one.id) ?? 0) - (wish.get(other.id) ?? 0));
    const total = column.reduce((sum, spot) => sum + spot.height + gap, -gap);
    const mean = column.reduce((sum, spot) => sum + (wish.get(spot.id) ?? 0), 0) / Math.max(1, column.length);
    let y = mean - total / 2;
    for (const spot of column) {
      spot.y = y;
      y += spot.height + gap;
      middle.set(spot.id, spot.y + spot.height / 2);
    }
  }
}

/** The line as a path: soft between columns, straight through them. */
export function pathOf(points: Line<unknown>["points"], direction: Direction): string {
  const [start, ...rest] = points;
  if (!start) return "";
  let [x, y] = start;
  let path = `M${x} ${y}`;
  for (const [toX, toY] of rest) {
    const [midX, midY] = [(x + toX) / 2, (y + toY) / 2];
    path += direction === "right" ? `C${midX} ${y} ${midX} ${toY} ${toX} ${toY}` : `C${x} ${midY} ${toX} ${midY} ${toX} ${toY}`;
    [x, y] = [toX, toY];
  }
  return path;
}
