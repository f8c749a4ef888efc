// One row of bytes as pieces of text, each tied to the bytes it shows: from a character to its byte and back.
import { isHidden, markOf } from "../../parts/visible.ts";
import { PLAIN, type Style, sequenceAt } from "./ansi.ts";
import { ESCAPE, type Measure, type Part, bytesOf, characterAt } from "./bytes.ts";

/** How bytes are shown: with their colours, each as it is, or as numbers. */
export const VIEWS = ["rendered", "bytes", "hex"] as const;
export type View = (typeof VIEWS)[number];

/**
 * `text`: characters, which are these bytes. `sign`: something that stands for all of the bytes, empty where their effect
 * is seen instead. `hex`: three letters for each byte. `ascii`: one letter for each byte.
 */
export interface Piece {
  readonly kind: "text" | "sign" | "hex" | "ascii";
  readonly from: number;
  readonly to: number;
  readonly text: string;
  readonly style: Style;
  readonly isMarked: boolean;
}

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Control characters by their names; not every font has their pictures. */
const CONTROLS = ["NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "TAB", "LF", "VT", "FF", "CR", "SO", "SI", "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"].map((name) => `⟨${name}⟩`);
CONTROLS[0x09] = "⇥";
CONTROLS[0x0a] = "↵";
/** What stands for a sequence that a terminal would follow. */
const ESCAPED = CONTROLS[0x1b] ?? "";

/** The pieces of a row. Offsets are those of the file. */
export function piecesOf(part: Part, row: Range, view: View, style: Style, marks: readonly Range[]): Piece[] {
  switch (view) {
    case "rendered":
    case "bytes":
      return textPieces(part, row, view, style).flatMap((piece) => cutAtMarks(piece, marks));
    case "hex":
      return [...hexPieces(part, row, "hex"), ...hexPieces(part, row, "ascii")].flatMap((piece) => cutAtMarks(piece, marks));
  }
}

/** The byte that the letter at `index` of the text of a piece shows. */
export function byteOf(piece: Pick<Piece, "kind" | "from" | "text">, index: number): number {
  switch (piece.kind) {
    case "text":
      return piece.from + bytesOf(piece.text.slice(0, index));
    case "sign":
      return piece.from;
    case "hex":
      return piece.from + Math.floor(index / 3);
    case "ascii":
      return piece.from + index;
  }
}

/** Where in the text of a piece the byte is shown; of a character of several bytes, where that begins. */
export function indexOf(piece: Pick<Piece, "kind" | "from" | "text">, offset: number): number {
  switch (piece.kind) {
    case "text": {
      let [index, at] = [0, piece.from];
      for (const character of piece.text) {
        at += bytesOf(character);
        if (at > offset) return index;
        index += character.length;
      }
      return index;
    }
    case "sign":
      return 0;
    case "hex":
      return (offset - piece.from) * 3;
    case "ascii":
      return offset - piece.from;
  }
}

function textPieces({ base, bytes }: Part, row: Range, view: "rendered" | "bytes", begin: Style): Piece[] {
  const pieces: Piece[] = [];
  const end = row.to - base;
  let style = begin;
  let [text, textFrom] = ["", row.from - base];
  const add = (kind: Piece["kind"], from: number, to: number, shown: string): void => {
    pieces.push({ kind, from: base + from, to: base + to, text: shown, style, isMarked: false });
  };
  const flush = (to: number): void => {
    if (text) add("text", textFrom, to, text);
    text = "";
  };
  for (let at = row.from - base; at < end; ) {
    const sequence = view === "rendered" && bytes[at] === ESCAPE ? sequenceAt(bytes, at, end, style) : undefined;
    const { code, length } = characterAt(bytes, at, end);
    const to = sequence?.to ?? at + length;
    if (sequence || needsSign(code, view)) {
      flush(at);
      const shown = sequence ? (sequence.kind === "style" ? "" : ESCAPED) : signOf(bytes, at, end, code, view);
      add("sign", at, to, shown);
      if (sequence?.kind === "style") style = sequence.style;
    } else {
      if (!text) textFrom = at;
      text += String.fromCodePoint(code);
    }
    at = to;
  }
  flush(end);
  return pieces;
}

function needsSign(code: number, view: "rendered" | "bytes"): boolean {
  if (code === 0x09) return view === "bytes";
  return code < 0 || isHidden(code);
}

/** Empty for what is seen by where the next row begins. */
function signOf(bytes: Uint8Array, at: number, end: number, code: number, view: "rendered" | "bytes"): string {
  const isEnd = code === 0x0a || (code === 0x0d && bytes[at + 1] === 0x0a && at + 1 < end);
  if (isEnd && view === "rendered") return "";
  if (code < 0) return view === "rendered" ? "\ufffd" : `⟨${hex(bytes[at] ?? 0)}⟩`;
  return CONTROLS[code] ?? markOf(code);
}

/** How wide each view shows what stands at a place. Letters of East Asia, and pictures, are two wide. */
export function measureOf(view: "rendered" | "bytes"): Measure {
  return (bytes, at, end) => {
    const sequence = view === "rendered" && bytes[at] === ESCAPE ? sequenceAt(bytes, at, end, PLAIN) : undefined;
    if (sequence) return { length: sequence.to - at, cells: sequence.kind === "style" ? 0 : ESCAPED.length };
    const { code, length } = characterAt(bytes, at, end);
    if (code === 0x09 && view === "rendered") return { length, cells: 8 };
    const cells = needsSign(code, view) ? signOf(bytes, at, end, code, view).length : code >= 0x1100 ? 2 : 1;
    return { length, cells };
  };
}

function hexPieces({ base, bytes }: Part, row: Range, kind: "hex" | "ascii"): Piece[] {
  const values = [...bytes.subarray(row.from - base, row.to - base)];
  if (values.length === 0) return [];
  const letter = (byte: number): string => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·");
  const text = values.map((byte) => (kind === "hex" ? `${hex(byte)} ` : letter(byte))).join("");
  return [{ kind, from: row.from, to: row.to, text, style: PLAIN, isMarked: false }];
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, "0");
}

/** The piece in parts, so that each is in a mark or outside of all. A character that is partly in one is in it. */
function cutAtMarks(piece: Piece, marks: readonly Range[]): Piece[] {
  const touching = marks.filter((mark) => mark.from < piece.to && mark.to > piece.from);
  if (touching.length === 0) return [piece];
  if (piece.kind === "sign") return [{ ...piece, isMarked: true }];
  const parts: Piece[] = [];
  let [begin, at, index] = [piece.from, piece.from, 0];
  let beginIndex = 0;
  let was: boolean | undefined;
  const flush = (): void => {
    if (index > beginIndex) parts.push({ ...piece, from: begin, to: at, text: piece.text.slice(beginIndex, index), isMarked: was ?? false });
  };
  for (const [bytes, letters] of steps(piece)) {
    const is = touching.some((mark) => mark.from < at + bytes && mark.to > at);
    if (is !== was) {
      flush();
      [begin, beginIndex, was] = [at, index, is];
    }
    at += bytes;
    index += letters;
  }
  flush();
  return parts;
}

/** How many bytes, and how many letters of the text, each character of a piece is. */
function* steps(piece: Piece): Generator<[bytes: number, letters: number]> {
  if (piece.kind === "text") for (const character of piece.text) yield [bytesOf(character), character.length];
  else for (let offset = piece.from; offset < piece.to; offset += 1) yield [1, piece.kind === "hex" ? 3 : 1];
}
