// The service this page came from. The browser sends its session by itself.
import { ProblemError, SkillrunClient } from "@skillrun/client";

export const service = new SkillrunClient({ baseUrl: "" });

/** One sentence for somebody who tried something: what is wrong, and what to do. */
export function sentence(error: unknown): string {
  if (error instanceof ProblemError) {
    const { detail, next_action } = error.problem;
    return next_action ? `${detail}. ${next_action}` : detail;
  }
  return error instanceof Error ? error.message : String(error);
}

export function isProblem(error: unknown, ...codes: ProblemError["code"][]): error is ProblemError {
  return error instanceof ProblemError && codes.includes(error.code);
}
