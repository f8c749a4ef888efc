// From the words of an engine to the time when it can go on.
import { expect, test } from "vitest";
import { resetOf } from "./reset.ts";

const at = Date.parse("2026-01-01T10:00:00Z");
const minutes = (n: number): number => at + n * 60_000;

test.each([
  ["Rate limit reached. Resets at 2026-01-01T12:00:00Z", minutes(120)],
  ["quota exceeded until 2026-01-01 12:00:00+01:00, sorry", minutes(60)],
  ["usage limit reached|1767265200", Date.parse("2026-01-01T11:00:00Z")],
  ['{"resets_at": 1767265200}', Date.parse("2026-01-01T11:00:00Z")],
  ['{"error":"429","resetsAt":1767265200}', Date.parse("2026-01-01T11:00:00Z")],
  ["Please try again in 20s.", at + 20_000],
  ["Please try again in 1.5 seconds", at + 1_500],
  ["retry in 5 minutes", minutes(5)],
  ["Retry-After: 90", at + 90_000],
  ["try again in 2 hours", minutes(120)],
])("%j tells when", (message, moment) => {
  expect(resetOf(message, at)).toBe(moment);
});

test.each([
  "Too many requests, 429.",
  "The model is overloaded. Try again later.",
  "it failed in 3 files",
  "I tried again in 3 files",
  "try again in 500ms",
  "failed at 2025-12-31T12:00:00Z",
  "resets at 2036-01-01T12:00:00Z",
  "resets at 2026-99-99T99:99:99Z",
  "",
])("%j tells no time", (message) => {
  expect(resetOf(message, at)).toBeUndefined();
});

test("what is endless is looked through in no time", () => {
  const begin = performance.now();
  expect(resetOf("again in ".repeat(1_000_000), at)).toBeUndefined();
  expect(performance.now() - begin).toBeLessThan(1_000);
});
