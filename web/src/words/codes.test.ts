// The sentences for codes, rules and states, in both languages.
import { readFileSync } from "node:fs";
import type { RunStatus } from "@skillrun/client";
import { expect, test } from "vitest";
import { type Decided, actionWords, categoryWords, codeSentence, decidedWords, endedByWords, passageWord, ruleWords, turnWords } from "./codes-gate.ts";
import { codeWords } from "./codes.ts";
import { checkTone, checkWords, childTone, childWords, outcomeOf, outcomeTone, outcomeWords, statusWord, statusWords, stepTone, stepWords } from "./states.ts";

/** What the program itself says, as `skillrun schema words` prints it. */
const own: Record<string, Record<string, string>> = JSON.parse(readFileSync(new URL("../../../schemas/words.json", import.meta.url), "utf8"));

test.each(Object.entries({ codes: codeWords, rules: ruleWords, turns: turnWords, ended_by: endedByWords }))("%s have the English texts of the program", (name, table) => {
  // A terminal shows names in backticks as they are; the page would, too, and has none.
  const told = Object.entries(own[name] ?? {}).map(([key, words]) => [key, words.replaceAll("`", "")]);
  expect(Object.fromEntries(Object.entries(table).map(([key, word]) => [key, word.en]))).toEqual(Object.fromEntries(told));
});

test.each(Object.entries({ codeWords, ruleWords, turnWords, endedByWords, categoryWords, actionWords, childWords, checkWords, outcomeWords, stepWords }))("%s are Chinese in Chinese, each its own", (_, table) => {
  const chinese = Object.values(table).map((word) => word.zh);
  for (const text of chinese) expect(text).toMatch(/\p{Script=Han}/u);
  expect(new Set(chinese).size).toBe(chinese.length);
});

test("a run is shown in the words of the table of presenters", () => {
  const shown = (own["runs"] as unknown as Record<string, Record<string, string>>)["page"] ?? {};
  const isForPrompt = { waiting_answer: false, waiting_prompt: true } as const;
  const statuses: Record<string, RunStatus> = { waiting_answer: "waiting_user", waiting_prompt: "waiting_user", failed_timeout: "failed", failed_output: "failed" };
  const word = (state: string) => state === "failed_partial" ? outcomeWords.partial.en : statusWord(statuses[state] ?? (state as RunStatus), isForPrompt[state as keyof typeof isForPrompt]).en;
  expect(Object.keys(shown).length).toBeGreaterThanOrEqual(Object.keys(statusWords).length);
  expect(Object.fromEntries(Object.keys(shown).map((state) => [state, word(state)]))).toEqual(shown);
});

test("the end of a check is shown in the words of the table of presenters", () => {
  const ends = (own["checks"] as unknown as Record<string, Record<string, string>>)["page"] ?? {};
  expect(Object.fromEntries(Object.entries(checkWords).map(([state, word]) => [state, word.en]))).toEqual(ends);
  const good = Object.entries(checkTone).filter(([, { tone }]) => tone === "good");
  expect(good.map(([state]) => state)).toEqual(["passed"]);
});

test("the end of a child is shown in the words of the table of presenters", () => {
  const { queued, running, needs_orchestrator, ...ends } = (own["children"] as unknown as Record<string, Record<string, string>>)["page"] ?? {};
  // Until it has ended, a child is shown with the status of its run.
  expect([queued, running, needs_orchestrator]).not.toContain(undefined);
  expect(Object.fromEntries(Object.entries(childWords).map(([state, word]) => [state, word.en]))).toEqual(ends);
  const good = Object.entries(childTone).filter(([, { tone }]) => tone === "good");
  expect(good.map(([state]) => state)).toEqual(["completed"]);
});

test.each([
  ["workflows", outcomeWords, outcomeTone, ["completed"]],
  ["steps", stepWords, stepTone, ["ready"]],
])("%s are shown in the words of the table of presenters", (name, words, tones, good) => {
  const shown = (own[name] as unknown as Record<string, Record<string, string>>)["page"];
  expect(Object.fromEntries(Object.entries(words).map(([state, word]) => [state, word.en]))).toEqual(shown);
  expect(Object.entries(tones).filter(([, { tone }]) => tone === "good").map(([state]) => state)).toEqual(good);
});

test("the outcome of a workflow is read from the end of its run, and only success is completed", () => {
  const outcome = (status: RunStatus, error_code: string | null = null, engine = "workflow") => outcomeOf({ engine, status, error_code });
  const failed = ["WORKFLOW_PARTIAL", "WORKFLOW_FAILED", "WORKFLOW_TIMED_OUT", "WORKFLOW_HELD", "HOST_ERROR"].map((code) => outcome("failed", code));
  expect(failed).toEqual(["partial", "failed", "timed_out", "held", undefined]);
  expect([outcome("succeeded"), outcome("canceled"), outcome("running"), outcome("waiting_user")]).toEqual(["completed", "cancelled", undefined, undefined]);
  expect(outcome("succeeded", null, "scripted")).toBe(undefined);
});

test("English is the service's own words, Chinese is ours, and what is not known stays as it came", () => {
  const decided: Decided = { rule: "2b", words: "as told", summary: "Told.", reason_code: "ENGINE_FAILED" };
  expect(decidedWords("en", decided, "failed", 1)).toEqual({ words: "as told", summary: "Told." });
  expect(decidedWords("zh", decided, "failed", 1)).toEqual({ words: ruleWords["2b"].zh, summary: codeWords.ENGINE_FAILED.zh });
  const newer = { ...decided, rule: "99", reason_code: "NEW" } as unknown as Decided;
  expect(decidedWords("zh", newer, "failed", 1)).toEqual({ words: "as told", summary: "Told." });
  expect(codeSentence("zh", "NEW")).toBe("NEW");
});

test("without a turn the moment of the cancel is stated", () => {
  const decided: Decided = { rule: null, words: "x", summary: "x", reason_code: "CANCELED" };
  const told = [0, 2].map((attempts) => decidedWords("zh", decided, "canceled", attempts).words);
  expect(new Set([...told, decidedWords("zh", decided, "failed", 0).words, decidedWords("zh", decided, "failed", 2).words]).size).toBe(4);
});

test("a message in a failed turn is not an answer", () => {
  expect(passageWord("answer", "completed").en).toBe("the answer");
  expect(passageWord("answer", "partial_failed").en).toBe("the last message");
  expect(passageWord("answer", undefined).en).toBe("the last message");
});
