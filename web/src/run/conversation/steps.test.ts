// Steps of a workflow in its conversation: one row for each child of a step, and none besides it.
import type { FcmpEvent, StepState } from "@skillrun/client";
import { expect, test } from "vitest";
import { rowsOf } from "./rows.ts";
import { event, told } from "./testing.ts";

const started = (step: string, run: string | undefined, trial = 1, item?: number): FcmpEvent => event("step.started", { step_id: step, item, trial, child_run_id: run }, { attempt: 0 });
const child = (run: string): FcmpEvent => event("subagent.started", { child_run_id: run, engine: "scripted", title: `Task of ${run}.` }, { attempt: 0 });
const childEnd = (run: string, status: string, summary?: string): FcmpEvent => event("subagent.ended", { child_run_id: run, status, reason_code: "CLEAN_FINAL", summary, elapsed_ms: 1_500 }, { attempt: 0 });
const ended = (step: string, run: string | undefined, state: StepState, item?: number): FcmpEvent => event("step.ended", { step_id: step, item, state, reason_code: "CLEAN_FINAL", child_run_id: run }, { attempt: 0 });
const begin = (): FcmpEvent => event("conversation.started", { title: "x", mode: "auto", engine: "workflow" }, { attempt: 0 });

const whole = (): FcmpEvent[] => told(() => [begin(), started("build", "a"), child("a"), started("lint", "b"), child("b"), childEnd("a", "completed", "Built."), ended("build", "a", "ready"), childEnd("b", "failed"), ended("lint", "b", "failed"), ended("ship", undefined, "skipped"), event("workflow.ended", { outcome: "partial", ok: false }, { attempt: 0 })]);

test("a step is one row with its child, and both of their ends", () => {
  const { rows, byRasp } = rowsOf(whole());
  expect(rows.map(({ key }) => key)).toEqual(["start", "ca", "cb", "wship/", "workflow"]);
  expect(rows[1]).toMatchObject({ kind: "step", step: "build", trial: 1, run: "a", asked: { title: "Task of a.", engine: "scripted" }, end: { status: "completed", summary: "Built." }, ended: { state: "ready" } });
  expect(rows[2]).toMatchObject({ kind: "step", step: "lint", ended: { state: "failed" } });
  expect(rows[3]).toMatchObject({ kind: "step", step: "ship", run: undefined, end: undefined, ended: { state: "skipped" } });
  expect(rows[4]).toMatchObject({ kind: "workflow", outcome: "partial" });
  // Each of the four events of a step leads to its row.
  expect(whole().filter((one) => byRasp.get(one.meta.rasp_seq) === 1).map(({ type }) => type)).toEqual(["step.started", "subagent.started", "subagent.ended", "step.ended"]);
});

test("a step whose child succeeded is not ready by that alone", () => {
  const { rows } = rowsOf(told(() => [begin(), started("build", "a"), child("a"), childEnd("a", "completed", "All tests pass!")]));
  expect(rows[1]).toMatchObject({ end: { status: "completed" }, ended: undefined });
});

test("each try and each item has its own row", () => {
  const { rows } = rowsOf(told(() => [begin(), started("build", "a"), child("a"), childEnd("a", "failed"), started("build", "b", 2), child("b"), childEnd("b", "completed"), ended("build", "b", "ready"), started("test", "c", 1, 0), started("test", "d", 1, 1), ended("test", "d", "ready", 1), ended("test", undefined, "failed")]));
  expect(rows.slice(1).map((row) => row.kind === "step" && [row.step, row.item, row.trial, row.run, row.ended?.state])).toEqual([
    ["build", undefined, 1, "a", undefined],
    ["build", undefined, 2, "b", "ready"],
    ["test", 0, 1, "c", undefined],
    ["test", 1, 1, "d", "ready"],
    ["test", undefined, undefined, undefined, "failed"],
  ]);
});

test("from whatever event on, a row has the name that it has in the whole, and stands where it does", () => {
  const events = whole();
  const names = rowsOf(events).rows.map(({ key }) => key);
  for (let from = 1; from < events.length; from += 1) {
    const { rows } = rowsOf(events.slice(from));
    const keys = rows.map(({ key }) => key);
    // In the order of the whole, each once.
    expect(names.filter((name) => keys.includes(name)), `from ${from}`).toEqual(keys);
    const build = rows.find(({ key }) => key === "ca");
    if (build && from <= 6) expect(build, `from ${from}`).toMatchObject({ kind: "step", step: "build", ended: { state: "ready" } });
  }
});
