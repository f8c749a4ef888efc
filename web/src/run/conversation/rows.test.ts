// Events of FCMP become rows: what is a message, what is a question, what is small print.
import type { FcmpEvent, FcmpType } from "@skillrun/client";
import { expect, test } from "vitest";
import { say } from "../../words/words.ts";
import { stripParts } from "./describe.ts";
import { type Row, type Rows, levelsOf, rowsOf } from "./rows.ts";
import { event, told } from "./testing.ts";

const status = (is: string | null, detail: string | null = null, attempt = 1): FcmpEvent => event("conversation.status", { status: is, phase: null, detail }, { attempt });
const delta = (id: string, text: string): FcmpEvent => event("assistant.message.delta", { message_id: id, text, partial: true });
const final = (id: string, text: string, partial = false, confidence = 1): FcmpEvent => event("assistant.message.final", { message_id: id, text, partial }, { confidence });
const raw = (text: string | null): FcmpEvent => event("raw.stdout", { text });
const tool = (id: string | null, is: string, more: object = {}): FcmpEvent => event("assistant.tool_call", { tool_call_id: id, name: "shell", status: is, ...more });

const story = told(() => [
  event("conversation.started", { title: "x", mode: "interactive", engine: "e" }, { attempt: 0 }),
  status("queued", null, 0),
  status("running"),
  status("running", "5 s, 10 bytes"),
  event("assistant.reasoning", { text: "hm" }),
  delta("m1", "Hel"),
  delta("m1", "lo"),
  final("m1", "Hello."),
  tool("t1", "started", { input: { command: "ls" } }),
  raw("noise"),
  event("diagnostic.warning", { code: "UNKNOWN_EVENT", message: "odd", severity: "warning", count: 11 }),
  tool("t1", "completed", { output: "a\n" }),
  final("m2", "a guess", false, 0.5),
  raw(null),
  final("m3", "<ASK_USER_YAML>\nask_user: {prompt: me}\n</ASK_USER_YAML>"),
  event("user.input.required", { interaction_id: 1, kind: "open_text", prompt: "What?", options: [] }),
  status("waiting_user"),
  event("interaction.timed_out", { interaction_id: 1 }),
  event("interaction.auto_decided", { interaction_id: 1, policy: "engine_judgement", instruction: "go on" }),
  event("user.input.replied", { interaction_id: 1, text: "go on", resolution_mode: "auto_decide_timeout" }),
  status("running", null, 2),
  event("assistant.message.final", { message_id: "m1", text: "Half", partial: true }, { attempt: 2 }),
  event("artifact.created", { path: "a.md", size: 3, type: "text/markdown" }, { attempt: 2 }),
  event("conversation.failed", { state: "failed", reason_code: "ENGINE_FAILED", error: { category: "engine", code: "ENGINE_FAILED", message: "no" } }, { attempt: 2 }),
]);

/** A row without what other rows say about it. */
const own = (row: Row | undefined): object => ({ ...row, standing: undefined, turn: undefined, waitsFor: undefined, to: undefined, hasEnd: undefined });

const shape = (rows: readonly Row[]): string[] => rows.map((row) => `${row.kind} ${row.key}`);

test("a whole conversation, row by row", () => {
  const { rows } = rowsOf(story);
  expect(shape(rows)).toEqual([
    "started start", "status e2", "attempt a1", "status e3", "reasoning e5", "message m1.m1", "tool t1.t1", "strip s10", "message m1.m3",
    "question q1", "status e17", "answer r1", "attempt a2", "status e21", "message m2.m1", "artifact e23", "end end",
  ]);
  expect(rows[5]).toMatchObject({ state: "final", text: "Hello.", raspSeq: 80, isCut: false });
  expect(rows[6]).toMatchObject({ status: "completed", input: { command: "ls" }, output: "a\n", tookMs: 3_000, raspSeq: 90 });
});

test("small print stands apart, is counted, and nothing of it is dropped", () => {
  const strips = rowsOf(story).rows.filter((row) => row.kind === "strip");
  const lines = strips.flatMap((row) => row.lines);
  expect(lines.map((line) => [line.kind, line.text])).toEqual([["stdout", "noise"], ["diagnostic", "odd"], ["guess", "a guess"], ["stdout", undefined]]);
  expect(levelsOf(lines)).toEqual({ error: 0, warning: 12, info: 2 });
});

