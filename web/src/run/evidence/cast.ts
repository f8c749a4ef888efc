// A recording of a terminal (asciicast, version 3), parsed defensively: invalid lines are counted and skipped, and
// everything is bounded. Each line gives the seconds since the previous line; markers name events of the Log.

import { markOf } from "../../parts/visible.ts";

const HIDDEN = /[\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2064\u2066-\u2069\uFEFF\u{E0000}-\u{E007F}]/gu;

/** A larger recording is not played here. */
export const CAST_MOST = 64_000_000;
const LINES_MOST = 1_000_000;
/** No pause is longer than a day, and no recording than a year. */
const PAUSE_MOST = 86_400_000;
const LONGEST = 365 * PAUSE_MOST;

export interface Cast {
  readonly columns: number;
  readonly rows: number;
  /** When it begins, in milliseconds since 1970. */
  readonly begin: number;
  /** In milliseconds, as all times here. */
  readonly length: number;
  readonly outputs: readonly { readonly at: number; readonly text: string }[];
  readonly markers: readonly { readonly at: number; readonly seq: number; readonly type: string }[];
  /** Lines that could not be read. */
  readonly odd: number;
  /** There are more lines than are held. */
  readonly isCut: boolean;
}

/** The recording; `undefined` where its first line is not that of one. */
export function parseCast(text: string): Cast | undefined {
  const lines = linesOf(text);
  const head = parsed(lines.next().value ?? "");
  if (!isRecord(head) || head["version"] !== 3) return undefined;
  const term = isRecord(head["term"]) ? head["term"] : {};
  const outputs: { at: number; text: string }[] = [];
  const markers: { at: number; seq: number; type: string }[] = [];
  let [at, odd, count] = [0, 0, 0];
  let isCut = false;
  for (const line of lines) {
    if (line === "" || line.startsWith("#")) continue;
    count += 1;
    if (count > LINES_MOST) {
      isCut = true;
      break;
    }
    const [seconds, code, words] = listOf(parsed(line));
    if (typeof seconds !== "number" || !(seconds >= 0) || typeof code !== "string" || typeof words !== "string") {
      odd += 1;
      continue;
    }
    at = Math.min(at + Math.min(seconds * 1_000, PAUSE_MOST), LONGEST);
    if (code === "o") outputs.push({ at, text: words });
    const marker = code === "m" ? /^([1-9]\d{0,14}) ([\w.]{1,60})$/.exec(words) : null;
    if (marker) markers.push({ at, seq: Number(marker[1]), type: marker[2] ?? "" });
  }
  const begin = whole(head["timestamp"], 0, 1e11, 0) * 1_000;
  return { columns: whole(term["cols"], 1, 500, 80), rows: whole(term["rows"], 1, 200, 24), begin, length: at, outputs, markers, odd, isCut };
}

/** A moment of the recording, and when that was. */
export interface Anchor {
  readonly at: number;
  readonly real: number;
}

/** What ties recording and real time together: the events whose time is known. Never goes back. */
export function anchorsOf(cast: Cast, timeOf: (seq: number) => number | undefined): Anchor[] {
  const anchors: Anchor[] = [];
  for (const marker of cast.markers) {
    const real = timeOf(marker.seq);
    const last = anchors.at(-1);
    if (real === undefined || (last && real < last.real)) continue;
    // Of one moment, the first and the last say all.
    if (last?.at === marker.at && anchors.at(-2)?.at === marker.at) anchors.pop();
    anchors.push({ at: marker.at, real });
  }
  return anchors.length > 0 ? anchors : [{ at: 0, real: cast.begin }];
}

/** When a moment of the recording was. */
export function realOf(anchors: readonly Anchor[], at: number): number {
  return between(anchors, at, "at", "real");
}

/** Where in the recording a moment is; pauses are shortened there, so one place may be many moments. */
export function castOf(anchors: readonly Anchor[], real: number): number {
  return Math.max(0, between(anchors, real, "real", "at"));
}

function between(anchors: readonly Anchor[], value: number, from: keyof Anchor, to: keyof Anchor): number {
  let [low, high] = [0, anchors.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((anchors[middle]?.[from] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [anchors[low - 1], anchors[low]];
  // Outside of all anchors, both times pass equally fast.
  if (!before) return after ? after[to] - (after[from] - value) : value;
  if (!after) return before[to] + (value - before[from]);
  return before[to] + ((value - before[from]) / (after[from] - before[from])) * (after[to] - before[to]);
}

/** How many entries of a list in the order of time are at this moment or before. */
export function countUntil(list: readonly { readonly at: number }[], at: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.at ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What a terminal is given: marks of direction and characters without width are seen, all else is as it was. */
export function unhidden(text: string): string {
  return text.replace(HIDDEN, (character) => markOf(character.codePointAt(0) ?? 0));
}

function* linesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    yield text.slice(at, end < 0 ? text.length : end);
    if (end < 0) return;
    at = end + 1;
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function whole(value: unknown, least: number, most: number, otherwise: number): number {
  return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most ? value : otherwise;
}
