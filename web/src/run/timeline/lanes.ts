// The lanes of the timeline, one per category that occurs, and how many events fall on each column of pixels.
import { CATEGORIES, type Category, Outline } from "../outline.ts";
import type { View } from "./scale.ts";

export interface Lane {
  readonly category: Category;
  /** How many events of the run are in it. */
  readonly count: number;
}

/** Not a lane: where a type has none. */
const NONE = 255;

export function lanesOf(outline: Outline): readonly Lane[] {
  const counts = new Uint32Array(256);
  const { length, types } = outline;
  for (let index = 0; index < length; index += 1) counts[types[index] ?? 0]! += 1;
  return CATEGORIES.flatMap((category) => {
    const count = outline.categories.reduce((sum, one, type) => (one === category ? sum + (counts[type] ?? 0) : sum), 0);
    return count > 0 ? [{ category, count }] : [];
  });
}

/** For each type its lane. */
export function laneOfTypes(outline: Outline, lanes: readonly Lane[]): Uint8Array {
  return Uint8Array.from(outline.categories, (category) => {
    const lane = lanes.findIndex((one) => one.category === category);
    return lane < 0 ? NONE : lane;
  });
}

export interface Bins {
  readonly columns: number;
  /** Lane by lane, column by column: how many events, and how bad the worst of them is. */
  readonly counts: Uint32Array;
  readonly worst: Uint8Array;
  /** Of each lane the fullest column. */
  readonly most: Uint32Array;
}

/** Counts what is shown. Times need not be in order, so each event is looked at, once. */
export function binned(outline: Outline, mask: Uint8Array, lanes: readonly Lane[], view: View, columns: number): Bins {
  const laneOf = laneOfTypes(outline, lanes);
  const counts = new Uint32Array(lanes.length * columns);
  const worst = new Uint8Array(lanes.length * columns);
  const most = new Uint32Array(lanes.length);
  const { at, types, levels } = outline;
  const scale = columns / (view.to - view.from);
  const from = view.from;
  const length = Math.min(outline.length, mask.length);
  for (let index = 0; index < length; index += 1) {
    if (mask[index] === 0) continue;
    const column = Math.floor((at[index]! - from) * scale);
    if (column < 0 || column >= columns) continue;
    const lane = laneOf[types[index]!]!;
    if (lane === NONE) continue;
    const place = lane * columns + column;
    const count = counts[place]! + 1;
    counts[place] = count;
    if (count > most[lane]!) most[lane] = count;
    if (levels[index]! > worst[place]!) worst[place] = levels[index]!;
  }
  return { columns, counts, worst, most };
}

/** The shown event nearest to a moment, in a lane or in any, not farther than `reach`; of equally near ones the worst. */
export function nearest(outline: Outline, mask: Uint8Array, lanes: readonly Lane[], lane: number | undefined, moment: number, reach: number): number | undefined {
  const laneOf = laneOfTypes(outline, lanes);
  const { at, types, levels } = outline;
  const length = Math.min(outline.length, mask.length);
  let [found, distance, level] = [-1, reach, -1];
  for (let index = 0; index < length; index += 1) {
    if (mask[index] === 0) continue;
    if (lane !== undefined && laneOf[types[index]!] !== lane) continue;
    const away = Math.abs(at[index]! - moment);
    if (away > distance || (away === distance && levels[index]! <= level)) continue;
    [found, distance, level] = [index, away, levels[index]!];
  }
  return found < 0 ? undefined : found + 1;
}
