// A part of a file as rows. A row is a half-open range of bytes; every byte is in one row, in order. A line ends behind
// its `\n`; a longer one than fits is several rows, cut between characters and not within a short escape sequence.

const NEWLINE = 0x0a;
const RETURN = 0x0d;
export const ESCAPE = 0x1b;
/** An escape sequence that begins so close to a cut goes to the next row as a whole. */
const ESCAPE_MOST = 32;

const ONE = { length: 1, cells: 1 };

/** Rows, given by the offsets in the file at which they begin and end. */
export interface Rows {
  readonly count: number;
  from(row: number): number;
  to(row: number): number;
  /** The row that has this byte; the nearest one where none has. */
  at(offset: number): number;
  /** Whether the row continues the line of the previous one. */
  isContinued(row: number): boolean;
}

/** Some bytes of a file, and where they begin in it. */
export interface Part {
  readonly base: number;
  readonly bytes: Uint8Array;
}

/** How many bytes what stands at a place is, and how many letters wide it is shown. */
export type Measure = (bytes: Uint8Array, at: number, end: number) => { length: number; cells: number };

/** The maximum width of a row in letters, as measured. */
export interface Wrap {
  readonly columns: number;
  readonly measure: Measure;
}

/** Rows of text, none with more than `most` bytes before its end of line, and none wider than it may be. */
export function textRows({ base, bytes }: Part, most: number, wrap?: Wrap): Rows {
  const ends: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, at);
    const end = newline < 0 ? bytes.length : newline + 1;
    const content = newline < 0 ? end : newline - (newline > at && bytes[newline - 1] === RETURN ? 1 : 0);
    while (at < content) {
      const hard = content - at > most ? cutBefore(bytes, at, at + most) : content;
      at = wrap ? wrapped(bytes, at, hard, wrap) : hard;
      if (at < content) ends.push(at);
    }
    ends.push(end);
    at = end;
  }
  const from = (row: number): number => base + (ends[row - 1] ?? 0);
  return {
    count: ends.length,
    from,
    to: (row) => base + (ends[row] ?? bytes.length),
    at: (offset) => {
      let [low, high] = [0, Math.max(0, ends.length - 1)];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (base + (ends[middle] ?? 0) > offset) high = middle;
        else low = middle + 1;
      }
      return low;
    },
    // The part begins with the start of a line, as far as is known.
    isContinued: (row) => row > 0 && bytes[from(row) - base - 1] !== NEWLINE,
  };
}

/** Rows of this many bytes each, whatever they are; rows begin at multiples of the width. */
export function hexRows({ base, bytes }: Part, width: number): Rows {
  const first = Math.floor(base / width);
  const end = base + bytes.length;
  const count = bytes.length === 0 ? 0 : Math.ceil(end / width) - first;
  return {
    count,
    from: (row) => Math.max(base, (first + row) * width),
    to: (row) => Math.min(end, (first + row + 1) * width),
    at: (offset) => Math.min(Math.max(0, Math.floor(offset / width) - first), Math.max(0, count - 1)),
    isContinued: () => false,
  };
}

/** One character: its number and its bytes. -1 for a byte that is none. */
export function characterAt(bytes: Uint8Array, at: number, end: number): { code: number; length: number } {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return { code: first, length: 1 };
  const length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length === 0 || first >= 0xf5 || at + length > end) return { code: -1, length: 1 };
  let code = first & (0xff >> (length + 1));
  for (let index = 1; index < length; index += 1) {
    const next = bytes[at + index] ?? 0;
    if ((next & 0xc0) !== 0x80) return { code: -1, length: 1 };
    code = (code << 6) | (next & 0x3f);
  }
  const isShortest = length === 2 || (length === 3 ? code >= 0x800 : code >= 0x10000);
  const isCharacter = isShortest && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? { code, length } : { code: -1, length: 1 };
}

/** How many bytes a text is as UTF-8. */
export function bytesOf(text: string): number {
  let count = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    count += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return count;
}

/** Where `needle` is next, from `start` on or back from it; -1 where it is not. */
export function find(bytes: Uint8Array, needle: Uint8Array, start: number, direction: 1 | -1): number {
  const first = needle[0];
  if (first === undefined) return -1;
  for (let at = start; at >= 0 && at + needle.length <= bytes.length; at += direction) {
    if (bytes[at] === first && needle.every((byte, index) => bytes[at + index] === byte)) return at;
  }
  return -1;
}

/** The place up to `end` where the row is as wide as it may be. One thing at least is in a row. */
function wrapped(bytes: Uint8Array, from: number, end: number, { columns, measure }: Wrap): number {
  let cells = 0;
  for (let at = from; at < end; ) {
    const byte = bytes[at] ?? 0;
    const thing = byte >= 0x20 && byte < 0x7f ? ONE : measure(bytes, at, end);
    cells += thing.cells;
    if (cells > columns && at > from) return at;
    at += thing.length;
  }
  return end;
}

/** The last place up to `cut` where a row may end. */
function cutBefore(bytes: Uint8Array, from: number, cut: number): number {
  for (let at = cut - 1; at > Math.max(from, cut - ESCAPE_MOST); at -= 1) {
    if (bytes[at] !== ESCAPE) continue;
    if (!isEnded(bytes, at, cut)) return at;
    break;
  }
  for (let back = 1; back <= 3 && cut - back > from; back += 1) {
    const { length } = characterAt(bytes, cut - back, bytes.length);
    if (length > back) return cut - back;
  }
  return cut;
}

function isEnded(bytes: Uint8Array, escape: number, cut: number): boolean {
  if (escape + 1 >= cut) return false;
  if (bytes[escape + 1] !== 0x5b) return true;
  for (let at = escape + 2; at < cut; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x20 || byte > 0x3f) return true;
  }
  return false;
}
