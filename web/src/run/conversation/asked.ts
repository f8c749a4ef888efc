// The forms below the conversation: the one of the open question, and before it those of questions that were decided
// while the user was writing an answer. The text stays until it is dismissed.
import type { Interaction, Run } from "@skillrun/client";
import type { Late } from "../../inbox/late.ts";

export interface Form {
  readonly question: Interaction;
  /** What became of the question; nothing while it is open. */
  readonly closed: Late | undefined;
}

/** The number of forms kept for decided questions; the oldest are removed. */
export const MOST_KEPT = 3;

/** The waiting question of a run, as the service reported it. */
export function openOf(run: Pick<Run, "status" | "interaction"> | undefined): Interaction | undefined {
  return run?.status === "waiting_user" ? (run.interaction ?? undefined) : undefined;
}

/** The forms after the service has reported which question is open. */
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
