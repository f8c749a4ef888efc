// The newest runs, as the stream reports them.
import type { RunSummary, RunsItem } from "@skillrun/client";
import { expect, test } from "vitest";
import { applied, empty } from "./run-table.ts";

const run = (run_id: string, status: RunSummary["status"] = "running"): RunSummary => ({ run_id, status }) as RunSummary;
const told = (item: RunsItem): RunsItem => item;

test("a reconnect that reports everything again duplicates no run", () => {
  let table = applied(empty(), told({ type: "reset", id: "a-1", runs: [run("2"), run("1")] }));
  table = applied(table, told({ type: "run", id: "a-2", run: run("3") }));
  table = applied(table, told({ type: "run", id: "a-3", run: run("2", "failed") }));
  table = applied(table, told({ type: "reset", id: "b-1", runs: [run("1"), run("3"), run("2", "failed")] }));
  expect([...table.runs.keys()]).toEqual(["3", "2", "1"]);
  expect(table.runs.get("2")?.status).toBe("failed");
});

test("a change keeps a run at its place, a removed one goes", () => {
  let table = applied(empty(), told({ type: "reset", id: "a-1", runs: [run("1"), run("2"), run("3")] }));
  table = applied(table, told({ type: "run", id: "a-2", run: run("1", "succeeded") }));
  expect([...table.runs.keys()]).toEqual(["3", "2", "1"]);
  table = applied(table, told({ type: "removed", id: "a-3", run_id: "2" }));
  expect([...table.runs.keys()]).toEqual(["3", "1"]);
});

test("nothing is known before the service has reported it", () => {
  expect(empty().isKnown).toBe(false);
  expect(applied(empty(), told({ type: "reset", id: "a-1", runs: [] })).isKnown).toBe(true);
});

test("only the newest runs are kept", () => {
  const ids = Array.from({ length: 2_500 }, (_, index) => String(index).padStart(6, "0"));
  const table = applied(empty(), told({ type: "reset", id: "a-1", runs: ids.map((id) => run(id)) }));
  expect(table.runs.size).toBe(2_000);
  expect(table.runs.has("002499")).toBe(true);
  expect(table.runs.has("000499")).toBe(false);
});
