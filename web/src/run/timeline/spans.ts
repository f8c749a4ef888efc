// The attempts of a run as pieces of time, and what is remarkable in them: silence, a stall, a timeout, a new attempt.
import type { Attempt } from "@skillrun/client";
import { Outline } from "../outline.ts";
import type { Bar } from "./bars.ts";

export interface Span {
  readonly number: number;
  readonly from: number;
  /** Undefined while it is in progress. */
  readonly to: number | undefined;
  /** The events that began and ended it. */
  readonly first: number;
  readonly last: number | undefined;
  /** How it ended, once the service has reported it. */
  readonly end: Attempt["ended"];
}

/** `silence`: no event for long. `stall` and `timeout`: that for which the attempt was ended, maybe of no length. */
export interface Band {
  readonly kind: "silence" | "stall" | "timeout";
  readonly from: number;
  readonly to: number;
  readonly attempt: number;
}

/** Why an attempt began that is not the first. */
export type Why = "answered" | "decided" | "again";

export interface Next {
  readonly at: number;
  readonly attempt: number;
  readonly why: Why;
}

const LEAST_SILENCE_MS = 10_000;
const SILENT_PART = 0.05;
const LEAST_PIECE_MS = 500;
/** The time that an engine has to exit after it is asked to. */
const ENDING_MS = 15_000;

export function spansOf(outline: Outline, attempts: readonly Attempt[]): readonly Span[] {
  const spans: { -readonly [Key in keyof Span]: Span[Key] }[] = [];
  const { length, types, at, names } = outline;
  const [started, ended] = [names.indexOf("attempt.started"), names.indexOf("attempt.ended")];
  for (let index = 0; index < length; index += 1) {
    const type = types[index] ?? 0;
    if (type !== started && type !== ended) continue;
    const [number, moment] = [outline.attempts[index] ?? 0, at[index] ?? 0];
    const open = spans.at(-1);
    if (type === started) {
      const end = attempts.find((attempt) => attempt.number === number)?.ended ?? null;
      spans.push({ number, from: moment, to: undefined, first: index + 1, last: undefined, end });
    } else if (open && open.number === number) {
      open.to = Math.max(open.from, moment);
      open.last = index + 1;
    }
  }
  return spans;
}

/** Pieces of an attempt without an event. Heartbeats are ours, and a question that waits explains itself. */
export function bandsOf(outline: Outline, spans: readonly Span[], bars: readonly Bar[], now: number): readonly Band[] {
  const questions = bars.filter((bar) => bar.kind === "question");
  return spans.flatMap((span) => {
    const end = span.to ?? Math.max(now, span.from);
    const least = Math.max(LEAST_SILENCE_MS, SILENT_PART * (end - span.from));
    const waits = (piece: Piece): boolean => questions.some((bar) => bar.from < piece.to && (bar.to ?? now) > piece.from);
    const quiet = quietOf(outline, span, end).filter((piece) => !waits(piece));
    const why = endedFor(span);
    const fatal = why && fatalOf(why, quiet, least, end);
    const silent = quiet.filter((piece) => piece.to - piece.from >= least && piece !== fatal);
    const bands: Band[] = silent.map((piece) => ({ kind: "silence", ...piece, attempt: span.number }));
    if (why && fatal) bands.push({ kind: why, ...fatal, attempt: span.number });
    return bands;
  });
}

interface Piece {
  readonly from: number;
  readonly to: number;
}

/** From each event of an attempt to the next. */
function quietOf(outline: Outline, span: Span, end: number): Piece[] {
  const pieces: Piece[] = [];
  const heartbeat = outline.names.indexOf("run.heartbeat");
  let last = span.from;
  const heard = (to: number): void => {
    // Shorter ones are useless, and there may be a hundred thousand.
    if (to - last >= LEAST_PIECE_MS) pieces.push({ from: last, to });
    last = Math.max(last, to);
  };
  const until = span.last ?? outline.length;
  for (let index = span.first; index < until; index += 1) {
    if (outline.attempts[index] === span.number && outline.types[index] !== heartbeat) heard(outline.at[index] ?? 0);
  }
  if (span.last === undefined) heard(end);
  return pieces;
}

/**
 * The piece for which an attempt was ended. A stall is the longest silence: a longer one would have ended it before.
 * Ending takes a moment, and events left open are reported then; so the silence before a timeout ends a little before
 * it.
 */
function fatalOf(why: "stall" | "timeout", quiet: readonly Piece[], least: number, end: number): Piece {
  const atEnd = { from: end, to: end };
  switch (why) {
    case "stall":
      return quiet.reduce<Piece>((longest, piece) => (piece.to - piece.from >= longest.to - longest.from ? piece : longest), atEnd);
    case "timeout": {
      const last = quiet.findLast((piece) => piece.to - piece.from >= least);
      return last && end - last.to <= ENDING_MS ? last : atEnd;
    }
  }
}

function endedFor(span: Span): "stall" | "timeout" | undefined {
  switch (span.end?.exit.ended_by) {
    case "stall":
      return "stall";
    case "hard_timeout":
    case "wait_timeout":
      return "timeout";
    default:
      return undefined;
  }
}

/** The beginnings of later attempts, and what made them begin. */
export function nextsOf(spans: readonly Span[], bars: readonly Bar[]): readonly Next[] {
  return spans.slice(1).map((span, index) => {
    const before = spans[index];
    const question = bars.findLast((bar) => bar.kind === "question" && bar.attempt === before?.number && bar.first < span.first);
    const why: Why = question?.ending === "decided" || question?.ending === "expired" ? "decided" : question?.ending === "answered" ? "answered" : "again";
    return { at: span.from, attempt: span.number, why };
  });
}
