// The newest runs, folded from the stream of summaries.
import type { RunSummary, RunsItem } from "@skillrun/client";

/** The number kept; older ones are in the lists of the service. */
const MOST = 2000;

export interface RunTable {
  /** By id, newest first: ids of runs begin with their time. */
  readonly runs: ReadonlyMap<string, RunSummary>;
  /** Whether the service has reported which runs exist. */
  readonly isKnown: boolean;
}

export function empty(): RunTable {
  return { runs: new Map(), isKnown: false };
}

export function applied(table: RunTable, item: RunsItem): RunTable {
  switch (item.type) {
    case "reset":
      return { runs: sorted(item.runs), isKnown: true };
    case "run": {
      if (table.runs.has(item.run.run_id)) {
        const runs = new Map(table.runs).set(item.run.run_id, item.run);
        return { ...table, runs };
      }
      return { ...table, runs: sorted([item.run, ...table.runs.values()]) };
    }
    case "removed": {
      const runs = new Map(table.runs);
      runs.delete(item.run_id);
      return { ...table, runs };
    }
  }
}

function sorted(runs: readonly RunSummary[]): ReadonlyMap<string, RunSummary> {
  const newest = [...runs].sort((one, other) => (one.run_id < other.run_id ? 1 : -1)).slice(0, MOST);
  return new Map(newest.map((run) => [run.run_id, run]));
}
