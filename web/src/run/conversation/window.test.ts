// The part of a conversation that is held: without gaps, without doubles, bounded.
import type { FcmpEvent } from "@skillrun/client";
import { expect, test } from "vitest";
import { MOST, NOTHING, end, first, hasEarlier, hasLater, opened, withEarlier, withLater } from "./window.ts";

function events(from: number, to: number): FcmpEvent[] {
  return Array.from({ length: to - from + 1 }, (_, index) => ({ seq: from + index }) as FcmpEvent);
}

test("what comes live is added once, in whatever pieces it comes", () => {
  const window = withLater(withLater(withLater(NOTHING, events(1, 3)), events(2, 4)), events(4, 4));
  expect(window.events.map((event) => event.seq)).toEqual([1, 2, 3, 4]);
  expect([hasEarlier(window), hasLater(window)]).toEqual([false, false]);
});

test("a gap is never shown as if nothing was missing", () => {
  const window = withLater(opened(events(5, 8), 8), events(10, 12));
  expect(end(window)).toBe(8);
  expect(hasLater(window)).toBe(true);
  expect(withEarlier(window, events(1, 3))).toBe(window);
});

test("a limited number of events is held, on either side", () => {
  const live = withLater(opened(events(1, MOST), MOST), events(MOST + 1, MOST + 10));
  expect([live.events.length, first(live), hasEarlier(live)]).toEqual([MOST, 11, true]);
  const back = withEarlier(live, events(1, 10));
  expect([back.events.length, first(back), hasLater(back)]).toEqual([MOST, 1, true]);
  // The user reads the beginning: live events do not push it away.
  expect(end(withLater(back, events(MOST + 11, MOST + 12)))).toBe(MOST);
});
