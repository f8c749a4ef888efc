// Turns in the conversation: where they begin and end, which text is an answer, and what began them.
import type { Attempt, FcmpEvent } from "@skillrun/client";
import { describe, expect, test } from "vitest";
import { brokenBy, isForPrompt } from "./describe.ts";
import { type Row, type RowOf, rowsOf } from "./rows.ts";
import { event, told } from "./testing.ts";

const status = (attempt: number, is: string): FcmpEvent => event("conversation.status", { status: is, phase: null, detail: null }, { attempt });
const started = (attempt: number): FcmpEvent => event("turn.started", {}, { attempt });
const delta = (attempt: number, id: string, text: string): FcmpEvent => event("assistant.message.delta", { message_id: id, text, partial: true }, { attempt });
const final = (attempt: number, id: string, text: string): FcmpEvent => event("assistant.message.final", { message_id: id, text, partial: false }, { attempt });
const ended = (attempt: number, state: string, more: object = {}): FcmpEvent => event("turn.ended", { state, reason_code: "CLEAN_FINAL", ...more }, { attempt });
const required = (attempt: number, id: number, scope: string): FcmpEvent => event("user.input.required", { interaction_id: id, scope, kind: "open_text", prompt: "What?", options: [] }, { attempt });
const replied = (attempt: number, id: number, text: string): FcmpEvent => event("user.input.replied", { interaction_id: id, text, resolution_mode: "user_reply" }, { attempt });
const message = (attempt: number, origin: string, text: string, more: object = {}): FcmpEvent => event("user.message", { text, origin, ...more }, { attempt });
const over = (attempt: number, state = "closed"): FcmpEvent => event("conversation.completed", { state, reason_code: "CLOSED" }, { attempt });

const error = { category: "engine", code: "ENGINE_FAILED", message: "The model is overloaded." };
const next_actions = [{ action: "reply", command: "skillrun reply RUN TEXT" }];

/** A good turn, one that failed, one that was interrupted, and its end. */
const story = told(() => [
  event("conversation.started", { title: "x", mode: "conversation", engine: "e" }, { attempt: 0 }),
  status(0, "queued"),
  status(1, "running"),
  started(1),
  message(1, "skill", "Answer."),
  final(1, "plan", "I look."),
  final(1, "result", "Here."),
  ended(1, "completed", { answer_message_id: "result" }),
  required(1, 1, "prompt"),
  status(1, "waiting_user"),
  replied(1, 1, "And now?"),
  status(2, "running"),
  started(2),
  message(2, "user", "And now? (with files)", { interaction_id: 1 }),
  final(2, "result", "All is well!"),
  ended(2, "failed", { reason_code: "ENGINE_FAILED", error, next_actions }),
  required(2, 2, "prompt"),
  status(2, "waiting_user"),
  replied(2, 2, "Again."),
  status(3, "running"),
  started(3),
  message(3, "user", "Again.", { interaction_id: 2 }),
  delta(3, "half", "I be"),
  ended(3, "interrupted", { reason_code: "INTERRUPTED" }),
  required(3, 3, "prompt"),
  status(3, "waiting_user"),
  over(3),
]);

const rows = (events: readonly FcmpEvent[]): readonly Row[] => rowsOf(events).rows;
function of<Kind extends Row["kind"]>(kind: Kind, events: readonly FcmpEvent[]): RowOf<Kind>[] {
  return rows(events).filter((row): row is RowOf<Kind> => row.kind === kind);
}
const standings = (events: readonly FcmpEvent[]): string[] => of("message", events).map(({ key, standing, turn }) => `${key} ${standing} ${turn}`);

test("a conversation of three turns, row by row", () => {
  expect(rows(story).map(({ kind, key }) => `${kind} ${key}`)).toEqual([
    "started start", "status e2",
    "attempt a1", "status e3", "prompt e5", "message m1.plan", "message m1.result", "turn z1", "status e10", "answer r1",
    "attempt a2", "status e12", "message m2.result", "turn z2", "status e18", "answer r2",
    "attempt a3", "status e20", "message m3.half", "turn z3", "status e26", "end end",
  ]);
});

test("only the message that a completed turn names is an answer", () => {
  expect(standings(story)).toEqual(["m1.plan step completed", "m1.result answer completed", "m2.result broken failed", "m3.half broken interrupted"]);
});

test("a turn that goes on has no answer yet", () => {
  expect(standings(story.slice(0, 7))).toEqual(["m1.plan undecided open", "m1.result undecided open"]);
});

test("text of a turn whose end was missed is never an answer", () => {
  const missed = (...after: FcmpEvent[]): string[] => standings([...told(() => [started(1), final(1, "m", "Done!"), delta(1, "n", "and")]), ...after]);
  expect(missed()).toEqual(["m1.m undecided open", "m1.n undecided open"]);
  for (const after of [started(2), over(1), over(1, "succeeded")]) expect(missed(after)).toEqual(["m1.m broken not_completed", "m1.n broken not_completed"]);
});

test("an older conversation has no turns: a whole message of a run that succeeded is an answer", () => {
  const old = told(() => [status(1, "running"), final(1, "m", "Done!"), delta(1, "n", "and")]);
  expect(standings(old)).toEqual(["m1.m undecided undefined", "m1.n undecided undefined"]);
  expect(standings([...old, over(1, "succeeded")])).toEqual(["m1.m answer undefined", "m1.n broken undefined"]);
  expect(standings([...old, over(1, "closed")])).toEqual(["m1.m undecided undefined", "m1.n broken undefined"]);
});

