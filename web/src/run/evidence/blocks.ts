// Which bytes of a file are here: blocks of one size, a bounded number of them, and the part of the file that is shown.
import type { Part } from "./bytes.ts";

export const BLOCK = 64 * 1024;
/** Blocks that are kept; the one that was not looked at for longest goes first. */
const KEPT = 64;
/** Blocks that are shown at once. A smaller file is shown as a whole, a larger one through a window that slides. */
export const SHOWN = 8;

export interface Window {
  readonly from: number;
  readonly to: number;
}

/** The window that has this byte near its middle. It begins at a block. */
export function windowAround(offset: number, size: number): Window {
  const blocks = Math.max(1, Math.ceil(size / BLOCK));
  const wanted = Math.floor(offset / BLOCK) - SHOWN / 2 + 1;
  const first = Math.max(0, Math.min(wanted, blocks - SHOWN));
  return { from: first * BLOCK, to: Math.min(size, (first + SHOWN) * BLOCK) };
}

/** The window half of itself further on; the same one at the ends of the file. */
export function slid(window: Window, direction: 1 | -1, size: number): Window {
  const step = (SHOWN / 2) * BLOCK;
  const last = Math.max(0, Math.ceil(size / BLOCK) - SHOWN) * BLOCK;
  const from = Math.max(0, Math.min(window.from + direction * step, last));
  return { from, to: Math.min(size, from + SHOWN * BLOCK) };
}

export class Blocks {
  private readonly kept = new Map<number, Uint8Array>();

  /** Puts bytes away that begin at a block. */
  put(from: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += BLOCK) {
      const number = (from + at) / BLOCK;
      this.kept.delete(number);
      this.kept.set(number, bytes.slice(at, at + BLOCK));
    }
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= KEPT) return;
      this.kept.delete(oldest);
    }
  }

  /** The ranges to ask for, so that all of the window is here: neighbours in one. */
  missing(window: Window): Window[] {
    const ranges: { from: number; to: number }[] = [];
    for (let from = Math.floor(window.from / BLOCK) * BLOCK; from < window.to; from += BLOCK) {
      const to = Math.min(from + BLOCK, window.to);
      if ((this.kept.get(from / BLOCK)?.length ?? 0) >= to - from) continue;
      const last = ranges.at(-1);
      if (last?.to === from) last.to = to;
      else ranges.push({ from, to });
    }
    return ranges;
  }

  /** The bytes of the window, as far as they are here without a gap. */
  part(window: Window): Part {
    const bytes = new Uint8Array(Math.max(0, window.to - window.from));
    let length = 0;
    for (let at = window.from; at < window.to; ) {
      const number = Math.floor(at / BLOCK);
      const block = this.kept.get(number)?.subarray(at - number * BLOCK, window.to - number * BLOCK);
      if (!block || block.length === 0) break;
      this.touch(number);
      bytes.set(block, length);
      length += block.length;
      at += block.length;
      if (at < window.to && at % BLOCK !== 0) break;
    }
    return { base: window.from, bytes: bytes.subarray(0, length) };
  }

  private touch(number: number): void {
    const block = this.kept.get(number);
    if (!block) return;
    this.kept.delete(number);
    this.kept.set(number, block);
  }
}

/** The part from the last beginning of a line that is at most `lead` bytes in; else from the first whole character there. */
export function fromLine(part: Part, lead: number): Part {
  if (lead === 0) return part;
  const newline = part.bytes.subarray(0, lead).lastIndexOf(0x0a);
  let begin = newline < 0 ? lead : newline + 1;
  for (let skipped = 0; newline < 0 && skipped < 3 && ((part.bytes[begin] ?? 0) & 0xc0) === 0x80; skipped += 1) begin += 1;
  return { base: part.base + begin, bytes: part.bytes.subarray(begin) };
}
