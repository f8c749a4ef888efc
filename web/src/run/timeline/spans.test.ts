// Attempts, waits, silences and stalls, from the times of the events.
import type { Attempt } from "@skillrun/client";
import { expect, test } from "vitest";
import { barsOf } from "./bars.ts";
import { type Made, fold } from "./made.ts";
import { bandsOf, nextsOf, spansOf } from "./spans.ts";

type EndedBy = NonNullable<NonNullable<Attempt["ended"]>["exit"]["ended_by"]>;

function attempt(number: number, endedBy: EndedBy): Attempt {
  const exit = { code: null, signal: null, ended_by: endedBy };
  const ended = { at: "2026-01-01T00:00:00Z", completion: "interrupted", exit, reason_code: "STALL_TIMEOUT", rule: "1", turn: "timed_out" };
  return { bytes: 0, number, started_at: "2026-01-01T00:00:00Z", streams: {}, ended } as unknown as Attempt;
}

function bands(events: readonly Made[], attempts: readonly Attempt[] = [], now = 0): unknown[] {
  const outline = fold(events);
  return bandsOf(outline, spansOf(outline, attempts), barsOf(outline), now).map(({ kind, from, to }) => [kind, from, to]);
}

const start: Made = { at: 0, type: "attempt.started", attempt: 1 };

test("attempts last from their start to their end", () => {
  const outline = fold([start, { at: 9, type: "attempt.ended", attempt: 1 }, { at: 20, type: "attempt.started", attempt: 2 }]);
  expect(spansOf(outline, [])).toEqual([
    { number: 1, from: 0, to: 9, first: 1, last: 2, end: null },
    { number: 2, from: 20, to: undefined, first: 3, last: undefined, end: null },
  ]);
});

test("ten seconds without an event are a silence, less are none", () => {
  const end: Made = { at: 30_000, type: "attempt.ended", attempt: 1 };
  expect(bands([start, { at: 10_000, type: "raw.stdout", attempt: 1 }, { at: 19_999, type: "raw.stdout", attempt: 1 }, { at: 25_000, type: "raw.stdout", attempt: 1 }, end])).toEqual([["silence", 0, 10_000]]);
});

test("in a long attempt a silence is a twentieth of it", () => {
  const end: Made = { at: 1_000_000, type: "attempt.ended", attempt: 1 };
  const steady = Array.from({ length: 24 }, (_, index): Made => ({ at: index * 40_000 + (index > 10 ? 30_000 : 0), type: "raw.stdout", attempt: 1 }));
  expect(bands([start, ...steady, end])).toEqual([["silence", 400_000, 470_000], ["silence", 950_000, 1_000_000]]);
});

test("neither heartbeats nor other attempts are a sign of the engine", () => {
  expect(bands([start, { at: 6_000, type: "run.heartbeat", attempt: 1 }, { at: 7_000, type: "run.status", attempt: 2 }, { at: 12_000, type: "raw.stdout", attempt: 1 }], [], 12_000)).toEqual([["silence", 0, 12_000]]);
});

test("a running attempt is silent until now", () => {
  expect(bands([start], [], 9_000)).toEqual([]);
  expect(bands([start], [], 15_000)).toEqual([["silence", 0, 15_000]]);
});

test("while a question waits, nothing is missed", () => {
  const asked: Made[] = [start, { at: 1_000, type: "interaction.requested", question: 1, attempt: 1 }, { at: 60_000, type: "interaction.replied", question: 1, attempt: 1 }];
  expect(bands(asked, [], 61_000)).toEqual([]);
});

test("a stall is the longest silence, though open events are reported after it", () => {
  const events: Made[] = [
    start,
    { at: 1_000, type: "raw.stdout", attempt: 1 },
    { at: 5_000, type: "tool.call.started", tool: "a", attempt: 1 },
    { at: 8_000, type: "run.heartbeat", attempt: 1 },
    { at: 14_000, type: "tool.call.failed", tool: "a", attempt: 1 },
    { at: 14_010, type: "attempt.ended", attempt: 1 },
  ];
  expect(bands(events, [attempt(1, "stall")])).toEqual([["stall", 5_000, 14_000]]);
  expect(bands(events, [attempt(1, "exited")])).toEqual([]);
});

test("a timeout is the silence before it, or only its moment", () => {
  const late: Made = { at: 41_000, type: "tool.call.failed", tool: "a", attempt: 1 };
  const end: Made = { at: 41_050, type: "attempt.ended", attempt: 1 };
  const early: Made = { at: 15_000, type: "raw.stdout", attempt: 1 };
  expect(bands([start, early, late, end], [attempt(1, "hard_timeout")])).toEqual([["silence", 0, 15_000], ["timeout", 15_000, 41_000]]);
  const busy = Array.from({ length: 40 }, (_, index): Made => ({ at: (index + 1) * 1_000, type: "raw.stdout", attempt: 1 }));
  expect(bands([start, ...busy, late, end], [attempt(1, "hard_timeout")])).toEqual([["timeout", 41_050, 41_050]]);
});

test("the reason of the next attempt is stated", () => {
  const outline = fold([
    start,
    { at: 1, type: "attempt.ended", attempt: 1 },
    { at: 1, type: "interaction.requested", attempt: 1, question: 1 },
    { at: 5, type: "interaction.replied", attempt: 1, question: 1 },
    { at: 6, type: "attempt.started", attempt: 2 },
    { at: 7, type: "attempt.ended", attempt: 2 },
    { at: 8, type: "attempt.started", attempt: 3 },
    { at: 9, type: "attempt.ended", attempt: 3 },
    { at: 9, type: "interaction.requested", attempt: 3, question: 2 },
    { at: 10, type: "interaction.timeout", attempt: 3, question: 2 },
    { at: 10, type: "interaction.auto_decision", attempt: 3, question: 2 },
    { at: 10, type: "interaction.replied", attempt: 3, question: 2 },
    { at: 11, type: "attempt.started", attempt: 4 },
  ]);
  expect(nextsOf(spansOf(outline, []), barsOf(outline))).toEqual([
    { at: 6, attempt: 2, why: "answered" },
    { at: 8, attempt: 3, why: "again" },
    { at: 11, attempt: 4, why: "decided" },
  ]);
});
