// Markdown to our tree, in bounded time and size: what agents write, and nothing that needs more than one look at a
// line. Beyond the bounds, what was written is shown as it is.
import { blockAt } from "./blocks.ts";
import { Budget } from "./budget.ts";
import { seen } from "./inline.ts";
import { pieces } from "./machine.ts";
import type { Block, Tree } from "./tree.ts";

export const MOST_CHARACTERS = 200_000;
export const MOST_NODES = 2_000;

export function parse(text: string): Tree {
  const all = pieces(text.replace(/\r\n?/g, "\n"));
  const [blocks, weights]: [Block[], number[]] = [[], []];
  const budget = new Budget(MOST_NODES);
  let [room, weighed] = [MOST_CHARACTERS, 0];
  const add = (block: Block): void => {
    blocks.push(block);
    weights.push(Math.max(1, budget.spent - weighed));
    weighed = budget.spent;
  };
  for (const [index, piece] of all.entries()) {
    // What is left: the end of one piece, and the pieces after it as they are.
    const rest = (over: string): string => seen([over, ...all.slice(index + 1).map((left) => left.text)].filter((left) => left !== "").join("\n"));
    if (budget.isSpent || room <= 0) return { blocks, weights, rest: rest(piece.text) };
    if (piece.is !== "people") {
      budget.spend();
      add({ is: "machine", what: piece.is, text: seen(piece.text) });
      continue;
    }
    const cut = cutAt(piece.text, room);
    room -= cut;
    const lines = piece.text.slice(0, cut).split("\n");
    for (let at = 0; ; ) {
      if (budget.isSpent) return { blocks, weights, rest: rest(lines.slice(at).join("\n") + piece.text.slice(cut)) };
      const read = blockAt(lines, at, budget);
      if (!read) break;
      add(read.block);
      at = read.next;
    }
    if (cut < piece.text.length) return { blocks, weights, rest: rest(piece.text.slice(cut)) };
  }
  return { blocks, weights, rest: "" };
}

/** Where to end so that no line is cut, if there is a line that ends near. */
function cutAt(text: string, most: number): number {
  if (text.length <= most) return text.length;
  const line = text.lastIndexOf("\n", most);
  return line > most / 2 ? line + 1 : most;
}
