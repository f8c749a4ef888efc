// Which events are shown: by category, by how bad they are, by attempt, and by a piece of their type.
import { type Category, Outline } from "../outline.ts";

export interface Filter {
  /** Categories that are left out. */
  readonly off: ReadonlySet<Category>;
  /** 0 all, 1 warnings and errors, 2 errors. */
  readonly least: 0 | 1 | 2;
  readonly attempt: number | undefined;
  readonly text: string;
}

export const ALL: Filter = { off: new Set(), least: 0, attempt: undefined, text: "" };

export interface Shown {
  /** One per event of the outline: 1 where it is shown. */
  readonly mask: Uint8Array;
  /** Those that are shown, in order. */
  readonly seqs: Uint32Array;
}

export function shownOf(outline: Outline, filter: Filter): Shown {
  const text = filter.text.trim().toLowerCase();
  const wanted = Uint8Array.from(outline.names, (name, index) => {
    const category = outline.categories[index];
    return category !== undefined && !filter.off.has(category) && name.includes(text) ? 1 : 0;
  });
  const { length, types, levels, attempts } = outline;
  const mask = new Uint8Array(length);
  const seqs = new Uint32Array(length);
  let count = 0;
  for (let index = 0; index < length; index += 1) {
    if (wanted[types[index] ?? 0] === 0 || (levels[index] ?? 0) < filter.least) continue;
    if (filter.attempt !== undefined && attempts[index] !== filter.attempt) continue;
    mask[index] = 1;
    seqs[count] = index + 1;
    count += 1;
  }
  return { mask, seqs: seqs.subarray(0, count) };
}

/** Where a seq stands in the list; where it would stand, as a negative number, if it is not there. */
export function placeOf(seqs: Uint32Array, seq: number): number {
  let [low, high] = [0, seqs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((seqs[middle] ?? 0) < seq) low = middle + 1;
    else high = middle;
  }
  return seqs[low] === seq ? low : -low - 1;
}

/** The seq this many rows further; the nearest row if the selected event is not in the list. */
export function stepped(seqs: Uint32Array, seq: number | undefined, rows: number): number | undefined {
  if (seqs.length === 0) return undefined;
  const last = seqs.length - 1;
  const place = seq === undefined ? -1 : placeOf(seqs, seq);
  const to = place >= 0 ? place + rows : rows > 0 ? -place - 2 + rows : -place - 1 + rows;
  return seqs[seq === undefined ? (rows > 0 ? 0 : last) : Math.min(last, Math.max(0, to))];
}

export function toggled(off: ReadonlySet<Category>, category: Category): ReadonlySet<Category> {
  const next = new Set(off);
  if (!next.delete(category)) next.add(category);
  return next;
}
