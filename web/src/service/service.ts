// The service this page came from, with the token of this browser.
import { ProblemError, SkillrunClient } from "@skillrun/client";
import { t } from "../words/language.svelte.ts";
import { sessionToken } from "./session.ts";
import { words } from "./words.ts";

export const service = new SkillrunClient({ baseUrl: "", token: sessionToken });

/** One sentence for a failed request: what is wrong, and what to do. */
export function sentence(error: unknown): string {
  if (error instanceof ProblemError) {
    const { detail, next_action } = error.problem;
    return next_action ? `${detail}. ${next_action}` : detail;
  }
  if (isAway(error)) return t(words.away);
  return error instanceof Error ? error.message : String(error);
}

/** Whether nothing came back at all. Browsers say so each in their own English, and with the type of a mistake in code. */
function isAway(error: unknown): boolean {
  return error instanceof TypeError && /fetch|network|load failed|terminated/i.test(error.message);
}

export function isProblem(error: unknown, ...codes: ProblemError["code"][]): error is ProblemError {
  return error instanceof ProblemError && codes.includes(error.code);
}
