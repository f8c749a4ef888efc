// The trees of long texts, kept for when their rows come back into view. Reading a text again gives the same tree.
import { parse } from "./parse.ts";
import type { Tree } from "./tree.ts";

const MOST_TREES = 40;
const MOST_CHARACTERS = 4_000_000;
/** What is shorter is read in a moment; texts that still grow are too, so that they push nothing out. */
const SHORT = 20_000;

export class Trees {
  /** The one that was asked for last is last. */
  private readonly kept = new Map<string, Tree>();
  private characters = 0;

  constructor(private readonly read: (text: string) => Tree) {}

  of(text: string): Tree {
    if (text.length <= SHORT || text.length > MOST_CHARACTERS) return this.read(text);
    const known = this.kept.get(text);
    const tree = known ?? this.read(text);
    if (known) this.kept.delete(text);
    else this.characters += text.length;
    this.kept.set(text, tree);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= MOST_TREES && this.characters <= MOST_CHARACTERS) break;
      this.kept.delete(oldest);
      this.characters -= oldest.length;
    }
    return tree;
  }
}

export const trees = new Trees(parse);
