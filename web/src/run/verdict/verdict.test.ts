// What the verdict stands on, and what it offers to do next.
import type { Diagnosis, Engine, EventsAt, NextAction, NextActionKind, Run } from "@skillrun/client";
import { expect, test } from "vitest";
import { actionWords, ruleWords } from "../../words/codes-gate.ts";
import { say } from "../../words/words.ts";
import { canContinue, continuing, decisionsOf, doingOf, elapsedOf, entriesOf, eventFor, furtherFindings, groundsOf, inOrder, optionsOf, primaryOf, readAs, saysMore, sentenceOf, turnAction, wholeNumber } from "./verdict.ts";
import { words } from "./words.ts";

const action = (kind: NextActionKind, command = "skillrun retry r"): NextAction => ({ action: kind, command });

test("what can be done here is done here", () => {
  expect(doingOf(action("retry_later"))).toEqual({ does: "retry" });
  expect(doingOf(action("retry_later"), "r2")).toEqual({ does: "show_run", run: "r2" });
  expect(doingOf(action("retry"), "r2")).toEqual({ does: "retry" });
  expect(doingOf(action("raise_timeout", "skillrun retry r --timeout SECONDS"))).toEqual({ does: "number", option: "hard_timeout_sec" });
  expect(doingOf(action("raise_timeout", "skillrun retry r --session-timeout SECONDS"))).toEqual({ does: "number", option: "session_timeout_sec" });
  expect(doingOf(action("raise_timeout", "skillrun retry r --stall SECONDS"))).toEqual({ does: "number", option: "stall_timeout_sec" });
  expect(doingOf(action("choose_model", "skillrun retry r --model MODEL"))).toEqual({ does: "choose_model" });
  expect(doingOf(action("raise_max_attempt"))).toEqual({ does: "number", option: "max_attempt" });
  expect(doingOf(action("retry_failed_steps"))).toEqual({ does: "retry_steps" });
  expect(doingOf(action("show_workflow"))).toEqual({ does: "show_steps" });
  const workflow = [action("show_workflow"), action("retry_failed_steps")];
  expect(primaryOf(workflow, false)?.action).toBe("retry_failed_steps");
  for (const kind of Object.keys(actionWords)) expect(doingOf(action(kind as NextActionKind)), kind).toBeDefined();
});

const kinds = (actions: readonly NextAction[]): string[] => actions.map(({ action: kind }) => kind);

test("what may help comes before what only looks, and otherwise the service's order holds", () => {
  const engine = [action("inspect_evidence"), action("retry"), action("retry_other_engine")];
  expect(kinds(inOrder(engine))).toEqual(["retry", "retry_other_engine", "inspect_evidence"]);
  expect(primaryOf(engine, false)?.action).toBe("retry");
  const output = [action("fix_output"), action("fix_skill"), action("retry")];
  expect(kinds(inOrder(output))).toEqual(kinds(output));
  expect(primaryOf([action("diagnose")], false)?.action).toBe("diagnose");
});

test("an action for later is not the first choice before its time", () => {
  const quota = [action("retry_later"), action("retry_other_engine")];
  expect(kinds(inOrder(quota))).toEqual(["retry_other_engine", "retry_later"]);
  expect(primaryOf(quota, false)?.action).toBe("retry_other_engine");
  expect(primaryOf(quota, true)?.action).toBe("retry_later");
  expect(primaryOf([action("retry_later")], false)).toBeUndefined();
});

test("the code has a sentence only where the rule leaves something open", () => {
  expect((Object.keys(ruleWords) as (keyof typeof ruleWords)[]).filter((rule) => saysMore(rule))).toEqual(["5", "9", "10", "5b"]);
  expect(saysMore(null)).toBe(true);
});

const passage = { what: "end", file: "stderr.2.log", from: 5, to: 9, excerpt: "x" };
const ending = { turn: "partial_failed" };
const told = (status: string): Diagnosis => ({ status, attempts: [{ attempt: 1, ending, evidence: [] }, { attempt: 2, ending, evidence: [passage] }, { attempt: 3, ending: null, evidence: [] }] }) as unknown as Diagnosis;

test("a state is based on the bytes of the last ended attempt, and one in progress on none", () => {
  expect(groundsOf(told("failed"))).toEqual([{ passage, attempt: 2, stream: "stderr", turn: "partial_failed" }]);
  expect(groundsOf(told("running"))).toEqual([]);
  expect(groundsOf(undefined)).toEqual([]);
});

test("bytes lead to the event that was made from exactly them", () => {
  const at = (seq: number, from: number, to: number, stderr = [0, 0]) => ({ seq, raw_ref: { stdout_from: from, stdout_to: to, stderr_from: stderr[0], stderr_to: stderr[1] } });
  const found = { events: [at(1, 0, 100), at(2, 10, 20), at(3, 12, 14), at(4, 0, 0, [10, 20])], cut: false } as unknown as EventsAt;
  expect(eventFor(found, "stdout", 10, 20)?.seq).toBe(2);
  expect(eventFor(found, "stderr", 10, 20)?.seq).toBe(4);
  expect(eventFor({ events: [at(1, 0, 100), at(2, 10, 20)], cut: false } as unknown as EventsAt, "stdout", 11, 12)?.seq).toBe(2);
  expect(eventFor({ events: [], cut: false }, "stdout", 0, 1)).toBeUndefined();
});

