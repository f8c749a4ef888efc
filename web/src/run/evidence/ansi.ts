// Escape sequences in what an engine wrote. Only colours and the weight of letters are followed; nothing is ever done or
// linked. Colours become those of the page, eight of them, so that no text can hide in its background.
import { ESCAPE } from "./bytes.ts";

/** How letters look, packed: 4 bits colour, 4 bits background (0 for none, else 1 to 8), then one bit each. */
export type Style = number;
export const PLAIN: Style = 0;
const BOLD = 1 << 8;
const DIM = 1 << 9;
const ITALIC = 1 << 10;
const UNDERLINE = 1 << 11;
const INVERSE = 1 << 12;

/** Longest sequence that is taken as one; what has no end by then is text. */
const SEQUENCE_MOST = 4096;
/** Most numbers of one sequence that are looked at. */
const NUMBERS_MOST = 32;

export type Sequence = { kind: "style"; to: number; style: Style } | { kind: "other"; to: number };

/** The sequence that begins at an escape, if it ends before `end`. `style` is what held before it. */
export function sequenceAt(bytes: Uint8Array, at: number, end: number, style: Style): Sequence | undefined {
  const limit = Math.min(end, at + SEQUENCE_MOST);
  const kind = bytes[at + 1];
  if (bytes[at] !== ESCAPE || kind === undefined || at + 1 >= limit) return undefined;
  switch (kind) {
    case 0x5b:
      return controlSequence(bytes, at + 2, limit, style);
    // The strings of terminals: titles, links, the clipboard, and what vendors thought of.
    case 0x5d: case 0x50: case 0x58: case 0x5e: case 0x5f:
      return stringSequence(bytes, at + 2, limit);
    default: {
      let to = at + 1;
      while (to < limit && isIn(bytes[to], 0x20, 0x2f)) to += 1;
      return to < limit && isIn(bytes[to], 0x30, 0x7e) ? { kind: "other", to: to + 1 } : undefined;
    }
  }
}

/** What holds at the beginning of each row, if nothing held at the beginning of the first. */
export function stylesOfRows(bytes: Uint8Array, rowEnds: Iterable<number>): Uint16Array {
  const styles: number[] = [PLAIN];
  let style = PLAIN;
  let escape = bytes.indexOf(ESCAPE);
  for (const end of rowEnds) {
    while (escape >= 0 && escape < end) {
      const sequence = sequenceAt(bytes, escape, end, style);
      if (sequence?.kind === "style") style = sequence.style;
      escape = bytes.indexOf(ESCAPE, sequence?.to ?? escape + 1);
    }
    styles.push(style);
  }
  return Uint16Array.from(styles);
}

/** The names of classes for a style. */
export function classesOf(style: Style): string {
  if (style === PLAIN) return "";
  const isInverse = (style & INVERSE) !== 0;
  const [ink, ground] = [style & 0xf, (style >> 4) & 0xf];
  const names: string[] = [];
  // On a coloured ground the ink stays the page's, so that it can be read.
  const shownGround = isInverse ? ink || 8 : ground;
  if (shownGround > 0) names.push(`ground-${shownGround}`);
  else if (ink > 0) names.push(`ink-${ink}`);
  else if (style & DIM) names.push("dim");
  if (style & BOLD) names.push("bold");
  if (style & ITALIC) names.push("italic");
  if (style & UNDERLINE) names.push("underline");
  return names.join(" ");
}

function controlSequence(bytes: Uint8Array, from: number, limit: number, style: Style): Sequence | undefined {
  let to = from;
  while (to < limit && isIn(bytes[to], 0x20, 0x3f)) to += 1;
  if (to >= limit || !isIn(bytes[to], 0x40, 0x7e)) return undefined;
  const words = String.fromCharCode(...bytes.subarray(from, Math.min(to, from + 8 * NUMBERS_MOST)));
  const isStyle = bytes[to] === 0x6d && /^[\d;:]*$/.test(words);
  return isStyle ? { kind: "style", to: to + 1, style: applied(style, words) } : { kind: "other", to: to + 1 };
}

function stringSequence(bytes: Uint8Array, from: number, limit: number): Sequence | undefined {
  for (let at = from; at < limit; at += 1) {
    if (bytes[at] === 0x07) return { kind: "other", to: at + 1 };
    if (bytes[at] === ESCAPE) return at + 1 < limit && bytes[at + 1] === 0x5c ? { kind: "other", to: at + 2 } : undefined;
  }
  return undefined;
}

function applied(before: Style, words: string): Style {
  // `38:2::1:2:3` and `38;2;1;2;3` say the same; the first has an empty place more.
  const numbers = words.replace(/([34]8:2):\d*:(\d*:\d*:\d*)/g, "$1:$2").split(/[;:]/).slice(0, NUMBERS_MOST).map(Number);
  if (/^4:0$/.test(words)) return before & ~UNDERLINE;
  let style = before;
  for (let index = 0; index < numbers.length; index += 1) {
    const number = numbers[index] ?? 0;
    if (number === 38 || number === 48) {
      const [colour, used] = longColour(numbers, index + 1);
      style = number === 38 ? ink(style, colour) : ground(style, colour);
      index += used;
    } else {
      style = one(style, number);
    }
  }
  return style;
}

function one(style: Style, number: number): Style {
  if (isIn(number, 30, 37)) return ink(style, number - 29);
  if (isIn(number, 40, 47)) return ground(style, number - 39);
  if (isIn(number, 90, 97)) return ink(style, number - 89);
  if (isIn(number, 100, 107)) return ground(style, number - 99);
  switch (number) {
    case 0: return PLAIN;
    case 1: return style | BOLD;
    case 2: return style | DIM;
    case 3: return style | ITALIC;
    case 4: case 21: return style | UNDERLINE;
    case 7: return style | INVERSE;
    case 22: return style & ~(BOLD | DIM);
    case 23: return style & ~ITALIC;
    case 24: return style & ~UNDERLINE;
    case 27: return style & ~INVERSE;
    case 39: return ink(style, 0);
    case 49: return ground(style, 0);
    // Blinking, hiding and the rest: what was written can be read.
    default: return style;
  }
}

/** The colour behind a 38 or 48, and how many numbers it took. */
function longColour(numbers: readonly number[], at: number): [colour: number, used: number] {
  const [kind, first = 0, second = 0, third = 0] = numbers.slice(at, at + 4);
  if (kind === 2) return [nearest(first, second, third), 4];
  if (kind !== 5) return [0, 0];
  if (first < 16) return [(first % 8) + 1, 2];
  if (first >= 232) return [first < 244 ? 1 : 8, 2];
  const cube = first - 16;
  const level = (step: number): number => step * 51;
  return [nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)), 2];
}

function nearest(red: number, green: number, blue: number): number {
  const [low, high] = [Math.min(red, green, blue), Math.max(red, green, blue)];
  if (high - low < 48) return high < 128 ? 1 : 8;
  const middle = (low + high) / 2;
  return 1 + (red > middle ? 1 : 0) + (green > middle ? 2 : 0) + (blue > middle ? 4 : 0);
}

function ink(style: Style, colour: number): Style {
  return (style & ~0xf) | colour;
}

function ground(style: Style, colour: number): Style {
  return (style & ~0xf0) | (colour << 4);
}

function isIn(number: number | undefined, from: number, to: number): boolean {
  return number !== undefined && number >= from && number <= to;
}
