// A run with the runs above and below it, in the order of a tree.
import type { RunSummary } from "@skillrun/client";

export interface Member {
  readonly run: RunSummary;
  /** How far below the first it stands. */
  readonly depth: number;
}

/** The tree as it was loaded, with what is known of its runs now, and with children that were asked for since. `newest`:
    the newest runs of the service, the newest first. */
export function familyOf(tree: readonly RunSummary[], newest: readonly RunSummary[]): Member[] {
  const all = new Map(tree.map((run) => [run.run_id, run]));
  // A parent is older than its children.
  for (const run of newest.toReversed()) {
    const known = all.get(run.run_id);
    const isNews = known ? (known.updated_at ?? "") < (run.updated_at ?? "") : run.parent && all.has(run.parent.run_id);
    if (isNews) all.set(run.run_id, run);
  }
  const below = new Map<string | undefined, RunSummary[]>();
  for (const run of all.values()) {
    const parent = run.parent && all.has(run.parent.run_id) ? run.parent.run_id : undefined;
    below.set(parent, [...(below.get(parent) ?? []), run]);
  }
  const members: Member[] = [];
  const add = (parent: string | undefined, depth: number): void => {
    for (const run of below.get(parent) ?? []) {
      members.push({ run, depth });
      add(run.run_id, depth + 1);
    }
  };
  add(undefined, 0);
  return members;
}
