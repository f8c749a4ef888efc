// The list of runs: the runs from the stream and from the loaded pages, each run once, filtered.
import type { Code, ListRunsQuery, RunStatus, RunSummary } from "@skillrun/client";

export const STATUSES = ["waiting_user", "running", "queued", "succeeded", "closed", "failed", "canceled"] as const satisfies readonly RunStatus[];

export interface Filter {
  /** None: all of them. */
  readonly statuses: readonly RunStatus[];
  readonly skill: string | undefined;
  readonly engine: string | undefined;
  readonly q: string;
  /** Whether the runs that other runs have asked for are listed too; a workflow has one for each step. */
  readonly children: boolean;
}

export const ALL: Filter = { statuses: [], skill: undefined, engine: undefined, q: "", children: false };

/** As many characters are looked for by the service. */
export const LONGEST_SEARCH = 200;
/** The number of older runs kept; to find others, the user narrows the search. */
export const MOST_OLDER = 20_000;

export function isAll({ statuses, skill, engine, q }: Filter): boolean {
  return statuses.length === 0 && skill === undefined && engine === undefined && q.trim() === "";
}

/** What the service is asked for. */
export function queryOf(filter: Filter): ListRunsQuery {
  const q = filter.q.trim().slice(0, LONGEST_SEARCH);
  return {
    ...(filter.statuses.length > 0 && { status: filter.statuses.join(",") }),
    ...(filter.skill !== undefined && { skill: filter.skill }),
    ...(filter.engine !== undefined && { engine: filter.engine }),
    ...(q !== "" && { q }),
  };
}

/** Each run once, newest first. What the stream says is newer than any page. */
export function united(live: ReadonlyMap<string, RunSummary>, older: ReadonlyMap<string, RunSummary>): readonly RunSummary[] {
  const extra = [...older.values()].filter((run) => !live.has(run.run_id));
  return [...live.values(), ...extra].sort((one, other) => (one.run_id < other.run_id ? 1 : -1));
}

/** `found`: ids the service gave for this very search; it may look at more than is here. */
export function filtered(runs: readonly RunSummary[], filter: Filter, found: ReadonlySet<string>): readonly RunSummary[] {
  if (isAll(filter) && filter.children) return runs;
  return runs.filter((run) => hasPlace(run, filter) && hasStatus(run, filter) && isOf(run, filter) && hasWords(run, filter, found));
}

/** How many runs have each status, among those the other filters let through. */
export function counted(runs: readonly RunSummary[], filter: Filter, found: ReadonlySet<string>): ReadonlyMap<RunStatus, number> {
  const counts = new Map<RunStatus, number>();
  for (const run of runs) {
    if (run.status === null || !hasPlace(run, filter) || !isOf(run, filter) || !hasWords(run, filter, found)) continue;
    counts.set(run.status, (counts.get(run.status) ?? 0) + 1);
  }
  return counts;
}

/** With a page; beyond the bound nothing is taken. */
export function paged(older: ReadonlyMap<string, RunSummary>, page: readonly RunSummary[]): ReadonlyMap<string, RunSummary> {
  const all = new Map(older);
  for (const run of page) {
    if (all.size < MOST_OLDER || all.has(run.run_id)) all.set(run.run_id, run);
  }
  return all;
}

/** Without the runs that the stream has taken away; those it has only pushed out of its window stay. */
export function withoutRemoved(
  older: ReadonlyMap<string, RunSummary>,
  before: ReadonlyMap<string, RunSummary>,
  after: ReadonlyMap<string, RunSummary>,
): ReadonlyMap<string, RunSummary> {
  const oldest = [...after.keys()].at(-1) ?? "";
  const removed = [...before.keys()].filter((id) => !after.has(id) && id > oldest && older.has(id));
  if (removed.length === 0) return older;
  const left = new Map(older);
  removed.forEach((id) => left.delete(id));
  return left;
}

/** How many runs came above the one that was first. */
export function pushed(before: readonly RunSummary[], after: readonly RunSummary[]): number {
  const first = before[0]?.run_id;
  return first === undefined ? 0 : Math.max(0, after.findIndex((run) => run.run_id === first));
}

/** How long a run took, or has been there. */
export function duration(run: RunSummary, now: number): number | undefined {
  const begin = Date.parse(run.created_at ?? "");
  const end = run.ended_at === null ? now : Date.parse(run.ended_at);
  return Number.isNaN(begin) || Number.isNaN(end) ? undefined : Math.max(0, end - begin);
}

/** Different names, for a choice. */
export function namesOf(runs: readonly RunSummary[], part: "skill" | "engine"): readonly string[] {
  const names = new Set<string>();
  for (const run of runs) {
    const name = run[part];
    if (name !== null && names.size < 500) names.add(name);
  }
  return [...names].sort((one, other) => one.localeCompare(other));
}

/** A search finds children too. */
function hasPlace(run: RunSummary, { children, q }: Filter): boolean {
  return children || !run.parent || q.trim() !== "";
}

function hasStatus(run: RunSummary, { statuses }: Filter): boolean {
  return statuses.length === 0 || (run.status !== null && statuses.includes(run.status));
}

function isOf(run: RunSummary, { skill, engine }: Filter): boolean {
  return (skill === undefined || run.skill === skill) && (engine === undefined || run.engine === engine);
}

function hasWords(run: RunSummary, { q }: Filter, found: ReadonlySet<string>): boolean {
  const wanted = q.trim().slice(0, LONGEST_SEARCH).toLowerCase();
  if (wanted === "" || found.has(run.run_id)) return true;
  const words = [run.run_id, run.skill, run.title, run.engine, run.question?.prompt, run.reason_code, run.error_code, run.error_message];
  return words.some((word) => word?.toLowerCase().includes(wanted));
}

/** What a row says about its run: why it failed, otherwise its last message. */
export function wordsOf(run: RunSummary): string {
  return (run.status === "failed" ? run.error_message : null) ?? run.last_words ?? "";
}

/** Whether a run waits for the next prompt, and not for an answer. */
export function isAtRest(run: RunSummary): boolean {
  return run.status === "waiting_user" && run.question?.scope === "prompt";
}

/** Of a run at rest whose last turn did not complete: the code of the reason. Text of such a turn is not an answer. */
export function brokenTurn(run: RunSummary): Code | undefined {
  if (!isAtRest(run)) return undefined;
  return run.error_code ?? (run.reason_code === "INTERRUPTED" ? run.reason_code : undefined);
}
