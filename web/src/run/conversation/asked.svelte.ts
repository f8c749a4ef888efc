// The forms below the conversation as they are kept for as long as the run is shown, whichever of its views is in front.
import type { Interaction, Run } from "@skillrun/client";
import { asked } from "../../inbox/answer.svelte.ts";
import { drafts } from "../../inbox/drafts.ts";
import { lateness } from "../../inbox/late.ts";
import { type Form, formsAfter, openOf, toldOf } from "./asked.ts";

export class Asking {
  forms = $state.raw<readonly Form[]>([]);
  /** Questions with something written for them. */
  private readonly written = new Set<number>();

  constructor(private readonly run: string) {}

  /** The service has reported the state of the run. */
  update(run: Run): void {
    const before = this.forms;
    this.forms = formsAfter(before, openOf(run), (interaction) => this.written.has(interaction));
    for (const { question, closed } of this.forms) {
      const wasOpen = before.some((form) => form.question.interaction_id === question.interaction_id && !form.closed);
      if (closed && wasOpen) void this.tell(question, run);
    }
  }

  wrote({ interaction_id: id }: Interaction, isSomething: boolean): void {
    if (isSomething) this.written.add(id);
    else this.written.delete(id);
  }

  dismiss({ interaction_id: id }: Interaction): void {
    this.written.delete(id);
    drafts.drop(this.run, id);
    this.forms = this.forms.filter(({ question }) => question.interaction_id !== id);
  }

  private async tell({ interaction_id: id }: Interaction, run: Run): Promise<void> {
    this.forms = toldOf(this.forms, id, lateness(await asked(this.run, id), { status: run.status ?? undefined }));
  }
}
