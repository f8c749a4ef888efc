// The list of runs: stream and pages together, filtered and counted.
import type { RunStatus, RunSummary } from "@skillrun/client";
import { expect, test } from "vitest";
import { read, toggled, written } from "./filter.ts";
import { ALL, brokenTurn, counted, duration, filtered, isAtRest, namesOf, paged, pushed, queryOf, united, withoutRemoved, wordsOf } from "./list.ts";

function run(run_id: string, change: Partial<RunSummary> = {}): RunSummary {
  return {
    run_id, status: "succeeded", skill: "count-words", engine: "one", mode: "auto",
    created_at: "2026-01-01T00:00:00Z", updated_at: null, ended_at: null, attempt: 1, question: null, rests: false,
    reason_code: null, error_code: null, error_message: null, last_words: null, usage: null, auto_decisions: 0, auto_decision_count: 0, last_auto_decision_at: null, warnings: 0, log_bytes: 0, damage: null,
    ...change,
  };
}

function table(...runs: RunSummary[]): ReadonlyMap<string, RunSummary> {
  return new Map(runs.map((one) => [one.run_id, one]));
}

function ids(runs: readonly RunSummary[]): string {
  return runs.map((one) => one.run_id).join(" ");
}

const none: ReadonlySet<string> = new Set();

test("where stream and pages overlap, a run is listed once, as the stream reports it", () => {
  const live = table(run("r4"), run("r3", { status: "failed" }));
  const older = table(run("r3", { status: "running" }), run("r2"), run("r1"));
  const all = united(live, older);
  expect(ids(all)).toBe("r4 r3 r2 r1");
  expect(all[1]?.status).toBe("failed");
});

test("a page that comes twice changes nothing, and a newer one is taken", () => {
  const once = paged(new Map(), [run("r2"), run("r1", { status: "running" })]);
  const twice = paged(once, [run("r2"), run("r1")]);
  expect(ids([...twice.values()])).toBe("r2 r1");
  expect(twice.get("r1")?.status).toBe("succeeded");
});

test("filters go together", () => {
  const runs = [run("r3", { status: "failed" }), run("r2", { status: "failed", skill: "other" }), run("r1", { engine: "two" })];
  expect(ids(filtered(runs, ALL, none))).toBe("r3 r2 r1");
  expect(ids(filtered(runs, { ...ALL, statuses: ["failed"] }, none))).toBe("r3 r2");
  expect(ids(filtered(runs, { ...ALL, statuses: ["failed", "succeeded"], skill: "count-words" }, none))).toBe("r3 r1");
  expect(ids(filtered(runs, { ...ALL, engine: "two" }, none))).toBe("r1");
});

test.each([
  ["COUNT", "r1"],
  [" engine_failed ", "r2"],
  ["what should", "r3"],
  [".*", ""],
  ["   ", "r3 r2 r1"],
])("a search looks where the service looks: %s", (q, expected) => {
  const question = { prompt: "What should it be?" } as RunSummary["question"];
  const runs = [run("r3", { question, skill: "name" }), run("r2", { error_code: "ENGINE_FAILED", skill: null }), run("r1", { last_words: "engine_failed" })];
  expect(ids(filtered(runs, { ...ALL, q }, none))).toBe(expected);
});

test("what the service found stays, though its words are not here", () => {
  expect(ids(filtered([run("r1"), run("r2")], { ...ALL, q: "deep in a long question" }, new Set(["r2"])))).toBe("r2");
});

test("counts tell what each status would show", () => {
  const runs = [run("r3", { status: "failed" }), run("r2", { status: "failed", skill: "other" }), run("r1"), run("r0", { status: null })];
  expect(counted(runs, { ...ALL, statuses: ["succeeded"], skill: "count-words" }, none)).toEqual(new Map<RunStatus, number>([["failed", 1], ["succeeded", 1]]));
});

test("the service is asked for what is filtered", () => {
  expect(queryOf(ALL)).toEqual({});
  expect(queryOf({ statuses: ["failed", "canceled"], skill: "s", engine: "e", q: ` ${"x".repeat(300)}`, children: true })).toEqual({ status: "failed,canceled", skill: "s", engine: "e", q: "x".repeat(200) });
});