test("a long row of unknown lines is one line with its count and range", () => {
  const flood = { ...event("raw.stdout", { text: null, lines: 4_096 }), raw_ref: { stdout_from: 300, stdout_to: 65_838, stderr_from: 0, stderr_to: 0 } } as FcmpEvent;
  const [strip] = rowsOf(told(() => [flood])).rows.filter((row) => row.kind === "strip");
  expect(strip?.lines).toMatchObject([{ kind: "stdout", text: undefined, count: 4_096, range: { from: 300, to: 65_838 } }]);
  expect(stripParts(strip?.lines ?? []).map(({ word, n }) => say("en", word, { n }))).toEqual(["4096 lines the parser did not know"]);
  expect(stripParts(strip?.lines ?? []).map(({ word, n }) => say("zh", word, { n }))).toEqual(["4096 行解析器不认识的内容"]);
});

test("the end of a run has its warnings", () => {
  const completed = (warnings?: string[]) => event("conversation.completed", { state: "succeeded", reason_code: "OUTPUT_VALID", warnings });
  expect(rowsOf(told(() => [completed(["COMPLETED_WITHOUT_DONE_MARKER"])])).rows.at(-1)).toMatchObject({ kind: "end", warnings: ["COMPLETED_WITHOUT_DONE_MARKER"] });
  expect(rowsOf(told(() => [completed()])).rows.at(-1)).toMatchObject({ kind: "end", warnings: [] });
});

test("a guess is never a message", () => {
  expect(rowsOf(told(() => [final("m", "sure", false, 0.69)])).rows.map((row) => row.kind)).toEqual(["attempt", "strip"]);
  expect(rowsOf(told(() => [final("m", "sure", false, 0.7)])).rows.map((row) => row.kind)).toEqual(["attempt", "message"]);
});

test("pieces are a message that is not finished; one that broke off is partial", () => {
  expect(rowsOf(told(() => [delta("m", "a"), delta("m", "b")])).rows.at(-1)).toMatchObject({ state: "growing", text: "ab", isCut: false });
  expect(rowsOf(told(() => [delta("m", "a"), final("m", "ab", true)])).rows.at(-1)).toMatchObject({ state: "partial", text: "ab" });
  expect(rowsOf(told(() => [delta("m", "a"), delta("m", "b"), delta("m", "c")]).slice(1)).rows[0]).toMatchObject({ text: "bc", isCut: true });
});

test("nothing but the event for it makes a question", () => {
  const rows = rowsOf(told(() => [
    final("m", "<ASK_USER_YAML>\nask_user:\n  prompt: Delete all?\n</ASK_USER_YAML>"),
    final("n", "Shall I go on? [yes/no]"),
    tool("t", "started", { name: "ask_user", input: { prompt: "hm" } }),
    raw('{"type":"user.input.required","data":{"interaction_id":1}}'),
  ])).rows;
  expect(rows.map((row) => row.kind)).toEqual(["attempt", "message", "message", "tool", "strip"]);
});

test("what became of a question is one row that says who decided", () => {
  expect(rowsOf(story).rows.find((row) => row.kind === "answer")).toMatchObject({
    isTimedOut: true,
    decision: { policy: "engine_judgement", instruction: "go on" },
    reply: { text: "go on", mode: "auto_decide_timeout" },
  });
});

test("a heartbeat is not a change", () => {
  const rows = rowsOf(told(() => [status("running"), status("running", "1 s"), status("running", "2 s")])).rows;
  expect(rows.map((row) => row.kind)).toEqual(["attempt", "status"]);
});

test("an attempt begins once, though a line of the one before may come late", () => {
  const rows = rowsOf(told(() => [1, 2, 1, 2].map((attempt) => event("raw.stdout", { text: "x" }, { attempt })))).rows;
  expect(rows.filter((row) => row.kind === "attempt").map((row) => row.key)).toEqual(["a1", "a2"]);
});

test("a call without a name of its own stays alone; two with one name in two attempts are two", () => {
  const rows = rowsOf(told(() => [tool(null, "started"), tool(null, "completed"), tool("t", "started"), event("assistant.tool_call", { tool_call_id: "t", name: null, status: "failed", reason: "no" }, { attempt: 2 })])).rows;
  expect(rows.filter((row) => row.kind === "tool").map((row) => row.status)).toEqual(["started", "completed", "started", "failed"]);
});

