// The steps of a workflow, as they are counted, drawn and moved through.
import type { StepItemView, StepStanding, StepView } from "@skillrun/client";
import { type Box, type Direction, type Layout, type Shape, type Size, fitting, layoutOf } from "../links/layout.ts";

/** More nodes than these are not drawn: the list shows them. */
export const MOST_DRAWN = 500;
/** The number of small boxes in a node. */
export const MOST_BOXES = 18;

/** In the order in which counts are shown: what needs the user first. */
const ORDER = ["held_now", "asks", "failed", "timed_out", "held", "partial", "waits_for_quota", "running", "queued", "pending", "skipped", "cancelled", "ready"] as const satisfies readonly StepStanding[];

export interface Count {
  readonly standing: StepStanding;
  readonly n: number;
}

/** How many stand in each way, without those that do not occur. */
export function countsOf(all: readonly Pick<StepItemView, "standing">[]): readonly Count[] {
  const counts = new Map<StepStanding, number>();
  for (const { standing } of all) counts.set(standing, (counts.get(standing) ?? 0) + 1);
  return ORDER.flatMap((standing) => {
    const n = counts.get(standing) ?? 0;
    return n > 0 ? [{ standing, n }] : [];
  });
}

export function readyOf(all: readonly Pick<StepItemView, "standing">[]): number {
  return all.reduce((sum, { standing }) => sum + (standing === "ready" ? 1 : 0), 0);
}

/** The boxes of a step that repeats, and how many are left out. Where there are many, those that are not ready are shown. */
export function boxesOf(items: readonly StepItemView[], most: number): { readonly shown: readonly StepItemView[]; readonly left: number } {
  if (items.length <= most) return { shown: items, left: 0 };
  const first = items.filter(({ standing }) => standing !== "ready").slice(0, most);
  const rest = items.filter(({ standing }) => standing === "ready").slice(0, most - first.length);
  const shown = [...first, ...rest].sort((one, other) => one.item - other.item);
  return { shown, left: items.length - shown.length };
}

type Linked = Pick<StepView, "step_id" | "needs">;

/** A line for each need, without those that follow from others: what needs a step needs all that this one needs. */
export function shapeOf(steps: readonly Linked[]): Shape<undefined> {
  const place = new Map(steps.map(({ step_id: id }, index) => [id, index]));
  const needs = steps.map((step) => [...new Set(step.needs)].flatMap((id) => place.get(id) ?? []));
  const above = ancestors(needs);
  const edges = steps.flatMap(({ step_id: to }, index) => {
    const own = needs[index] ?? [];
    const implied = new Uint32Array(Math.ceil(steps.length / 32));
    // The need that closes a circle is above itself, so that it has no line either. The service refuses circles.
    for (const need of own) above[need]?.forEach((bits, word) => (implied[word]! |= bits));
    return own.filter((need) => !has(implied, need)).map((need) => ({ from: steps[need]?.step_id ?? "", to, label: undefined }));
  });
  return { nodes: steps.map(({ step_id: id }) => ({ id })), edges };
}

/** Of each step all that it needs, directly or not, as bits. In a circle, which the service refuses, some are missing. */
function ancestors(needs: readonly (readonly number[])[]): readonly Uint32Array[] {
  const sets = needs.map(() => new Uint32Array(Math.ceil(needs.length / 32)));
  const state = new Uint8Array(needs.length);
  // Without recursion: a chain may be as long as there are steps.
  for (let root = 0; root < needs.length; root += 1) {
    const stack = [root];
    for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
      const open = state[at] === 0 ? (needs[at] ?? []).filter((need) => state[need] === 0) : [];
      if (state[at] === 0) state[at] = 1;
      if (open.length > 0) {
        stack.push(...open);
        continue;
      }
      stack.pop();
      if (state[at] === 2) continue;
      state[at] = 2;
      const set = sets[at];
      for (const need of needs[at] ?? []) {
        sets[need]?.forEach((bits, word) => (set![word]! |= bits));
        set![need >>> 5]! |= 1 << (need & 31);
      }
    }
  }
  return sets;
}

function has(set: Uint32Array | undefined, index: number): boolean {
  return (((set?.[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1;
}

/** Where each step is drawn: one layer after the last of its needs, to the right where that fits, else downwards. */
export function drawingOf(steps: readonly Linked[], node: Size, least: number, width: number): { readonly layout: Layout<undefined>; readonly direction: Direction } {
  const shape = shapeOf(steps);
  const fit = fitting(shape, node, least, width);
  if (fit.direction === "right" || fit.layout.width <= width) return fit;
  // Downwards, nodes may be narrower too.
  const layers = new Map<number, number>();
  for (const { y } of fit.layout.boxes) layers.set(y, (layers.get(y) ?? 0) + 1);
  const room = Math.floor(node.width - (fit.layout.width - width) / Math.max(1, ...layers.values()));
  const narrower = room < least ? undefined : layoutOf(shape, { ...node, width: room }, "down");
  return narrower && narrower.width <= width ? { layout: narrower, direction: "down" } : fit;
}

/** The step to begin with, in a picture that is larger than its pane: the first that waits for the user, or else works. */
export function firstToSee(steps: readonly Pick<StepView, "step_id" | "standing">[]): string | undefined {
  const first = (...standings: StepStanding[]): string | undefined => steps.find(({ standing }) => standings.includes(standing))?.step_id;
  return first("held_now", "asks") ?? first("running", "waits_for_quota", "queued") ?? first("failed", "timed_out", "held", "partial");
}

const KEYS: Readonly<Record<string, readonly [number, number]>> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

/** Where a key leads from a node: to the nearest one in that direction; one that lies aside is farther. */
export function neighbour(boxes: readonly Box[], from: string, key: string): string | undefined {
  if (key === "Home") return boxes[0]?.id;
  if (key === "End") return boxes.at(-1)?.id;
  const [dx, dy] = KEYS[key] ?? [0, 0];
  const start = boxes.find(({ id }) => id === from);
  if (!start || (dx === 0 && dy === 0)) return undefined;
  let [found, distance]: [string | undefined, number] = [undefined, Infinity];
  for (const box of boxes) {
    const [x, y] = [box.x + box.width / 2 - start.x - start.width / 2, box.y + box.height / 2 - start.y - start.height / 2];
    const ahead = x * dx + y * dy;
    if (ahead <= 1) continue;
    const away = ahead + 2 * Math.abs(x * dy + y * dx);
    if (away < distance) [found, distance] = [box.id, away];
  }
  return found;
}

/** A step by its name; of one that repeats also the item, as the service writes it. */
export function stepName(step: string, item: number | null | undefined): string {
  return item === null || item === undefined ? step : `${step}[${item}]`;
}
