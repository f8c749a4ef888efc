// How much of a long message is on the page: its beginning, and more each time the user asks.
import type { Block, Tree } from "./tree.ts";

/** Nodes of the page, and characters of what is shown as it was written. */
const NODES = 300;
const CHARACTERS = 20_000;

export interface Shown {
  readonly blocks: readonly Block[];
  readonly rest: string;
  /** Characters of the rest that are not shown; 0 when all blocks and all characters are. */
  readonly left: number;
  readonly isAll: boolean;
}

/** The visible text after the user has asked for more this many times. */
export function shown(tree: Tree, asked: number): Shown {
  let [count, weight] = [0, 0];
  // The last block may be more than there is room for; one is always shown.
  while (count < tree.blocks.length && (count === 0 || weight + (tree.weights[count] ?? 1) <= NODES * (asked + 1))) {
    weight += tree.weights[count] ?? 1;
    count += 1;
  }
  const steps = asked + 1 - Math.max(1, Math.ceil(weight / NODES));
  const length = count < tree.blocks.length ? 0 : Math.min(tree.rest.length, CHARACTERS * (steps + 1));
  const left = tree.rest.length - length;
  return { blocks: tree.blocks.slice(0, count), rest: tree.rest.slice(0, length), left, isAll: count === tree.blocks.length && left === 0 };
}
