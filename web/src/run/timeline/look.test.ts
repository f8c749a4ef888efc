// How an attempt ended, and whether that is bad.
import type { Attempt } from "@skillrun/client";
import { expect, test } from "vitest";
import { endOf, isBad } from "./look.ts";

type Ended = NonNullable<Attempt["ended"]>;

function ended(by: Ended["exit"]["ended_by"], turn: Ended["turn"], completion: Ended["completion"]): Ended {
  return { at: "2026-01-01T00:00:00Z", completion, turn, rule: "1", reason_code: "TIMEOUT", exit: { code: null, signal: null, ended_by: by } };
}

test.each([
  [ended("stall", "timed_out", "interrupted"), "stalled", true],
  [ended("hard_timeout", "timed_out", "interrupted"), "timedOut", true],
  [ended("canceled", "interrupted", "interrupted"), "canceled", false],
  [ended("exited", "failed", "interrupted"), "failed", true],
  [ended("exited", "partial_failed", "interrupted"), "partly", true],
  [ended(null, "completed", "awaiting_user_input"), "asked", false],
  [ended("exited", "completed", "unknown"), "unclear", false],
  [ended("linger", "completed", "completed"), "ended", false],
] as const)("%o", (end, word, bad) => {
  expect(endOf(end)).toBe(word);
  expect(isBad(word)).toBe(bad);
});