test("time runs until the run is over, and never backwards", () => {
  const run = { created_at: "2026-01-01T00:00:00Z", ended_at: null } as Run;
  const now = Date.parse("2026-01-01T00:01:00Z");
  expect(elapsedOf(run, now)).toBe(60_000);
  expect(elapsedOf({ ...run, ended_at: "2026-01-01T00:00:07Z" }, now)).toBe(7_000);
  expect(elapsedOf(run, 0)).toBe(0);
  expect(elapsedOf({ ...run, created_at: null }, now)).toBeUndefined();
});

test.each([["5", 5], [" 12 ", 12], ["0", undefined], ["-1", undefined], ["1e3", undefined], ["2.5", undefined], ["", undefined], ["101", undefined], ["99999999999", undefined]])("%j as a number is %s", (text, number) => {
  expect(wholeNumber(text, 100)).toBe(number);
});

test("a fragment becomes a sentence", () => {
  expect(sentenceOf("the engine failed")).toBe("The engine failed.");
  expect(sentenceOf("It did.")).toBe("It did.");
  expect(sentenceOf("引擎失败")).toBe("引擎失败。");
  expect(sentenceOf("")).toBe("");
});

test("the request shows only the given parts", () => {
  expect(entriesOf({ a: "x", b: { c: 1 } })).toEqual([{ name: "a", value: "x" }, { name: "b", value: '{"c":1}' }]);
  expect(entriesOf({ a: "x".repeat(10_000) })[0]?.value.length).toBe(2_000);
  expect(optionsOf({ env: [], effort: null, max_bytes: 5 } as never)).toEqual([{ name: "max_bytes", value: "5" }]);
});

test("nothing is shown twice", () => {
  const findings = [{ finding: "noticed", code: "ENGINE_ERROR", words: "a" }, { finding: "noticed", code: "PIPE_SMALL", words: "b" }, { finding: "disk_full", attempt: 1, words: "c" }];
  expect(furtherFindings({ findings } as unknown as Diagnosis, ["ENGINE_ERROR"]).map((finding) => finding.words)).toEqual(["b", "c"]);
});

test("figures of the parser and automatic decisions are said in both languages", () => {
  const parse = { matched: 7, inferred: 1, raw: 2, unknown: 3, unknown_types: { "new.thing": 3 }, confidence: 0.5 };
  expect(say("en", words.readAs, readAs(parse))).toBe("parse confidence 0.50: 7 lines exact, 1 inferred, 2 raw, 3 of unknown type");
  expect(say("zh", words.readAs, readAs(parse))).toContain("0.50");
  const last = "2026-11-15T00:00:00Z";
  const now = Date.parse(last) + 60_000;
  expect(say("en", words.autoDecisions, decisionsOf("en", 1, last, now))).toMatch(/^1 question was decided automatically/);
  expect(say("en", words.autoDecisions, decisionsOf("en", 2, last, now))).toMatch(/^2 questions were decided automatically/);
  expect(say("zh", words.autoDecisions, decisionsOf("zh", 2, last, now))).toContain("2");
});

test.each([
  [{ status: "running", mode: "interactive", interaction: null }, "interrupt"],
  [{ status: "running", mode: "conversation", interaction: null }, "interrupt"],
  [{ status: "running", mode: "auto", interaction: null }, undefined],
  [{ status: "waiting_user", mode: "interactive", interaction: { scope: "call" } }, "interrupt"],
  [{ status: "waiting_user", mode: "interactive", interaction: { scope: "turn" } }, undefined],
  [{ status: "waiting_user", mode: "conversation", interaction: { scope: "prompt" } }, "close"],
  [{ status: "closed", mode: "conversation", interaction: null }, undefined],
] as const)("a turn of %j can be acted on: %s", (run, action) => {
  expect(turnAction(run as Parameters<typeof turnAction>[0])).toBe(action);
});

test.each([
  ["waiting_user", 1, true],
  ["failed", 2, true],
  ["closed", 1, true],
  ["canceled", 0, false],
  ["running", 1, false],
  ["queued", 1, false],
  [null, 1, false],
] as const)("whether a run that is %s after %i attempts can be continued: %s", (status, attempt, expected) => {
  expect(canContinue({ status, attempt })).toBe(expected);
});

test("another engine that can hold a conversation comes first", () => {
  const engine = (name: string, change: Partial<Engine> = {}): Engine => ({ name, program: `/bin/${name}`, continuation: "resumable", ...change }) as Engine;
  const engines = [engine("own"), engine("gone", { program: null }), engine("once", { continuation: "none" }), engine("other", { continuation: "sticky" })];
  expect(continuing(engines, "own").map(({ name }) => name)).toEqual(["other", "own"]);
});