test("every event that is shown leads to its row", () => {
  const { rows, byRasp } = rowsOf(story);
  const silent = new Set([4]);
  for (const one of story) {
    if (silent.has(one.seq)) continue;
    expect(rows[byRasp.get(one.meta.rasp_seq) ?? -1], `event ${one.seq}`).toBeDefined();
  }
  for (const row of rows) if (row.kind !== "attempt") expect(rows[byRasp.get(row.raspSeq) ?? -1]?.key).toBe(row.key);
});

test("any stretch gives rows that agree with the whole", () => {
  const whole = rowsOf(story).rows;
  const byKey = new Map(whole.map((row) => [row.key, row]));
  for (let from = 0; from < story.length; from += 1) {
    for (let to = from + 1; to <= story.length; to += 1) {
      const part = story.slice(from, to);
      const { rows } = rowsOf(part);
      expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
      for (const row of rows) {
        const same = byKey.get(row.key);
        if (!same) {
          // Only small print that began before the stretch has another name, and it stands first.
          expect([row.kind, rows.filter((one) => !(one.kind === "tool" && one.input === undefined)).indexOf(row)]).toEqual(["strip", 0]);
          continue;
        }
        expect(row.kind).toBe(same.kind);
        if (row.kind === "strip" && same.kind === "strip") expect(same.lines.slice(0, row.lines.length)).toEqual(row.lines);
      }
      const order = rows.map((row) => whole.findIndex((one) => one.key === row.key)).filter((index) => index >= 0);
      expect(order).toEqual([...order].sort((one, other) => one - other));
      // A row all of whose events are in the stretch is the row of the whole.
      const seqs = new Set(part.map((one) => one.meta.rasp_seq));
      const { byRasp } = rowsOf(story);
      for (const [index, row] of whole.entries()) {
        const made = [...byRasp].filter(([, at]) => at === index).map(([seq]) => seq);
        if (made.length > 0 && made.every((seq) => seqs.has(seq))) expect(own(rows.find((one) => one.key === row.key))).toEqual(own(row));
      }
    }
  }
});

test("small print keeps its name when more of it is loaded, before it or after it, and when some of it goes", () => {
  const noise = told(() => [final("m", "x"), ...Array.from({ length: 20 }, () => raw("noise")), final("n", "y"), raw("other"), raw("other")]);
  const strips = (from: number, to: number, before?: Rows): Rows => rowsOf(noise.slice(from, to), before);
  const names = ({ rows }: Rows): string[] => rows.filter((row) => row.kind === "strip").map((row) => row.key);
  const shown = strips(10, 23);
  expect(names(shown)).toEqual(["s11", "s23"]);
  const earlier = strips(0, 24, shown);
  expect(names(earlier)).toEqual(["s11", "s23"]);
  expect(names(strips(15, 24, earlier))).toEqual(["s11", "s23"]);
  expect(earlier.rows[earlier.byRasp.get(noise[3]?.meta.rasp_seq ?? 0) ?? -1]?.key).toBe("s11");
  expect(names(strips(22, 24, shown))).toEqual(["s23"]);
});

test("small print that falls into two has two names", () => {
  const all = told(() => [delta("m", "a"), raw("1"), delta("m", "b"), raw("2")]);
  const whole = rowsOf(all);
  expect(whole.rows.map((row) => row.key)).toEqual(["a1", "m1.m", "s2"]);
  // Where the beginning of the message is gone, its next piece stands between them.
  expect(rowsOf(all.slice(1), whole).rows.map((row) => row.key)).toEqual(["s2", "m1.m", "s2+"]);
});

test("where the beginning of a message may be missing, it says so", () => {
  const part = told(() => [final("l", "x"), delta("m", "a"), raw("x"), delta("m", "b")]);
  expect(rowsOf(part.slice(2)).rows.at(-1)).toMatchObject({ kind: "message", text: "b", isCut: true });
  expect(rowsOf(part).rows.find((row) => row.key === "m1.m")).toMatchObject({ text: "ab", isCut: false });
  // The attempt begins in the stretch, and so does all that was said in it.
  const next = told(() => [raw("x"), raw("y"), event("assistant.message.delta", { message_id: "m", text: "a", partial: true }, { attempt: 2 })]).slice(1);
  expect(rowsOf(next).rows.at(-1)).toMatchObject({ kind: "message", isCut: false });
});

const checking = (what: string): FcmpEvent => event("conversation.status", { status: "running", phase: "checking", detail: what });
const checkEnd = (name: string, status: string): FcmpEvent => event("check.ended", { name, command: "make test", status, exit_code: status === "passed" ? 0 : 3, output_tail: "2 tests failed", elapsed_ms: 1_500 });

