// The positions of rows of different heights in a long list. Rows that were never drawn have an estimated height; when
// the real one is known, the rows being read stay in place.

/** Where each row begins, and after the last where all of them end. */
export type Offsets = Float64Array;

export interface Stretch {
  /** The first row that is drawn, and the one after the last. */
  readonly from: number;
  readonly to: number;
}

/** A row in view, and how far the top of the view is below its beginning. */
export interface Anchor {
  readonly key: string;
  readonly below: number;
}

export function offsetsOf(keys: readonly string[], known: ReadonlyMap<string, number>, guess: number): Offsets {
  const offsets = new Float64Array(keys.length + 1);
  let at = 0;
  for (const [index, key] of keys.entries()) {
    offsets[index] = at;
    at += known.get(key) ?? guess;
  }
  offsets[keys.length] = at;
  return offsets;
}

export function totalOf(offsets: Offsets): number {
  return offsets[offsets.length - 1] ?? 0;
}

/** The row at a distance from the beginning: the last one that begins there or before. */
export function rowAt(offsets: Offsets, distance: number): number {
  let [low, high] = [0, Math.max(0, offsets.length - 2)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((offsets[middle] ?? 0) <= distance) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The visible rows, and those within this many pixels around them. */
export function stretch(offsets: Offsets, top: number, height: number, around: number): Stretch {
  const count = offsets.length - 1;
  if (count <= 0) return { from: 0, to: 0 };
  return { from: rowAt(offsets, Math.max(0, top - around)), to: Math.min(count, rowAt(offsets, top + height + around) + 1) };
}

/** The rows in view, each with its position. If the first is removed later, the next one is the anchor. */
export function anchorsOf(keys: readonly string[], offsets: Offsets, top: number, height: number): Anchor[] {
  const { from, to } = stretch(offsets, top, height, 0);
  return keys.slice(from, to).map((key, index) => ({ key, below: top - (offsets[from + index] ?? 0) }));
}

/** Where to scroll so that what was read is where it was; nothing where none of it is left. */
export function held(anchors: readonly Anchor[], indexOf: (key: string) => number | undefined, offsets: Offsets): number | undefined {
  for (const { key, below } of anchors) {
    const index = indexOf(key);
    if (index !== undefined) return Math.max(0, (offsets[index] ?? 0) + below);
  }
  return undefined;
}

/** Where to scroll so that this much of the beginning of a row is above the bottom of the view; `top` if it is already. */
export function notBelow(offsets: Offsets, index: number, top: number, height: number, least: number): number {
  const [begin, end] = [offsets[index] ?? 0, offsets[index + 1] ?? 0];
  return Math.max(top, begin + Math.min(end - begin, least) - height);
}

/** Where to scroll so that a row can be seen: nowhere if it can, its beginning in view if it cannot. */
export function revealed(offsets: Offsets, index: number, top: number, height: number): number {
  const [begin, end] = [offsets[index] ?? 0, offsets[index + 1] ?? 0];
  if (begin >= top && end <= top + height) return top;
  // A row taller than what can be seen begins at the top.
  return Math.max(0, end - begin > height ? begin : begin - (height - (end - begin)) / 2);
}
