// The list of waiting questions: their order, and how it changes when questions come and go. A form in which a user is
// writing an answer is kept, and keeps its place.
import type { WaitingRun } from "@skillrun/client";
import type { Late } from "./late.ts";

export interface Entry {
  /** Of the run and the question. */
  readonly key: string;
  readonly waiting: WaitingRun;
  /** Since when it is not open any more. */
  readonly goneAt: number | undefined;
  /** What became of it, once that is known. */
  readonly late: Late | undefined;
  /** It was answered on this page. */
  readonly isMine: boolean;
}

export interface Surroundings {
  readonly now: number;
  /** Keys of questions that the user of this page is answering. */
  readonly held: ReadonlySet<string>;
  /** When the run asked, in milliseconds since 1970. */
  readonly askedAt: (run: string) => number | undefined;
  /** Whether more questions wait than the service has reported: it reports the most urgent ones. */
  readonly hasMore: boolean;
}

/** How long a line shows what became of a question, and how many such lines there are. */
const TOLD_MS = 60_000;
const MOST_TOLD = 20;

export function keyOf(run: string, interaction: number): string {
  return `${run}/${interaction}`;
}

/** The list after the service has reported which questions wait. */
export function merged(entries: readonly Entry[], fresh: readonly WaitingRun[], around: Surroundings): readonly Entry[] {
  const waiting = new Map(fresh.map((run) => [keyOf(run.run_id, run.question.interaction_id), run]));
  // A question after the last reported one may still wait.
  const last = around.hasMore ? fresh.at(-1) : undefined;
  const isBeyond = (entry: Entry): boolean => last !== undefined && !waiting.has(entry.key) && isAfter(entry.waiting, last);
  const kept = entries.filter((entry) => !isBeyond(entry) || around.held.has(entry.key));
  const known = kept.map((entry): Entry => {
    if (isBeyond(entry)) return entry;
    const still = waiting.get(entry.key);
    waiting.delete(entry.key);
    if (still) return { ...entry, waiting: still, goneAt: undefined, late: undefined };
    return entry.goneAt === undefined ? { ...entry, goneAt: around.now } : entry;
  });
  const added = [...waiting].map(([key, run]): Entry => ({ key, waiting: run, goneAt: undefined, late: undefined, isMine: false }));
  return pruned(ordered(known, added, around), around);
}

/** In the order of the service: by deadline, those without one last, then by run. */
function isAfter(one: WaitingRun, other: WaitingRun): boolean {
  const [first, second] = [one.question.deadline ?? "none", other.question.deadline ?? "none"];
  return first === second ? one.run_id > other.run_id : first > second;
}

/** The question in use stays where it is, with everything above it; the rest follows in order below. */
function ordered(known: readonly Entry[], added: readonly Entry[], { held, askedAt }: Surroundings): readonly Entry[] {
  const fixed = known.findLastIndex((entry) => held.has(entry.key)) + 1;
  const rest = [...known.slice(fixed), ...added].sort((one, other) => {
    const [first, second] = [urgency(one, askedAt), urgency(other, askedAt)];
    return first.deadline - second.deadline || first.asked - second.asked || (one.key < other.key ? -1 : 1);
  });
  return [...known.slice(0, fixed), ...rest];
}

function urgency({ waiting }: Entry, askedAt: Surroundings["askedAt"]): { deadline: number; asked: number } {
  const { deadline } = waiting.question;
  const ends = deadline === null ? Number.NaN : Date.parse(deadline);
  // Far, but not infinite: the next rule must be able to distinguish two of those.
  return { deadline: Number.isNaN(ends) ? Number.MAX_SAFE_INTEGER : ends, asked: askedAt(waiting.run_id) ?? begun(waiting.run_id) };
}

/** Without the lines that have been shown long enough. */
export function pruned(entries: readonly Entry[], { now, held }: Pick<Surroundings, "now" | "held">): readonly Entry[] {
  const gone = entries.filter((entry) => entry.goneAt !== undefined && !held.has(entry.key));
  const oldest = gone.map((entry) => entry.goneAt ?? 0).sort((one, other) => other - one)[MOST_TOLD - 1] ?? 0;
  const isTold = ({ key, goneAt }: Entry): boolean => goneAt === undefined || held.has(key) || (goneAt >= oldest && now - goneAt < TOLD_MS);
  return entries.every(isTold) ? entries : entries.filter(isTold);
}

export function changed(entries: readonly Entry[], key: string, change: Partial<Pick<Entry, "late" | "isMine">>): readonly Entry[] {
  return entries.map((entry) => (entry.key === key ? { ...entry, ...change } : entry));
}

export function without(entries: readonly Entry[], key: string): readonly Entry[] {
  return entries.filter((entry) => entry.key !== key);
}

/** Ids of runs begin with the milliseconds of their first moment. */
export function begun(run: string): number {
  const ms = Number.parseInt(run.replaceAll("-", "").slice(0, 12), 16);
  return Number.isNaN(ms) ? 0 : ms;
}
