// The turns of a conversation, folded from its events: how each of them ended, and which messages are answers. A message
// is an answer only if the end of a turn that completed names it. Conversations that an older version of skillrun stored
// have no turns; there a whole message of a run that succeeded is an answer.
import type { Code, FcmpEvent, FcmpEventOf, FcmpType, NextAction, RunError, RunStatus, TurnState } from "./types.js";

/**
 * How far a turn has come. `open`: its end was not read and may follow. `not_completed`: another turn, or the end of the
 * run, was read instead of its end, so nothing in it is an answer.
 */
export type TurnProgress = TurnState | "open" | "not_completed";

export interface Turn {
  /** From 1: `meta.attempt` of its events. */
  readonly number: number;
  readonly state: TurnProgress;
  /** As in `ts`; undefined if the event was not read. */
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
  readonly reasonCode: Code | undefined;
  /** The only message of the turn that is an answer; undefined if the turn has none. */
  readonly answerMessageId: string | undefined;
  readonly error: RunError | undefined;
  readonly nextActions: readonly NextAction[];
}

/**
 * What a message is, as far as it is known.
 *
 * - `answer`: show it as an answer.
 * - `step`: text on the way, in a turn that completed.
 * - `broken`: text of a turn that did not complete, or text that was cut off. It is never an answer.
 * - `undecided`: the turn has not ended yet, or an older version did not record how it ended.
 */
export type MessageStanding = "answer" | "step" | "broken" | "undecided";

/** A message as the fold identifies it. */
export interface MessageName {
  /** `meta.attempt` of its events. */
  readonly attempt: number;
  readonly messageId: string;
  /** Whether an `assistant.message.final` that is not partial was read. */
  readonly isWhole: boolean;
}

/** Takes the events of one conversation in order. After a `reset` of the stream, begin with a new one. */
export class ConversationTurns {
  private readonly byNumber = new Map<number, Turn>();
  /** Turns whose end was not read. */
  private readonly open = new Set<number>();
  private readonly replied = new Set<number>();
  private endState: RunStatus | undefined;

  add(event: FcmpEvent): void {
    const { attempt } = event.meta;
    switch (event.type) {
      case "turn.started":
        this.closeOpen(attempt);
        if (!this.byNumber.has(attempt)) this.open.add(attempt);
        this.byNumber.set(attempt, { ...(this.byNumber.get(attempt) ?? opened(attempt)), startedAt: event.ts });
        return;
      case "turn.ended":
        this.closeOpen(attempt);
        this.open.delete(attempt);
        this.byNumber.set(attempt, ended(event, this.byNumber.get(attempt)?.startedAt));
        return;
      case "user.input.replied":
        this.replied.add(event.data.interaction_id);
        return;
      case "conversation.completed":
      case "conversation.failed":
      case "conversation.canceled":
        this.closeOpen(Infinity);
        this.endState = event.data.state;
        return;
      default:
        // All other events say nothing about turns; nor do those of a type that a newer version has added.
        return;
    }
  }

  /** In order. */
  get turns(): readonly Turn[] {
    return [...this.byNumber.values()].sort((one, other) => one.number - other.number);
  }

  turn(number: number): Turn | undefined {
    return this.byNumber.get(number);
  }

  standing({ attempt, messageId, isWhole }: MessageName): MessageStanding {
    const turn = this.byNumber.get(attempt);
    switch (turn?.state) {
      case "completed":
        return !isWhole ? "broken" : turn.answerMessageId === messageId ? "answer" : "step";
      case "partial_failed":
      case "failed":
      case "interrupted":
      case "timed_out":
      case "not_completed":
        return "broken";
      case "open":
        return "undecided";
      case undefined:
        return this.standingWithoutTurns(isWhole);
    }
  }

  /**
   * Whether the message that began a turn is to be shown. It is not if it carries a reply that was shown as
   * `user.input.replied`: call this before you show a `user.message`.
   */
  isNew({ data }: FcmpEventOf<"user.message">): boolean {
    return typeof data.interaction_id !== "number" || !this.replied.has(data.interaction_id);
  }

  /** A conversation that has no turns at all was stored by an older version. */
  private standingWithoutTurns(isWhole: boolean): MessageStanding {
    if (this.byNumber.size > 0 || this.endState === undefined) return "undecided";
    if (!isWhole) return "broken";
    return this.endState === "succeeded" ? "answer" : "undecided";
  }

  /** The ends of these turns were missed: a later turn has begun, or the run has ended. */
  private closeOpen(before: number): void {
    for (const number of this.open) {
      const turn = this.byNumber.get(number);
      if (!turn || number >= before) continue;
      this.open.delete(number);
      this.byNumber.set(number, { ...turn, state: "not_completed" });
    }
  }
}

function opened(number: number): Turn {
  return { number, state: "open", startedAt: undefined, endedAt: undefined, reasonCode: undefined, answerMessageId: undefined, error: undefined, nextActions: [] };
}

function ended({ meta, ts, data }: FcmpEventOf<"turn.ended">, startedAt: string | undefined): Turn {
  const isCompleted = data.state === "completed";
  return {
    number: meta.attempt,
    state: data.state,
    startedAt,
    endedAt: ts,
    reasonCode: data.reason_code,
    answerMessageId: isCompleted ? (data.answer_message_id ?? undefined) : undefined,
    error: data.error ?? undefined,
    nextActions: data.next_actions ?? [],
  };
}

const FCMP_TYPES: Readonly<Record<FcmpType, true>> = {
  "conversation.started": true,
  "conversation.status": true,
  "turn.started": true,
  "user.message": true,
  "assistant.message.delta": true,
  "assistant.message.final": true,
  "assistant.reasoning": true,
  "assistant.tool_call": true,
  "turn.ended": true,
  "subagent.started": true,
  "subagent.ended": true,
  "subagent.observed": true,
  "check.ended": true,
  "step.started": true,
  "step.ended": true,
  "workflow.ended": true,
  "user.input.required": true,
  "user.input.replied": true,
  "interaction.auto_decided": true,
  "interaction.timed_out": true,
  "artifact.created": true,
  "diagnostic.warning": true,
  "raw.stdout": true,
  "raw.stderr": true,
  "conversation.completed": true,
  "conversation.failed": true,
  "conversation.canceled": true,
};

/** Whether this version of the client knows the type of an event. Skip the others: a newer server may send them. */
export function isKnownEvent(event: { readonly type: string }): event is FcmpEvent {
  return Object.hasOwn(FCMP_TYPES, event.type);
}
