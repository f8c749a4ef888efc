// Drafts of answers, kept outside of the forms: a form that is created again for the same question, on another screen
// or in another place, continues where the last one was left.
import type { Interaction } from "@skillrun/client";
import { Answer } from "./answer.svelte.ts";
import { keyOf } from "./inbox.ts";

/** The number of drafts kept. Beyond that the oldest are discarded, empty ones before the others. */
export const MOST_DRAFTS = 50;

export class Drafts {
  /** Used last stands last. */
  private readonly kept = new Map<string, Answer>();

  /** The answer to this question as it was left; an empty one where there is none. */
  of(run: string, question: Interaction): Answer {
    const answer = this.kept.get(keyOf(run, question.interaction_id)) ?? new Answer(run, question);
    this.keep(answer);
    return answer;
  }

  /** Once something was written: it may have gone while it was empty. */
  keep(answer: Answer): void {
    const key = keyOf(answer.run, answer.question.interaction_id);
    this.kept.delete(key);
    this.kept.set(key, answer);
    if (this.kept.size <= MOST_DRAFTS) return;
    const others = [...this.kept].filter(([other]) => other !== key);
    const [oldest] = others.find(([, { isWritten }]) => !isWritten) ?? others[0] ?? [];
    if (oldest !== undefined) this.kept.delete(oldest);
  }

  /** Once the answer was taken, or is not wanted any more. */
  drop(run: string, interaction: number): void {
    this.kept.delete(keyOf(run, interaction));
  }
}

export const drafts = new Drafts();
