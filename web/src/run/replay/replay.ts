// What a model would see again of a run, as the pane shows it.
import type { Replay } from "@skillrun/client";

export type ReplayTurn = Replay["turns"][number];
export type ReplayItem = ReplayTurn["items"][number];
export type LeftOut = Replay["left_out"][number]["reason"];
export type NoticeKind = Replay["notices"][number]["kind"];

/** Neutral items, or one of the dialects of the service. */
export const DIALECTS = ["items", "text", "anthropic-messages", "openai-responses", "openai-chat"] as const;
export type Dialect = (typeof DIALECTS)[number];

/** The most items, and the most characters of a rendering, that are on the page at once. */
export const MOST_ITEMS = 200;
export const MOST_TEXT = 200_000;

/** The last turns that have at most `most` items together, at least one turn; and the number of turns before them. */
export function lastTurns(turns: readonly ReplayTurn[], most: number): { turns: readonly ReplayTurn[]; before: number } {
  let items = 0;
  let from = turns.length;
  while (from > 0) {
    items += turns[from - 1]?.items.length ?? 0;
    if (items > most && from < turns.length) break;
    from -= 1;
  }
  return { turns: turns.slice(from), before: from };
}

/** A rendering as text: a text as it is, a request to an API as JSON. */
export function renderedText(rendered: unknown): string {
  return typeof rendered === "string" ? rendered : (JSON.stringify(rendered, undefined, 2) ?? "");
}

/** The text of an item. */
export function textOf(item: ReplayItem): string {
  switch (item.type) {
    case "user":
    case "agent":
    case "child":
      return item.text;
    case "tool_call":
      return item.input === undefined ? "" : renderedText(item.input);
    case "tool_result":
      return item.output;
  }
}
