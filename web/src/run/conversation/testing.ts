// Events for tests of the conversation.
import type { FcmpEvent } from "@skillrun/client";

let next = 0;

/** An event as the service would send it; only what the fold reads. */
export function event(type: string, data: unknown, more: { attempt?: number; confidence?: number } = {}): FcmpEvent {
  next += 1;
  const meta = { attempt: more.attempt ?? 1, confidence: more.confidence ?? 1, rasp_seq: next * 10 };
  return { seq: next, ts: new Date(1_000_000 + next * 1_000).toISOString(), type, data, meta } as unknown as FcmpEvent;
}

/** A conversation that begins with its first event. */
export function told(make: () => FcmpEvent[]): FcmpEvent[] {
  next = 0;
  return make();
}
