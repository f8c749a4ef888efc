// The ranges of bytes that an event was made from.
import type { RaspEvent } from "@skillrun/client";
import { expect, test } from "vitest";
import { bySpecificity, spansOf } from "./spans.ts";

function event(seq: number, raw: Partial<RaspEvent["raw_ref"]>, data: unknown = {}): RaspEvent {
  const raw_ref = { stdout_from: 0, stdout_to: 0, stderr_from: 0, stderr_to: 0, ...raw };
  return { seq, attempt_number: 2, data, raw_ref } as RaspEvent;
}

test("an event has the range that it says", () => {
  expect(spansOf(event(1, { stdout_from: 5, stdout_to: 9 }))).toEqual([{ attempt: 2, stream: "stdout", from: 5, to: 9 }]);
  expect(spansOf(event(1, { stderr_from: 0, stderr_to: 9 }))).toEqual([{ attempt: 2, stream: "stderr", from: 0, to: 9 }]);
});

test("what skillrun says by itself has none", () => {
  expect(spansOf(event(1, {}))).toEqual([]);
});

test("where there are pieces, the range around them is not one; other streams keep theirs", () => {
  const spans = [{ stream: "stdout", from: 30, to: 40 }, { stream: "stdout", from: 1, to: 4 }, { stream: "pty", from: 2, to: 3 }];
  expect(spansOf(event(1, { stdout_from: 1, stdout_to: 40, stderr_from: 7, stderr_to: 8 }, { spans }))).toEqual([
    { attempt: 2, stream: "stdout", from: 1, to: 4 },
    { attempt: 2, stream: "stdout", from: 30, to: 40 },
    { attempt: 2, stream: "stderr", from: 7, to: 8 },
    { attempt: 2, stream: "pty", from: 2, to: 3 },
  ]);
});

test.each([null, "spans", { spans: "x" }, { spans: [null, 3, {}, { stream: "control", from: 0, to: 1 }, { stream: "stdout", from: 5, to: 5 }, { stream: "stdout", from: -1, to: 5 }] }])("nonsense is no piece: %j", (data) => {
  expect(spansOf(event(1, {}, data))).toEqual([]);
});

test("the event with the fewest bytes comes first", () => {
  const events = [event(1, { stdout_from: 0, stdout_to: 100 }), event(2, { stdout_from: 5, stdout_to: 9 }), event(3, { stdout_from: 5, stdout_to: 9 })];
  expect(bySpecificity(events, "stdout").map(({ seq }) => seq)).toEqual([2, 3, 1]);
});