test("a stretch never makes an answer of what the whole does not", () => {
  const answers = new Set(of("message", story).filter(({ standing }) => standing === "answer").map(({ key }) => key));
  for (let from = 0; from < story.length; from += 1) {
    for (let to = from + 1; to <= story.length; to += 1) {
      for (const { key, standing } of of("message", story.slice(from, to))) if (standing === "answer") expect(answers, `${from} to ${to}`).toContain(key);
    }
  }
});

test("the keys of a stretch are those of the whole, each once and in its order", () => {
  const whole = rows(story).map(({ key }) => key);
  for (let from = 0; from < story.length; from += 1) {
    for (let to = from + 1; to <= story.length; to += 1) {
      const places = rows(story.slice(from, to)).map(({ key }) => whole.indexOf(key));
      expect(places, `${from} to ${to}`).toEqual([...new Set(places)].sort((one, other) => one - other));
      expect(places).not.toContain(-1);
    }
  }
});

describe("what began a turn", () => {
  test("is shown with its origin and its files", () => {
    const [row] = of("prompt", told(() => [started(1), message(1, "user", "Look at it.", { files: ["a.csv"], truncated: true })]));
    expect(row).toMatchObject({ origin: "user", text: "Look at it.", files: ["a.csv"], isTruncated: true });
    expect(of("prompt", story)).toMatchObject([{ origin: "skill", text: "Answer.", files: [], isTruncated: false }]);
  });

  test("is shown once where it is a reply, also where the reply itself is not loaded", () => {
    expect(of("answer", story).map(({ interaction, to, reply }) => [interaction, to, reply?.text])).toEqual([[1, "prompt", "And now?"], [2, "prompt", "Again."]]);
    const from = story.findIndex((one) => one.type === "user.message" && one.data.interaction_id === 1);
    expect(of("answer", story.slice(from)).map(({ key, to, reply }) => [key, to, reply?.text])).toEqual([["r1", undefined, "And now? (with files)"], ["r2", "prompt", "Again."]]);
  });

  test("leads to its row, and so does the wait for it", () => {
    const { rows, byRasp } = rowsOf(story);
    const at = (index: number): string | undefined => rows[byRasp.get(story[index]?.meta.rasp_seq ?? 0) ?? -1]?.key;
    expect([at(3), at(4), at(8), at(10), at(13), at(15)]).toEqual(["a1", "e5", "r1", "r1", "r1", "z2"]);
    // The prompt that is awaited has no row yet.
    expect(byRasp.has(story[24]?.meta.rasp_seq ?? 0)).toBe(false);
  });
});

test("the end of a turn has its state, its time, its reason, its error and what to do next", () => {
  expect(of("turn", story)).toMatchObject([
    { attempt: 1, state: "completed", reasonCode: "CLEAN_FINAL", tookMs: 4_000, error: undefined, nextActions: [] },
    { attempt: 2, state: "failed", reasonCode: "ENGINE_FAILED", tookMs: 3_000, error, nextActions: next_actions },
    { attempt: 3, state: "interrupted", reasonCode: "INTERRUPTED", tookMs: 3_000 },
  ]);
  expect(of("attempt", story).map(({ hasEnd }) => hasEnd)).toEqual([true, true, true]);
  expect(of("attempt", story.slice(0, 7)).map(({ hasEnd }) => hasEnd)).toEqual([false]);
  expect(of("turn", story.slice(14))[0]).toMatchObject({ attempt: 2, tookMs: undefined });
});

test("a run at rest waits for a prompt, not for an answer", () => {
  expect(of("status", story).map(({ waitsFor }) => waitsFor)).toEqual([undefined, undefined, "prompt", undefined, "prompt", undefined, "prompt"]);
  const asks = told(() => [required(1, 1, "turn"), status(1, "waiting_user"), replied(1, 1, "yes")]);
  expect([of("status", asks)[0]?.waitsFor, of("answer", asks)[0]?.to]).toEqual(["question", "question"]);
  expect([isForPrompt("prompt", "interactive"), isForPrompt("question", "conversation"), isForPrompt(undefined, "conversation"), isForPrompt(undefined, "interactive"), isForPrompt(undefined, undefined)]).toEqual([true, false, true, false, false]);
});

test("the service says how a turn ended where the window does not", () => {
  const attempts = [{ number: 1, ended: { turn: "failed" } }, { number: 2, ended: { turn: "completed" } }, { number: 3, ended: null }] as unknown as Attempt[];
  expect(brokenBy({ attempt: 1, turn: undefined }, attempts)).toBe("failed");
  expect(brokenBy({ attempt: 1, turn: "open" }, attempts)).toBe("failed");
  expect(brokenBy({ attempt: 1, turn: "completed" }, attempts)).toBeUndefined();
  expect(brokenBy({ attempt: 2, turn: undefined }, attempts)).toBeUndefined();
  expect(brokenBy({ attempt: 2, turn: "interrupted" }, attempts)).toBe("interrupted");
  expect(brokenBy({ attempt: 3, turn: "open" }, attempts)).toBeUndefined();
  expect(brokenBy({ attempt: 9, turn: "not_completed" }, [])).toBe("not_completed");
});
