// An event in one line.
import { expect, test } from "vitest";
import { sureness, summaryOf } from "./event-summary.ts";

test.each([
  [{ message_id: "m1", text: "Hello\n\nthere\tyou", partial: false }, "Hello there you"],
  [{ name: "shell", input: { command: "ls" } }, "shell"],
  [{ phase: "turn_started" }, "turn_started"],
  [{ input_tokens: 5, output_tokens: 7, details: null }, "input_tokens: 5 · output_tokens: 7"],
  [{ exit: { code: 0, signal: null }, list: [1, 2] }, "exit: {code, signal} · list: [2]"],
  [{}, ""],
  [null, ""],
  ["just words", "just words"],
  [{ text: { not: "a text" }, code: "X" }, "X"],
])("an event has a summary of one line: %j", (data, line) => {
  expect(summaryOf(data)).toBe(line);
});

test("what hides in it is seen, and it is never long", () => {
  expect(summaryOf({ text: "a\u202eb\u0000<img onerror=x>" })).toBe("a⟨U+202E⟩b⟨U+0000⟩<img onerror=x>");
  expect(summaryOf({ text: "x".repeat(1_000_000) }).length).toBeLessThan(300);
  expect(summaryOf(Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`.repeat(200), "v".repeat(1_000)]))).length).toBeLessThan(1_000);
});

test("confidence in words", () => {
  expect([1, 0.99, 0.7, 0.69, 0].map(sureness)).toEqual(["exact", "likely", "likely", "guess", "guess"]);
});
