// What an event says about itself: its message, its file, and a few of its words.
import { type RaspEvent, isRasp } from "@skillrun/client";

export function messageOf(event: RaspEvent | undefined): string | undefined {
  if (!event) return undefined;
  if (isRasp(event, "agent.message.delta") || isRasp(event, "agent.message.final")) return event.data.message_id;
  if (isRasp(event, "parser.warning") || isRasp(event, "parser.error") || isRasp(event, "engine.error")) return event.data.message_id ?? undefined;
  return undefined;
}

export function pathOf(event: RaspEvent | undefined): string | undefined {
  if (!event) return undefined;
  return isRasp(event, "artifact.created") || isRasp(event, "artifact.indexed") || isRasp(event, "artifact.preview_ready") ? event.data.path : undefined;
}

/** A few words of the event itself, as its author wrote them. */
export function detailOf(event: RaspEvent): string | undefined {
  if (isRasp(event, "run.started")) return event.data.skill ?? event.data.title ?? undefined;
  if (isRasp(event, "run.status")) return event.data.status ?? event.data.phase ?? undefined;
  if (isRasp(event, "run.completed") || isRasp(event, "run.failed") || isRasp(event, "run.canceled")) return event.data.reason_code;
  if (isRasp(event, "attempt.ended")) return event.data.verdict.reason_code;
  if (isRasp(event, "message.user") || isRasp(event, "agent.message.delta") || isRasp(event, "agent.message.final") || isRasp(event, "agent.reasoning.summary")) return event.data.text;
  if (isRasp(event, "interaction.requested")) return event.data.prompt;
  if (isRasp(event, "interaction.replied")) return event.data.text;
  if (isRasp(event, "interaction.auto_decision")) return event.data.policy;
  if (isRasp(event, "tool.call.started")) return event.data.name;
  if (isRasp(event, "tool.call.completed")) return event.data.output ?? undefined;
  if (isRasp(event, "tool.call.failed")) return event.data.output ?? event.data.reason;
  if (isRasp(event, "parser.warning") || isRasp(event, "parser.error") || isRasp(event, "engine.error")) return event.data.message;
  if (isRasp(event, "raw.stdout") || isRasp(event, "raw.stderr")) return event.data.text ?? undefined;
  if (isRasp(event, "subagent.requested")) return event.data.title;
  if (isRasp(event, "subagent.ended")) return event.data.status;
  if (isRasp(event, "subagent.observed")) return event.data.state ?? event.data.name ?? event.data.task ?? undefined;
  if (isRasp(event, "check.ended")) return event.data.name;
  return pathOf(event);
}