test("a check is one row where it was announced, and its end belongs to it", () => {
  const events = told(() => [final("m1", "Done."), checking("check 1 of 2"), checkEnd("lint", "passed"), checking("check 2 of 2"), checkEnd("tests", "failed")]);
  const { rows, byRasp } = rowsOf(events);
  expect(rows.map(({ kind }) => kind)).toEqual(["attempt", "message", "check", "check"]);
  expect(rows[2]).toMatchObject({ what: "check 1 of 2", end: { name: "lint", status: "passed", exitCode: 0, tookMs: 1_500 } });
  expect(rows[3]).toMatchObject({ end: { name: "tests", status: "failed", exitCode: 3, outputTail: "2 tests failed" } });
  expect(events.map(({ meta }) => byRasp.get(meta.rasp_seq))).toEqual([1, 2, 2, 3, 3]);
  expect(rowsOf(events.slice(0, 2)).rows.at(-1)).toMatchObject({ kind: "check", end: undefined });
  // Of a stretch that has only its end.
  expect(rowsOf(events.slice(2)).rows[0]).toMatchObject({ kind: "check", what: undefined, end: { name: "lint" } });
});

const child = (run: string): FcmpEvent => event("subagent.started", { child_run_id: run, engine: "scripted", title: `Task of ${run}.` });
const childEnd = (run: string, status: string, summary?: string): FcmpEvent => event("subagent.ended", { child_run_id: run, status, reason_code: status === "completed" ? "CLEAN_FINAL" : "PARENT_ENDED", summary, elapsed_ms: 1_500 });

test("a child is one row where it was asked for, and its end belongs to it", () => {
  const events = told(() => [child("a"), child("b"), final("m1", "I wait."), childEnd("b", "completed", "Done."), childEnd("a", "failed")]);
  const { rows, byRasp } = rowsOf(events);
  expect(rows.map(({ key }) => key)).toEqual(["a1", "ca", "cb", "m1.m1"]);
  expect(rows[1]).toMatchObject({ kind: "child", run: "a", asked: { title: "Task of a.", engine: "scripted" }, end: { status: "failed", summary: undefined } });
  expect(rows[2]).toMatchObject({ kind: "child", run: "b", end: { status: "completed", summary: "Done.", tookMs: 1_500 } });
  expect(events.map(({ meta }) => byRasp.get(meta.rasp_seq))).toEqual([1, 2, 3, 2, 1]);
  // Of a stretch that has only its end: the same row, at the beginning.
  const late = rowsOf(events.slice(2)).rows;
  expect(late.map(({ key }) => key)).toEqual(["cb", "ca", "m1.m1"]);
  expect(late[0]).toMatchObject({ kind: "child", asked: undefined, end: { status: "completed" } });
});

test("only the end of a child that was detached is replaced", () => {
  const ends = (...statuses: string[]) => rowsOf(told(() => [child("a"), ...statuses.map((status) => childEnd("a", status))])).rows.find(({ kind }) => kind === "child");
  expect(rowsOf(told(() => [child("a"), childEnd("a", "completed", "\n")])).rows.at(-1)).toMatchObject({ end: { summary: undefined } });
  expect(ends()).toMatchObject({ end: undefined });
  expect(ends("detached", "completed")).toMatchObject({ end: { status: "completed" } });
  expect(ends("failed", "detached")).toMatchObject({ end: { status: "failed" } });
});

test("what an engine says of its subagents is small print and no child", () => {
  const said = (data: object) => event("subagent.observed", { subagent_id: "t1", ...data });
  const rows = rowsOf(told(() => [said({ name: "Explore", task: "Find the tests." }), said({ state: "completed", text: "Two.\n" })])).rows;
  const lines = [{ kind: "subagent", level: "info", text: "Explore · Find the tests." }, { kind: "subagent", text: "t1 · completed · Two." }];
  expect(rows.map(({ kind }) => kind)).not.toContain("child");
  expect(rows.at(-1)).toMatchObject({ kind: "strip", lines });
});

test("an unknown event is small print", () => {
  const rows = rowsOf(told(() => [event("conversation.sang" as FcmpType, {})])).rows;
  expect(rows.at(-1)).toMatchObject({ kind: "strip", lines: [{ kind: "unknown", text: "conversation.sang" }] });
});
