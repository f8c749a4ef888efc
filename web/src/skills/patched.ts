// The text an agent reads, line by line, with the parts that do not come from the skill marked.

/** As the service gives it. Lines are counted from 1. */
export interface Patched {
  readonly text: string;
  readonly added_from_line: number;
  readonly layers: readonly { readonly name: string; readonly origin: string; readonly from_line: number; readonly to_line: number }[];
}

export interface PatchedLine {
  readonly number: number;
  readonly text: string;
  readonly isAdded: boolean;
  /** The layer that begins with this line. */
  readonly begins: { readonly name: string; readonly isOperators: boolean } | undefined;
}

/** How much of one line is shown. */
export const MOST_OF_LINE = 4_000;

export function linesOf(patched: Patched): PatchedLine[] {
  const begins = new Map(patched.layers.map(({ name, origin, from_line }) => [from_line, { name, isOperators: origin !== "shipped" }]));
  const lines = patched.text.split(/\r?\n/);
  // What ends with a line end has no further line.
  if (lines.at(-1) === "") lines.pop();
  return lines.map((text, index) => {
    const number = index + 1;
    return { number, text, isAdded: number >= patched.added_from_line, begins: begins.get(number) };
  });
}
