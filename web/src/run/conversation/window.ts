// A contiguous part of a conversation: the events held at this moment. A long conversation is never held as a whole;
// parts far from the view are dropped and loaded again on demand.
import type { FcmpEvent } from "@skillrun/client";

/** The number of events held. */
export const MOST = 4_000;
/** The number of events requested at a time. */
export const PAGE = 400;

export interface ChatWindow {
  readonly events: readonly FcmpEvent[];
  /** The last event of the conversation, as far as the service reported it. */
  readonly last: number;
}

export const NOTHING: ChatWindow = { events: [], last: 0 };

export function first(window: ChatWindow): number {
  return window.events[0]?.seq ?? 1;
}

/** The last event that is held. */
export function end(window: ChatWindow): number {
  return window.events.at(-1)?.seq ?? 0;
}

export function hasEarlier(window: ChatWindow): boolean {
  return first(window) > 1;
}

/** Whether there is more than is held; then what comes live is only counted. */
export function hasLater(window: ChatWindow): boolean {
  return end(window) < window.last;
}

/** These events, and nothing else. */
export function opened(events: readonly FcmpEvent[], last: number): ChatWindow {
  return { events, last: Math.max(last, events.at(-1)?.seq ?? 0) };
}

/** With events that come after; those it has already change nothing, and where one is missing they are only counted. */
export function withLater(window: ChatWindow, events: readonly FcmpEvent[]): ChatWindow {
  const held = end(window);
  const fresh = events.filter((event) => event.seq > held);
  const last = Math.max(window.last, events.at(-1)?.seq ?? 0);
  if (fresh.length === 0 || fresh[0]?.seq !== held + 1) return { ...window, last };
  const all = [...window.events, ...fresh];
  return { events: all.length > MOST ? all.slice(all.length - MOST) : all, last };
}

/** With events that come before. */
export function withEarlier(window: ChatWindow, events: readonly FcmpEvent[]): ChatWindow {
  const held = first(window);
  const fresh = events.filter((event) => event.seq < held);
  if (fresh.at(-1)?.seq !== held - 1) return window;
  return { ...window, events: [...fresh, ...window.events].slice(0, MOST) };
}
