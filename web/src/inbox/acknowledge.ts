// The word that a user types to acknowledge a risk, so that nothing dangerous happens by one careless click.
import type { AskOption } from "@skillrun/client";
import { visible } from "../parts/visible.ts";

export interface Acknowledgement {
  /** To be typed. */
  readonly word: string;
  /** What is sent then. */
  readonly sends: string;
  readonly label: string | undefined;
}

/** Longer ones, and such as cannot be typed, are known by their number. */
const LONGEST_WORD = 24;
const TYPEABLE = /^[\p{L}\p{N}][\p{L}\p{N} _.\-]*$/u;

/** One per option; the given word where there is none. */
export function acknowledgements(options: readonly AskOption[], word: string): readonly Acknowledgement[] {
  if (options.length === 0) return [{ word, sends: word, label: undefined }];
  const words = options.map(({ value }, index) => (isTypeable(value) ? value.trim() : String(index + 1)));
  const isClear = new Set(words.map(folded)).size === words.length;
  return options.map(({ value, label }, index) => ({ word: isClear ? (words[index] ?? "") : String(index + 1), sends: value, label }));
}

/** The one that was typed, however it was capitalised. */
export function acknowledged(offered: readonly Acknowledgement[], typed: string): Acknowledgement | undefined {
  return offered.find(({ word }) => folded(word) === folded(typed));
}

function isTypeable(value: string): boolean {
  const word = value.trim();
  // Some letters cannot be seen.
  return word.length <= LONGEST_WORD && TYPEABLE.test(word) && visible(word) === word;
}

function folded(word: string): string {
  return word.trim().replace(/\s+/g, " ").toLowerCase();
}
