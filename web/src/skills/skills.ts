// Skills as the screens show them.
import type { Skill, SkillList } from "@skillrun/client";
import type { Word } from "../words/words.ts";
import { words } from "./words.ts";

export type SkillSummary = SkillList["skills"][number];
export type Finding = Skill["findings"][number];

export const originWords = {
  project: words.project,
  configured: words.configured,
  user: words.user,
  path: words.path,
} as const satisfies Record<Skill["origin"], Word>;

export const severityWords = {
  error: words.error,
  warning: words.warning,
  note: words.note,
} as const satisfies Record<Finding["severity"], Word>;

/** Those with these letters in their name or in what they say of themselves. */
export function fitting(skills: readonly SkillSummary[], letters: string): readonly SkillSummary[] {
  const wanted = letters.trim().toLowerCase();
  if (wanted === "") return skills;
  return skills.filter(({ name, description }) => `${name}\n${description}`.toLowerCase().includes(wanted));
}

/** An error among the findings keeps a skill from being run, whether it was noticed when it was found or not. */
export function isUsable({ problem, findings }: Pick<Skill, "problem" | "findings">): boolean {
  return problem === null && findings.every(({ severity }) => severity !== "error");
}

/** Only what was installed through the service can be removed through it. */
export function isRemovable(skill: Pick<Skill, "origin">): boolean {
  return skill.origin === "user";
}

/** The layers that the program ships; an operator cannot add others, a later version of the program can. */
export function layerWord(name: string): Word {
  switch (name) {
    case "artifacts":
      return words.layer_artifacts;
    case "auto":
      return words.layer_auto;
    case "interactive":
      return words.layer_interactive;
    case "completion":
      return words.layer_completion;
    default:
      return words.layerOther;
  }
}

export function schemaWord(role: string): Word | undefined {
  return role === "input" ? words.input : role === "parameter" ? words.parameter : role === "output" ? words.output : undefined;
}
