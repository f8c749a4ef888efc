// Finding events in an outline: by type, by attempt, by what they belong to.
import type { RaspType } from "@skillrun/client";
import { type Entry, Outline } from "../outline.ts";

export function allOf(outline: Outline, type: RaspType): number[] {
  const seqs: number[] = [];
  const name = outline.names.indexOf(type);
  for (let index = 0; name >= 0 && index < outline.length; index += 1) if (outline.types[index] === name) seqs.push(index + 1);
  return seqs;
}

export function firstOf(outline: Outline, type: RaspType): number | undefined {
  const name = outline.names.indexOf(type);
  const index = name < 0 ? -1 : outline.types.subarray(0, outline.length).indexOf(name);
  return index < 0 ? undefined : index + 1;
}

export function nodeOf(outline: Outline, type: RaspType): string {
  const seq = firstOf(outline, type);
  return seq === undefined ? "" : `event ${seq}`;
}

export function lastBefore(outline: Outline, type: RaspType, seq: number): number | undefined {
  return allOf(outline, type).findLast((one) => one < seq);
}

export function ofAttempt(outline: Outline, type: RaspType, number: number): number | undefined {
  return allOf(outline, type).find((seq) => outline.attempts[seq - 1] === number);
}

export function overOf(outline: Outline): number | undefined {
  return firstOf(outline, "run.completed") ?? firstOf(outline, "run.failed") ?? firstOf(outline, "run.canceled");
}

/** All events of the group an event belongs to. */
export function membersOf(outline: Outline, seq: number): number[] {
  const group = outline.groupOf[seq - 1] ?? 0;
  if (group === 0) return [seq];
  const seqs: number[] = [];
  for (let index = 0; index < outline.length; index += 1) if (outline.groupOf[index] === group) seqs.push(index + 1);
  return seqs;
}

/** The events of one call. An id may come again, in the next attempt or in the same one: a start begins another call. */
export function callOf(outline: Outline, seq: number): number[] {
  const members = membersOf(outline, seq).filter((one) => outline.attempts[one - 1] === outline.attempts[seq - 1]);
  const starts = members.filter((one) => outline.entry(one)?.type === "tool.call.started");
  const from = starts.findLast((one) => one <= seq) ?? 0;
  const to = starts.find((one) => one > seq) ?? Infinity;
  return members.filter((one) => one >= from && one < to);
}

/** The start of the call with this id that an event of the same attempt comes after. */
export function callers(outline: Outline, call: string, selected: Entry): number | undefined {
  return allOf(outline, "tool.call.started").findLast((seq) => {
    const entry = outline.entry(seq);
    return seq < selected.seq && entry?.attempt === selected.attempt && entry.group?.kind === "tool_call" && entry.group.id === call;
  });
}

/** Messages that may be the one an event belongs to: the next one, and the last few before it. */
export function finalsAround(outline: Outline, selected: Entry): number[] {
  const finals = allOf(outline, "agent.message.final").filter((seq) => outline.attempts[seq - 1] === selected.attempt);
  const next = finals.find((seq) => seq > selected.seq);
  return [...(next === undefined ? [] : [next]), ...finals.filter((seq) => seq < selected.seq).slice(-3)];
}
