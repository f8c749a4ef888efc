// The rows of the conversation in words.
import type { Diagnosis } from "@skillrun/client";
import { expect, test } from "vitest";
import type { AttemptEnd } from "../../words/codes-gate.ts";
import { beginning, endWord, endingOf, inputLine, questionState, stripParts, worstOf } from "./describe.ts";
import type { Line } from "./rows.ts";

test("what a tool was given is one line in which everything can be seen", () => {
  expect(inputLine({ command: "ls -l" })).toBe("ls -l");
  expect(inputLine({ path: "a", text: "b" })).toBe('{"path":"a","text":"b"}');
  expect(inputLine({ command: "rm\n\u202Egpj" })).toBe("rm ⏎ ⟨U+202E⟩gpj");
  expect(inputLine(undefined)).toBe("");
  expect(inputLine("x".repeat(1_000_000)).length).toBeLessThan(200);
});

test("a long text is cut, and says by how much", () => {
  expect(beginning("abc")).toEqual({ text: "abc", left: 0 });
  expect(beginning("x".repeat(30_000)).left).toBe(10_000);
});

test("an attempt says how it ended, and who ended it", () => {
  const ended = { turn: "timed_out", exit: { code: null, signal: "SIGKILL", ended_by: "hard_timeout" } } as AttemptEnd;
  expect(endingOf("en", ended)).toBe("ran out of time · ended by the host, its time was up");
  expect(endingOf("en", { ...ended, turn: "partial_failed", exit: { code: 1, signal: null, ended_by: "exited" } })).toBe("failed after part of an answer");
  expect(endingOf("zh", null)).toBeUndefined();
});

test("a strip counts what it holds", () => {
  const line = (kind: Line["kind"], level: Line["level"], count = 1): Line => ({ raspSeq: 1, kind, level, code: undefined, text: "", count, range: undefined });
  const lines = [line("stdout", "info"), line("stderr", "info"), line("diagnostic", "error", 3), line("guess", "warning")];
  expect(stripParts(lines).map(({ n }) => n)).toEqual([1, 1, 1, 3]);
  expect(worstOf(lines)).toEqual({ errors: 3, warnings: 1 });
});

test("only the service says that a question is open", () => {
  const diagnosis = { questions: [{ interaction_id: 1, resolution: { is: "closed" } }, { interaction_id: 2, resolution: { is: "open" } }, { interaction_id: 3, resolution: { is: "answered", mode: "auto_decide_timeout" } }] } as unknown as Diagnosis;
  expect(questionState(2, 2, diagnosis).is).toBe("open");
  expect(questionState(2, undefined, diagnosis).is).toBe("unknown");
  expect(questionState(1, undefined, diagnosis).is).toBe("closed");
  expect(questionState(3, undefined, diagnosis).word?.en).toContain("automatically");
  expect(questionState(9, undefined, undefined).is).toBe("unknown");
});

test("only success sounds like success", () => {
  expect(endWord("succeeded").en).toContain("succeeded");
  for (const state of ["failed", "canceled", "running"] as const) expect(endWord(state).en).not.toContain("succeeded");
});
