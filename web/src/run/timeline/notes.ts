// Short labels over the lanes for notable moments. If there is no space for all, the more serious ones are kept.
import { type View, xOf } from "./scale.ts";
import type { Band, Next } from "./spans.ts";

export type NoteKind = Band["kind"] | "next" | "waits";

export interface Note {
  readonly kind: NoteKind;
  readonly at: number;
  /** It may stand anywhere from its beginning to here. */
  readonly until: number;
  readonly text: string;
}

export interface Placed extends Note {
  /** The left edge of the text, and its width. */
  readonly x: number;
  readonly width: number;
}

const RANK: Record<NoteKind, number> = { timeout: 0, stall: 0, waits: 1, next: 2, silence: 3 };
const APART = 8;
/** The number considered: a run with more silences than this shows them only as bands. */
const MOST = 400;

/** A question that waits still. */
export interface Waits {
  readonly kind: "waits";
  readonly from: number;
  readonly to: number;
}

export function notesOf(bands: readonly (Band | Waits)[], nexts: readonly Next[], say: (of: Band | Waits | Next) => string): readonly Note[] {
  return [
    ...bands.map((band): Note => ({ kind: band.kind, at: band.from, until: band.to, text: say(band) })),
    ...nexts.map((next): Note => ({ kind: "next", at: next.at, until: next.at, text: say(next) })),
  ];
}

/** Where the notes stand. None is cut off at an edge, and none stands on another. */
export function placed(notes: readonly Note[], view: View, width: number, measured: (text: string) => number): readonly Placed[] {
  const inView = notes.filter((note) => note.until >= view.from && note.at <= view.to);
  const graver = [...inView].sort((one, other) => RANK[one.kind] - RANK[other.kind] || one.at - other.at).slice(0, MOST);
  const taken: Placed[] = [];
  for (const note of graver) {
    const length = measured(note.text);
    const x = room(taken, xOf(view, width, note.at), xOf(view, width, note.until), length, width);
    if (x !== undefined) taken.push({ ...note, x, width: length });
  }
  return taken;
}

/** The first free place from the beginning on; a text longer than its piece of time may reach beyond it. */
function room(taken: readonly Placed[], from: number, until: number, length: number, width: number): number | undefined {
  if (length > width) return undefined;
  const inside = (x: number): number => Math.max(0, Math.min(x, width - length));
  let x = inside(from);
  for (;;) {
    const other = taken.find((one) => x < one.x + one.width + APART && one.x < x + length + APART);
    if (!other) return x;
    const next = inside(other.x + other.width + APART);
    if (next <= x || next + length > until) return undefined;
    x = next;
  }
}
