// The tree of a run, and what is known of it since.
import type { RunSummary } from "@skillrun/client";
import { expect, test } from "vitest";
import { familyOf } from "./family.ts";

function run(id: string, parent?: string, more: Partial<RunSummary> = {}): RunSummary {
  const link = parent === undefined ? undefined : { run_id: parent, attempt: 1, root: "1", depth: 1 };
  return { run_id: id, parent: link, status: "running", updated_at: "2026-01-01T00:00:00Z", ...more } as RunSummary;
}

const told = (tree: RunSummary[], newest: RunSummary[]): string[] => familyOf(tree, newest).map((one) => `${"-".repeat(one.depth)}${one.run.run_id} ${one.run.status}`);

test("each run stands below its parent, and siblings as they were asked for", () => {
  const tree = [run("1"), run("3", "1"), run("4", "3"), run("2", "1")];
  expect(told(tree, [])).toEqual(["1 running", "-3 running", "--4 running", "-2 running"]);
  expect(told([], [run("9")])).toEqual([]);
  // A tree that begins in the middle.
  expect(told(tree.slice(1, 3), [])).toEqual(["3 running", "-4 running"]);
});

test("what came since is there: new states, children and their children, and no run of another tree", () => {
  const later = { status: "succeeded", updated_at: "2026-01-01T00:00:01Z" } as const;
  const older = { status: "queued", updated_at: "2025-12-31T00:00:00Z" } as const;
  const newest = [run("8", "7"), run("6", "5"), run("5", "1"), run("2", "1", later), run("1", undefined, older)];
  expect(told([run("1"), run("2", "1")], newest)).toEqual(["1 running", "-2 succeeded", "-5 running", "--6 running"]);
});
