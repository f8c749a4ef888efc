// The forms below the conversation: the one of the open question, and before it those of questions that were decided
// while somebody here was writing an answer. What was written stays until it is dismissed.
import type { Interaction, Run } from "@skillrun/client";
import type { Late } from "../../inbox/late.ts";

export interface Form {
  readonly question: Interaction;
  /** What became of the question; nothing while it is open. */
  readonly closed: Late | undefined;
}

/** So many forms of decided questions are kept; the oldest go. */
export const MOST_KEPT = 3;

/** The question that waits, of a run as the service told it. */
export function openOf(run: Pick<Run, "status" | "interaction"> | undefined): Interaction | undefined {
  return run?.status === "waiting_user" ? (run.interaction ?? undefined) : undefined;
}

/** The forms after the service has told which question is open. */
export function formsAfter(forms: readonly Form[], open: Interaction | undefined, isWritten: (interaction: number) => boolean): readonly Form[] {
  const kept = forms
    .filter(({ question }) => question.interaction_id !== open?.interaction_id && isWritten(question.interaction_id))
    .map(({ question, closed }): Form => ({ question, closed: closed ?? { is: "closed" } }))
    .slice(-MOST_KEPT);
  return open ? [...kept, { question: open, closed: undefined }] : kept;
}

export function toldOf(forms: readonly Form[], interaction: number, closed: Late): readonly Form[] {
  return forms.map((form) => (form.question.interaction_id === interaction && form.closed ? { ...form, closed } : form));
}
