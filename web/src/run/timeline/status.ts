// The content of an event of the type `run.status`. The outline does not have it, so those in view are loaded.
import type { RaspEvent, RunStatus } from "@skillrun/client";
import { statusWord, statusWords } from "../../words/states.ts";
import { type Language, say } from "../../words/words.ts";
import { type Phase, phaseWords, words } from "./words.ts";

export type Said = { readonly status: RunStatus } | { readonly phase: Phase };

/** What the event says; nothing where this page does not know the word. */
export function saidOf({ event, data }: Pick<RaspEvent, "event" | "data">): Said | undefined {
  if (event.type !== "run.status" || typeof data !== "object" || data === null) return undefined;
  const { status, phase } = data as { status?: unknown; phase?: unknown };
  if (isKey(statusWords, status)) return { status };
  if (isKey(phaseWords, phase)) return { phase };
  return undefined;
}

function isKey<Table extends object>(table: Table, word: unknown): word is keyof Table {
  return typeof word === "string" && Object.hasOwn(table, word);
}

/** It as a row of the list has it. */
export function saidWords(language: Language, said: Said): string {
  return "status" in said
    ? say(language, words.statusIs, { what: say(language, statusWord(said.status, undefined)) })
    : say(language, words.phaseIs, { what: say(language, phaseWords[said.phase]) });
}

export interface Stretch {
  from: number;
  to: number;
}

/** The seqs, which are in order, as few stretches; what lies between two of them is asked for too where it is little. */
export function stretchesOf(seqs: readonly number[], between: number, most: number): Stretch[] {
  const stretches: Stretch[] = [];
  for (const seq of seqs) {
    const last = stretches.at(-1);
    if (last && seq - last.to <= between + 1) last.to = seq;
    else if (stretches.length === most) break;
    else stretches.push({ from: seq, to: seq });
  }
  return stretches;
}
