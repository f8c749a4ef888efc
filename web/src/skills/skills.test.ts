// Skills are found, and what can be done with each of them.
import { expect, test } from "vitest";
import { say } from "../words/words.ts";
import { type Finding, type SkillSummary, fitting, isRemovable, isUsable, layerWord } from "./skills.ts";

const skill = (name: string, description: string): SkillSummary => ({ name, description }) as SkillSummary;
const all = [skill("count-words", "Counts the words"), skill("name-a-release", "Finds a name")];

test.each([
  ["", ["count-words", "name-a-release"]],
  ["  WORDS ", ["count-words"]],
  ["finds", ["name-a-release"]],
  ["nowhere", []],
])("letters find skills by name and description: %j", (letters, names) => {
  expect(fitting(all, letters).map(({ name }) => name)).toEqual(names);
});

test("an unknown layer is still named", () => {
  expect(say("en", layerWord("future"), { name: "future" })).toBe("Rules: future");
});

test("only what the service installed is offered for removal", () => {
  expect((["user", "project", "configured", "path"] as const).filter((origin) => isRemovable({ origin }))).toEqual(["user"]);
});

test("a skill with an error cannot be run, one with warnings can", () => {
  const finding = (severity: Finding["severity"]): Finding => ({ severity }) as Finding;
  expect(isUsable({ problem: null, findings: [finding("warning")] })).toBe(true);
  expect(isUsable({ problem: null, findings: [finding("warning"), finding("error")] })).toBe(false);
  expect(isUsable({ problem: "no", findings: [] })).toBe(false);
});
