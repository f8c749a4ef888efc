// A difference of two texts, as the service writes it: parts that begin with `@@`, and lines that begin with a sign.
// The lines themselves are untrusted text: a line that fits nowhere is kept and marked.

export type LineKind = "part" | "same" | "added" | "removed" | "odd";

export interface DiffLine {
  readonly kind: LineKind;
  /** Its number in the old text and in the new one, where it stands in them. */
  readonly before: number | undefined;
  readonly after: number | undefined;
  /** Without the sign. */
  readonly text: string;
  /** It is the last of its text, and nothing ends it. */
  readonly isUnended: boolean;
}

export interface TextDiff {
  readonly lines: readonly DiffLine[];
  readonly added: number;
  readonly removed: number;
  /** There is more, which was not read. */
  readonly isCut: boolean;
  /** Characters of the longest line, as far as lines are shown. */
  readonly longest: number;
}

/** The number of lines read. */
export const MOST_LINES = 50_000;
/** How much of a line is shown. */
export const MOST_OF_LINE = 2_000;

const PART = /^@@ -(\d{1,12})(?:,\d{1,12})? \+(\d{1,12})(?:,\d{1,12})? @@/;

export function parseDiff(diff: string, most: number = MOST_LINES): TextDiff {
  const lines: DiffLine[] = [];
  let [added, removed, longest] = [0, 0, 0];
  /** Where the next line stands in the old text and in the new one; unknown before the first part. */
  let next: { before: number; after: number } | undefined;
  let at = 0;
  while (at < diff.length) {
    const newline = diff.indexOf("\n", at);
    const end = newline < 0 ? diff.length : newline;
    const [sign, text] = [diff[at], diff.slice(at + 1, end)];
    const whole = diff.slice(at, end);
    if (sign === "\\") {
      const last = lines.at(-1);
      if (last) lines[lines.length - 1] = { ...last, isUnended: true };
      at = end + 1;
      continue;
    }
    if (lines.length >= most) break;
    const part = PART.exec(whole);
    longest = Math.max(longest, Math.min(whole.length, MOST_OF_LINE));
    if (part) {
      // A text without lines is said to begin at 0.
      next = { before: Math.max(1, Number(part[1])), after: Math.max(1, Number(part[2])) };
      lines.push(line("part", undefined, undefined, whole));
    } else if (next && sign === " ") {
      lines.push(line("same", next.before++, next.after++, text));
    } else if (next && sign === "-") {
      removed += 1;
      lines.push(line("removed", next.before++, undefined, text));
    } else if (next && sign === "+") {
      added += 1;
      lines.push(line("added", undefined, next.after++, text));
    } else {
      lines.push(line("odd", undefined, undefined, whole));
    }
    at = end + 1;
  }
  return { lines, added, removed, isCut: at < diff.length, longest };
}

function line(kind: LineKind, before: number | undefined, after: number | undefined, text: string): DiffLine {
  return { kind, before, after, text, isUnended: false };
}
