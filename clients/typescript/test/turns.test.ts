// Which messages are answers, and how turns ended: of whole conversations, of parts of them, and of older ones.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConversationTurns, type FcmpEvent, type FcmpEventOf, type MessageStanding, isKnownEvent } from "../src/index.js";

let next = 0;

/** An event as the server would send it; only what the fold reads. */
function event(attempt: number, type: string, data: object = {}): FcmpEvent {
  next += 1;
  return { seq: next, ts: new Date(next * 1_000).toISOString(), type, data, meta: { attempt, confidence: 1, rasp_seq: next } } as unknown as FcmpEvent;
}

const started = (attempt: number): FcmpEvent => event(attempt, "turn.started");
const final = (attempt: number, id: string, partial = false): FcmpEvent => event(attempt, "assistant.message.final", { message_id: id, text: id, partial });
const ended = (attempt: number, state: string, more: object = {}): FcmpEvent => event(attempt, "turn.ended", { state, reason_code: "CLEAN_FINAL", ...more });
const over = (type: string, state: string): FcmpEvent => event(1, `conversation.${type}`, { state, reason_code: "CLOSED" });

function turnsOf(events: readonly FcmpEvent[]): ConversationTurns {
  const turns = new ConversationTurns();
  for (const one of events) turns.add(one);
  return turns;
}

function standing(events: readonly FcmpEvent[], attempt: number, messageId: string, isWhole = true): MessageStanding {
  return turnsOf(events).standing({ attempt, messageId, isWhole });
}

test("only the message that the end of a completed turn names is an answer", () => {
  const turn = [started(1), final(1, "plan"), final(1, "result"), ended(1, "completed", { answer_message_id: "result" })];
  assert.equal(standing(turn, 1, "result"), "answer");
  assert.equal(standing(turn, 1, "plan"), "step");
  assert.equal(standing(turn, 1, "result", false), "broken");
  assert.equal(standing(turn.slice(0, -1), 1, "result"), "undecided");
  assert.equal(standing([started(1), final(1, "m"), ended(1, "completed")], 1, "m"), "step");
});

test("the same id in another turn is another message", () => {
  const events = [started(1), final(1, "m"), ended(1, "completed", { answer_message_id: "m" }), started(2), final(2, "m"), ended(2, "failed")];
  assert.deepEqual([standing(events, 1, "m"), standing(events, 2, "m")], ["answer", "broken"]);
});

for (const state of ["failed", "partial_failed", "interrupted", "timed_out"]) {
  test(`nothing in a turn that is ${state} is an answer, whatever its end names`, () => {
    const events = [started(1), final(1, "m"), ended(1, state, { answer_message_id: "m" })];
    assert.equal(standing(events, 1, "m"), "broken");
    assert.equal(turnsOf(events).turn(1)?.answerMessageId, undefined);
  });
}

test("a turn whose end was missed is closed by a later turn, and by the end of the run", () => {
  const begun = [started(1), final(1, "m")];
  assert.equal(turnsOf(begun).turn(1)?.state, "open");
  for (const after of [started(2), ended(2, "completed"), over("completed", "succeeded"), over("completed", "closed"), over("failed", "failed")]) {
    const turns = turnsOf([...begun, after]);
    assert.equal(turns.turn(1)?.state, "not_completed", after.type);
    assert.equal(turns.standing({ attempt: 1, messageId: "m", isWhole: true }), "broken", after.type);
  }
});

test("an end that arrives after all is believed", () => {
  const events = [started(1), final(1, "m"), started(2), ended(1, "completed", { answer_message_id: "m" })];
  assert.equal(standing(events, 1, "m"), "answer");
  assert.equal(turnsOf(events).turn(2)?.state, "open");
});

test("a turn is read from its end alone, when its beginning was not", () => {
  const events = [final(3, "m"), ended(3, "completed", { answer_message_id: "m" })];
  assert.equal(standing(events, 3, "m"), "answer");
  assert.equal(turnsOf(events).turn(3)?.startedAt, undefined);
});

test("a turn has its times, its reason, its error and what to do next", () => {
  const error = { category: "engine", code: "ENGINE_FAILED", message: "The model is overloaded." };
  const next_actions = [{ action: "reply", command: "skillrun reply RUN TEXT" }];
  const turns = turnsOf([started(1), ended(1, "failed", { reason_code: "ENGINE_FAILED", error, next_actions }), started(2)]).turns;
  assert.deepEqual(turns.map(({ number, state }) => [number, state]), [[1, "failed"], [2, "open"]]);
  const [failed] = turns;
  assert.ok(failed?.startedAt !== undefined && failed.endedAt !== undefined && failed.startedAt < failed.endedAt);
  assert.deepEqual([failed.reasonCode, failed.error, failed.nextActions], ["ENGINE_FAILED", error, next_actions]);
});

test("a conversation of an older version has no turns: a whole message of a run that succeeded is an answer", () => {
  const events = [final(1, "m"), final(1, "cut", true)];
  assert.equal(standing(events, 1, "m"), "undecided");
  assert.equal(standing([...events, over("completed", "succeeded")], 1, "m"), "answer");
  assert.equal(standing([...events, over("completed", "succeeded")], 1, "cut", false), "broken");
  for (const [type, state] of [["completed", "closed"], ["failed", "failed"], ["canceled", "canceled"]] as const) {
    assert.equal(standing([...events, over(type, state)], 1, "m"), "undecided", state);
  }
});

test("with turns, a run that succeeded makes no answer by itself", () => {
  assert.equal(standing([final(1, "early"), started(2), ended(2, "completed"), over("completed", "succeeded")], 1, "early"), "undecided");
});

test("a reply that was shown is not shown again as the message that begins a turn", () => {
  const message = (interaction_id?: number) => event(2, "user.message", { text: "rivers", origin: "user", interaction_id }) as FcmpEventOf<"user.message">;
  const turns = turnsOf([event(1, "user.input.replied", { interaction_id: 1, text: "rivers", resolution_mode: "user_reply" })]);
  assert.deepEqual([turns.isNew(message(1)), turns.isNew(message(2)), turns.isNew(message())], [false, true, true]);
});

test("a type that this client does not know is skipped", () => {
  const newer = event(1, "turn.paused", { state: "completed", answer_message_id: "m" });
  const events = [started(1), newer, final(1, "m"), newer, ended(1, "completed", { answer_message_id: "m" })];
  assert.equal(standing(events, 1, "m"), "answer");
  assert.deepEqual(events.filter((one) => !isKnownEvent(one)), [newer, newer]);
  assert.ok(!isKnownEvent({ type: "toString" }));
});
