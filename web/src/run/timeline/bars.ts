// What lasts: tool calls from their start to their end, questions from being asked to being answered.
import type { RaspType } from "@skillrun/client";
import { Outline } from "../outline.ts";

/** How it ended. `open`: it did not, as far as the service reported. `expired`: the time for an answer was over. */
export type Ending = "done" | "failed" | "open" | "answered" | "decided" | "expired";

export interface Bar {
  readonly kind: "tool" | "question";
  readonly from: number;
  /** Undefined while it is in progress. */
  readonly to: number | undefined;
  readonly first: number;
  /** The event that ended it. */
  readonly last: number | undefined;
  readonly ending: Ending;
  readonly attempt: number;
  /** Bars of one kind that overlap lie in different rows, as long as there are rows. */
  readonly row: number;
}

export const ROWS = 3;

type Draft = { -readonly [Key in keyof Bar]: Bar[Key] };

/** All bars, in the order of their beginnings in the Log. Ids of calls may come again in a later attempt: a start begins a new bar. */
export function barsOf(outline: Outline): readonly Bar[] {
  const bars: Draft[] = [];
  // By the number of the group, which calls and questions do not share.
  const open = new Map<number, Draft>();
  const { length, types, at, groupOf, attempts, names } = outline;
  const matters = names.map((name) => MATTERS.has(name));

  const begin = (kind: Bar["kind"], group: number, index: number): Draft => {
    const bar: Draft = { kind, from: at[index] ?? 0, to: undefined, first: index + 1, last: undefined, ending: "open", attempt: attempts[index] ?? 0, row: 0 };
    bars.push(bar);
    if (group !== 0) open.set(group, bar);
    return bar;
  };
  const end = (kind: Bar["kind"], index: number, ending: Ending, isLast: boolean): void => {
    const group = groupOf[index] ?? 0;
    // An end without a beginning is a bar of one moment.
    const bar = open.get(group) ?? begin(kind, group, index);
    bar.to = Math.max(bar.from, at[index] ?? 0);
    bar.last = index + 1;
    bar.ending = bar.ending === "decided" && ending === "answered" ? "decided" : ending;
    if (isLast) open.delete(group);
  };
  /** Whatever did not end by itself is over with what it is part of. */
  const close = (moment: number, isOver: (bar: Draft) => boolean): void => {
    for (const [group, bar] of open) {
      if (!isOver(bar)) continue;
      bar.to ??= Math.max(bar.from, moment);
      open.delete(group);
    }
  };

  for (let index = 0; index < length; index += 1) {
    const type = types[index] ?? 0;
    if (!matters[type]) continue;
    const moment = at[index] ?? 0;
    const group = groupOf[index] ?? 0;
    switch (names[type]) {
      case "tool.call.started": {
        const before = open.get(group);
        if (before) before.to ??= Math.max(before.from, moment);
        begin("tool", group, index);
        break;
      }
      case "tool.call.completed":
        end("tool", index, "done", true);
        break;
      case "tool.call.failed":
        end("tool", index, "failed", true);
        break;
      case "interaction.requested":
        begin("question", group, index);
        break;
      case "interaction.timeout":
        end("question", index, "expired", false);
        break;
      case "interaction.auto_decision":
        end("question", index, "decided", false);
        break;
      case "interaction.replied":
        end("question", index, "answered", true);
        break;
      case "attempt.ended": {
        const attempt = attempts[index];
        close(moment, (bar) => bar.kind === "tool" && bar.attempt === attempt);
        break;
      }
      case "run.completed":
      case "run.failed":
      case "run.canceled":
        close(moment, () => true);
        break;
    }
  }
  stack(bars);
  return bars;
}

const MATTERS: ReadonlySet<RaspType> = new Set<RaspType>([
  "tool.call.started", "tool.call.completed", "tool.call.failed",
  "interaction.requested", "interaction.timeout", "interaction.auto_decision", "interaction.replied",
  "attempt.ended", "run.completed", "run.failed", "run.canceled",
]);

/** Gives each bar the first row that is free where it begins; the last row where none is. */
function stack(bars: readonly Draft[]): void {
  const free = { tool: new Array<number>(ROWS).fill(-Infinity), question: new Array<number>(ROWS).fill(-Infinity) };
  for (const bar of bars) {
    const rows = free[bar.kind];
    const row = rows.findIndex((until) => until <= bar.from);
    bar.row = row < 0 ? ROWS - 1 : row;
    rows[bar.row] = Math.max(rows[bar.row] ?? 0, bar.to ?? Infinity);
  }
}

/** The event that a click on a bar means: its end near its end, else its beginning. */
export function barAt(bars: readonly Bar[], kind: Bar["kind"], row: number | undefined, moment: number, now: number, reach: number): number | undefined {
  for (let index = bars.length - 1; index >= 0; index -= 1) {
    const bar = bars[index];
    if (!bar || bar.kind !== kind || (row !== undefined && bar.row !== row)) continue;
    const to = bar.to ?? now;
    if (moment < bar.from - reach || moment > to + reach) continue;
    const isNearEnd = bar.last !== undefined && Math.abs(moment - to) < Math.abs(moment - bar.from) && Math.abs(moment - to) <= reach;
    return isNearEnd ? bar.last : bar.first;
  }
  return undefined;
}