test("a run that was removed goes; one that only left the window stays", () => {
  const older = table(run("r3"), run("r2"), run("r1"));
  const before = table(run("r3"), run("r2"), run("r1"));
  expect(ids([...withoutRemoved(older, before, table(run("r3"), run("r1"))).values()])).toBe("r3 r1");
  expect(withoutRemoved(older, before, table(run("r4"), run("r3"), run("r2")))).toBe(older);
});

test("a run takes as long as it took, or as long as it has been there", () => {
  const now = Date.parse("2026-01-01T00:01:00Z");
  expect(duration(run("r"), now)).toBe(60_000);
  expect(duration(run("r", { ended_at: "2026-01-01T00:00:10Z" }), now)).toBe(10_000);
  expect(duration(run("r", { created_at: null }), now)).toBeUndefined();
  expect(duration(run("r"), now - 3_600_000)).toBe(0);
});

test("it is known how far new runs push the others down", () => {
  expect(pushed([run("r2"), run("r1")], [run("r4"), run("r3"), run("r2"), run("r1")])).toBe(2);
  expect(pushed([run("r2")], [run("r1")])).toBe(0);
  expect(pushed([], [run("r1")])).toBe(0);
});

test("names are listed once, in order", () => {
  expect(namesOf([run("a", { skill: "b" }), run("b", { skill: null }), run("c", { skill: "a" }), run("d", { skill: "b" })], "skill")).toEqual(["a", "b"]);
});

test("a filter is kept as it is", () => {
  const filter = { statuses: ["running", "failed"] as const, skill: "数字", engine: undefined, q: "x", children: true };
  expect(read(written(filter))).toEqual(filter);
});

test.each([null, "", "{", "7", "null", "[]", '{"statuses":["exploded",3],"skill":4,"q":{}}'])("an invalid filter shows everything: %s", (text) => {
  expect(read(text)).toEqual(ALL);
});

test("a status is chosen and unchosen", () => {
  const one = toggled(ALL, "failed");
  expect(one.statuses).toEqual(["failed"]);
  expect(toggled(toggled(one, "running"), "failed").statuses).toEqual(["running"]);
});

test("a run at rest whose last turn did not complete says so", () => {
  const question = { interaction_id: 1, scope: "prompt" } as RunSummary["question"];
  const rests = { status: "waiting_user", question, reason_code: "CLEAN_FINAL" } as const;
  expect([isAtRest(run("r", rests)), brokenTurn(run("r", rests))]).toEqual([true, undefined]);
  expect(brokenTurn(run("r", { ...rests, reason_code: "INTERRUPTED" }))).toBe("INTERRUPTED");
  expect(brokenTurn(run("r", { ...rests, reason_code: "ENGINE_FAILED", error_code: "ENGINE_FAILED" }))).toBe("ENGINE_FAILED");
  const asks = { ...rests, question: { ...question, scope: "turn" } as RunSummary["question"], reason_code: "INTERRUPTED" } as const;
  expect([isAtRest(run("r", asks)), brokenTurn(run("r", asks))]).toEqual([false, undefined]);
  expect(isAtRest(run("r", { ...rests, status: "closed" }))).toBe(false);
});

test("a run that failed shows its own error, any other its last message", () => {
  const told = { last_words: "I begin.", error_message: "Credit balance is too low", error_code: "ENGINE_FAILED" as const };
  expect(wordsOf(run("r", { ...told, status: "failed" }))).toBe("Credit balance is too low");
  expect(wordsOf(run("r", { ...told, status: "queued" }))).toBe("I begin.");
  expect(wordsOf(run("r", { ...told, status: "failed", error_message: null }))).toBe("I begin.");
  expect(ids(filtered([run("r2", told), run("r1")], { ...ALL, q: "credit" }, none))).toBe("r2");
});

test("children of runs are listed when they are asked for, and found by a search", () => {
  const parent = { run_id: "r1", root: "r1", attempt: 1, depth: 1 };
  const runs = [run("r2", { parent, status: "failed", title: "weigh" }), run("r1")];
  expect(ids(filtered(runs, ALL, none))).toBe("r1");
  expect(counted(runs, ALL, none).get("failed")).toBe(undefined);
  expect(ids(filtered(runs, { ...ALL, children: true }, none))).toBe("r2 r1");
  expect(ids(filtered(runs, { ...ALL, q: "weigh" }, none))).toBe("r2");
});
