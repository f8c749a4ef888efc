// The checks of a diagnosis in words.
import { expect, test } from "vitest";
import { type Check, countsOf, topicWord } from "./checks.ts";

test("what needs attention is counted", () => {
  const checks = (["passed", "failed", "warning", "unknown", "warning"] as const).map((severity) => ({ check: "output_cut", severity, words: "" }) as Check);
  expect(countsOf(checks)).toEqual({ failed: 1, warning: 2 });
  expect(countsOf([])).toEqual({ failed: 0, warning: 0 });
});

test("a check that the page does not know has a word", () => {
  expect(topicWord("output_cut").en).toBe("output missing");
  expect(topicWord("something_new" as Check["check"]).en).toBe("another check");
});
