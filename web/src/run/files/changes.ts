// What a run did to its files, as rows of one list: attempt by attempt, and the reason if there is no list.
import type { Attempt, Diff, Run, WorkspaceChange } from "@skillrun/client";
import { visible } from "../../parts/visible.ts";

export type Change = WorkspaceChange;

export type Row =
  | { readonly is: "attempt"; readonly attempt: number; readonly count: number; readonly isCut: boolean }
  | { readonly is: "change"; readonly key: string; readonly change: Change };

/** A path for display: one that is not text is shown as its bytes. */
export function pathOf(path: Change["path"]): string {
  return typeof path === "string" ? visible(path) : `⟨${path.hex.slice(0, 400)}⟩`;
}

/** All changes whose path has these letters, each attempt under its heading. */
export function rowsOf(diff: Diff, letters: string): Row[] {
  const wanted = letters.trim().toLowerCase();
  const fits = (change: Change): boolean => wanted === "" || pathOf(change.path).toLowerCase().includes(wanted);
  return diff.attempts.flatMap(({ attempt, changes, cut }): Row[] => {
    const shown = changes
      .map((change, index) => ({ is: "change", key: `${attempt}.${index}`, change }) as const)
      .filter((row) => fits(row.change));
    if (shown.length === 0 && !cut) return [];
    return [{ is: "attempt", attempt, count: changes.length, isCut: cut }, ...shown];
  });
}

export function countOf(diff: Diff): number {
  return diff.attempts.reduce((sum, { changes }) => sum + changes.length, 0);
}

/** The key of the change that is this many changes further; the same at the ends. */
export function keyAt(rows: readonly Row[], key: string | undefined, step: number): string | undefined {
  const keys = rows.flatMap((row) => (row.is === "change" ? [row.key] : []));
  const at = key === undefined ? -1 : keys.indexOf(key);
  return keys[Math.min(keys.length - 1, Math.max(0, at + step))];
}

/** Why there is no list, or nothing to list. */
export type NoChanges = "unchanged" | "off" | "no_attempt" | "removed" | "not_yet" | "unknown";

export function whyNone(diff: Diff, run: Run, attempts: readonly Attempt[], isOff: boolean): NoChanges {
  if (diff.attempts.length > 0) return "unchanged";
  if (isOff) return "off";
  if (run.attempt === 0) return "no_attempt";
  if (attempts.some(({ bytes }) => bytes === null)) return "removed";
  return run.ended_at === null ? "not_yet" : "unknown";
}

/** Why a changed file has no difference, in the words of the service that we know. */
export const OMITTED = ["binary", "too_large", "budget", "unreadable", "masked"] as const;
export type Omitted = (typeof OMITTED)[number];

export function omittedOf(word: string): Omitted | undefined {
  return OMITTED.find((known) => known === word);
}
