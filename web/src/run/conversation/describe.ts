// Rows in a few words: what a tool was given, how an attempt ended, what a strip holds, what became of a question.
import type { Attempt, Diagnosis, TurnProgress } from "@skillrun/client";
import { visibleLine } from "../../parts/visible.ts";
import { type AttemptEnd, endedByWords, turnWords } from "../../words/codes-gate.ts";
import { type Language, type Word, say } from "../../words/words.ts";
import { type Line, type RowOf, type WaitsFor, levelsOf } from "./rows.ts";
import { resolutionWords, words } from "./words.ts";

/** The states of a turn whose text is not an answer. */
export type BrokenTurn = Exclude<TurnProgress, "completed" | "open">;

const LONGEST_LINE = 160;
/** The maximum number of characters of an input or output on the page. */
export const LONGEST_TEXT = 20_000;

/** The beginning of a text on one line; where a line ended is seen. */
export function oneLine(text: string): string {
  return visibleLine(text.slice(0, LONGEST_LINE * 4).trim().replace(/\s*\n\s*/g, " ⏎ "), LONGEST_LINE);
}

/** What a tool was given, on one line: the text of it where there is one text only. */
export function inputLine(input: unknown): string {
  if (input === undefined || input === null) return "";
  if (typeof input === "string") return oneLine(input);
  const values = typeof input === "object" ? Object.values(input) : [];
  const only = values.length === 1 ? values[0] : undefined;
  return oneLine(typeof only === "string" ? only : json(input));
}

export function inputText(input: unknown): string {
  return typeof input === "string" ? input : json(input, 2);
}

function json(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent) ?? "";
}

/** The beginning of a text, and how much of it is left out. */
export function beginning(text: string): { text: string; left: number } {
  return { text: text.slice(0, LONGEST_TEXT), left: Math.max(0, text.length - LONGEST_TEXT) };
}

/** How an attempt ended, as text; nothing while it is in progress. A completed turn is not yet a run that succeeded. */
export function endingOf(language: Language, ended: AttemptEnd | null | undefined): string | undefined {
  if (!ended) return undefined;
  const by = ended.exit.ended_by;
  const turn = say(language, turnWords[ended.turn]);
  return by === null || by === "exited" ? turn : `${turn} · ${say(language, endedByWords[by])}`;
}

export function attemptOf(attempts: readonly Attempt[], number: number): Attempt | undefined {
  return attempts.find((attempt) => attempt.number === number);
}

/** Why the text of a message is not an answer: the state of its turn; undefined if the turn has completed or may still.
    The service reports the turn too, where the window does not have its end. */
export function brokenBy({ attempt, turn }: Pick<RowOf<"message">, "attempt" | "turn">, attempts: readonly Attempt[]): BrokenTurn | undefined {
  const state = turn === undefined || turn === "open" ? attemptOf(attempts, attempt)?.ended?.turn : turn;
  return state === undefined || state === "completed" ? undefined : state;
}

/** Whether a run waits for the next prompt and not for an answer, in a row that may not say it. */
export function isForPrompt(waitsFor: WaitsFor, mode: string | null | undefined): boolean {
  return waitsFor === undefined ? mode === "conversation" : waitsFor === "prompt";
}

/** What a strip holds, counted by kind. */
export function stripParts(lines: readonly Line[]): { word: Word; n: number }[] {
  const count = (is: (line: Line) => boolean): number => lines.reduce((sum, line) => sum + (is(line) ? line.count : 0), 0);
  return [
    { word: words.rawLines, n: count(({ kind }) => kind === "stdout" || kind === "unknown") },
    { word: words.stderrLines, n: count(({ kind }) => kind === "stderr") },
    { word: words.guesses, n: count(({ kind }) => kind === "guess") },
    { word: words.observed, n: count(({ kind }) => kind === "subagent") },
    { word: words.notes, n: count(({ kind }) => kind === "diagnostic") },
  ].filter(({ n }) => n > 0);
}

export function worstOf(lines: readonly Line[]): { errors: number; warnings: number } {
  const levels = levelsOf(lines);
  return { errors: levels.error, warnings: levels.warning };
}

export type QuestionState = "open" | "answered" | "timed_out" | "closed" | "unknown";

/** What became of a question, with a text for it. The service reports it; the window may not have the answer yet. */
export function questionState(interaction: number, open: number | undefined, diagnosis: Diagnosis | undefined): { is: QuestionState; word?: Word } {
  if (open === interaction) return { is: "open", word: words.waits };
  const told = diagnosis?.questions.find((question) => question.interaction_id === interaction)?.resolution;
  switch (told?.is) {
    case undefined:
    case "open":
      return { is: "unknown" };
    case "answered":
      return { is: "answered", word: resolutionWords[told.mode] };
    case "timed_out":
      return { is: "timed_out", word: words.timedOut };
    case "closed":
      return { is: "closed", word: words.closed };
  }
}

export function endWord(state: RowOf<"end">["state"]): Word {
  switch (state) {
    case "succeeded":
      return words.endSucceeded;
    case "closed":
      return words.endClosed;
    case "failed":
      return words.endFailed;
    case "canceled":
      return words.endCanceled;
    case "queued":
    case "running":
    case "waiting_user":
      return words.endOther;
  }
}
