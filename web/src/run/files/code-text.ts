// Lines of program text and the like, ready to be shown: tabs stay, everything else that hides is made visible.
import { visible } from "../../parts/visible.ts";

/** One line, cut where it gets too long to be shown. */
export function codeLine(text: string, most: number): string {
  if (text.length <= most) return withTabs(text);
  // A character of two halves is not cut in the middle.
  const isHalf = /[\uD800-\uDBFF]$/.test(text.slice(0, most));
  return `${withTabs(text.slice(0, isHalf ? most - 1 : most))}…`;
}

/** Many lines. Both ways to end a line are one here. */
export function codeText(text: string): string {
  return text.split(/\r?\n/).map(withTabs).join("\n");
}

function withTabs(text: string): string {
  return text.split("\t").map(visible).join("\t");
}
