// How long a question still waits, and what happens then: the rules of the run, shown before they apply.
import type { AskOption, Interaction } from "@skillrun/client";

export type Source = Interaction["policy_source"];

/** What happens when no user answers. */
export type Outcome =
  | { is: "waits" }
  /** The process that asked cannot wait longer. */
  | { is: "fails" }
  /** The step of a workflow counts as not decided. */
  | { is: "undecided" }
  | { is: "aborts"; source: Source }
  | { is: "sends"; option: AskOption; source: Source }
  | { is: "judges"; source: Source }
  /** No option is marked, so the agent decides. */
  | { is: "judges_without_default" }
  /** A risk is never acknowledged without a person. */
  | { is: "not_acknowledged" };

export type Countdown =
  | { is: "endless" }
  | { is: "running"; outcome: Outcome; left: number }
  /** The time is up; what was decided is not known here yet. */
  | { is: "due"; outcome: Outcome };

export type Waiting = Pick<Interaction, "kind" | "options" | "deadline" | "on_deadline" | "default_decision_policy" | "policy_source">;

export function outcome(question: Waiting): Outcome {
  switch (question.on_deadline) {
    case "wait":
      return { is: "waits" };
    case "fail_run":
      return { is: "fails" };
    case "hold_step":
      return { is: "undecided" };
    case "auto_reply":
      return decision(question);
  }
}

function decision(question: Waiting): Outcome {
  const source = question.policy_source;
  // A model's word is advice: only the request or the skill can end a run.
  const isBinding = source === "request" || source === "skill";
  const policy = question.default_decision_policy;
  if (policy === "abort" && isBinding) return { is: "aborts", source };
  if (question.kind === "risk_ack") return { is: "not_acknowledged" };
  switch (policy) {
    case "engine_judgement":
      return { is: "judges", source };
    case "abort":
      return { is: "judges", source: "default" };
    case "safe_default": {
      const option = question.options.find((offered) => offered.default === true);
      return option ? { is: "sends", option, source } : { is: "judges_without_default" };
    }
  }
}

export function countdown(question: Waiting, now: number): Countdown {
  const ends = question.deadline === null ? Number.NaN : Date.parse(question.deadline);
  const what = outcome(question);
  if (Number.isNaN(ends) || what.is === "waits") return { is: "endless" };
  return now < ends ? { is: "running", outcome: what, left: ends - now } : { is: "due", outcome: what };
}

/** Whole seconds. It never says 0 while there is time; the clock of the page is up to a second old, so it is not rounded up. */
export function secondsLeft(left: number): number {
  return Math.max(1, Math.round(left / 1_000));
}
