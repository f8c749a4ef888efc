// Markdown to our tree, in bounded time and size: what agents write, and nothing that needs more than one look at a
// line. Beyond the bounds, what was written is shown as it is.
import { visibleText } from "../visible.ts";
import { blockAt } from "./blocks.ts";
import { Budget } from "./budget.ts";
import { pieces } from "./machine.ts";
import type { Block, Tree } from "./tree.ts";

export const MOST_CHARACTERS = 200_000;
export const MOST_NODES = 2_000;

export function parse(text: string): Tree {
  const whole = text.replace(/\r\n?/g, "\n");
  const [blocks, weights]: [Block[], number[]] = [[], []];
  const budget = new Budget(MOST_NODES);
  let [room, weighed] = [MOST_CHARACTERS, 0];
  const add = (block: Block): void => {
    blocks.push(block);
    weights.push(Math.max(1, budget.spent - weighed));
    weighed = budget.spent;
  };
  const before = (from: number): Tree => ({ blocks, weights, rest: visibleText(whole.slice(from)) });
  for (const piece of pieces(whole)) {
    if (budget.isSpent || room <= 0) return before(piece.from);
    if (piece.is !== "people") {
      // Half of a machine-readable block is useless to readers: it is folded as a whole, or shown as it is.
      if (piece.text.length > room) return before(piece.from);
      room -= piece.text.length;
      budget.spend();
      add({ is: "machine", what: piece.is, text: visibleText(piece.text) });
      continue;
    }
    const cut = cutAt(piece.text, room);
    room -= cut;
    const lines = piece.text.slice(0, cut).split("\n");
    for (let at = 0; at < lines.length; ) {
      if (budget.isSpent) return before(piece.from + cut - lines.slice(at).join("\n").length);
      const read = blockAt(lines, at, budget);
      if (!read) break;
      add(read.block);
      at = read.next;
    }
    if (cut < piece.text.length) return before(piece.from + cut);
  }
  return { blocks, weights, rest: "" };
}

/** Where to end so that no line is cut, if there is a line that ends near. */
function cutAt(text: string, most: number): number {
  if (text.length <= most) return text.length;
  const line = text.lastIndexOf("\n", most - 1);
  if (line > most / 2) return line + 1;
  return isSecondHalf(text.charCodeAt(most)) ? most - 1 : most;
}

/** Whether this is the second of two units that are one character. */
function isSecondHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
