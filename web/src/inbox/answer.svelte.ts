// One answer that is being written: what was typed, whether it is under way, and what became of it. Nothing that was
// typed is given up before the service has taken it.
import type { Asked, Interaction } from "@skillrun/client";
import { ProblemError } from "@skillrun/client";
import { Keys, fileMark, freshKey } from "../service/key.ts";
import { isProblem, sentence, service } from "../service/service.ts";
import { type Late, currentOf, lateness } from "./late.ts";

export const MOST_FILES = 20;

export type Phase = "writing" | "sending" | "sent";

export type Trouble =
  /** The service said no, and why. */
  | { is: "refused"; why: string }
  /** Nothing came back: it may have arrived all the same. */
  | { is: "unknown" };

export class Answer {
  text = $state("");
  /** What was typed to acknowledge. */
  word = $state("");
  values = $state.raw<ReadonlyMap<string, string>>(new Map());
  files = $state.raw<readonly File[]>([]);
  phase = $state<Phase>("writing");
  trouble = $state.raw<Trouble | undefined>();
  late = $state.raw<Late | undefined>();

  /** Whether there is input that the user would miss. */
  readonly isWritten = $derived(this.phase !== "sent" && (this.text !== "" || this.word !== "" || this.files.length > 0 || [...this.values.values()].some((value) => value !== "")));

  private readonly keys: Keys;

  constructor(
    readonly run: string,
    readonly question: Interaction,
    random: () => string = freshKey,
  ) {
    this.keys = new Keys(random);
  }

  set(name: string, value: string): void {
    this.values = new Map(this.values).set(name, value);
  }

  /** Whether more were offered than are taken. */
  attach(files: Iterable<File>): boolean {
    const all = [...this.files, ...files];
    this.files = all.slice(0, MOST_FILES);
    return all.length > MOST_FILES;
  }

  detach(file: File): void {
    this.files = this.files.filter((other) => other !== file);
  }

  /** Whether the service has taken it. */
  async send(text: string): Promise<boolean> {
    if (this.phase !== "writing") return false;
    this.phase = "sending";
    this.trouble = undefined;
    try {
      const files = [...this.files];
      const reply = { interaction_id: this.question.interaction_id, text, idempotency_key: this.keys.of([text, files.map(fileMark)]) };
      await service.reply(this.run, reply, { files });
      this.phase = "sent";
      return true;
    } catch (error) {
      this.phase = "writing";
      if (isProblem(error, "STALE_INTERACTION", "RUN_OVER", "RUN_REMOVED", "RUN_NOT_FOUND")) {
        this.late = await whatBecame(this.run, this.question.interaction_id, error);
      } else {
        this.trouble = error instanceof ProblemError ? { is: "refused", why: sentence(error) } : { is: "unknown" };
      }
      return false;
    }
  }
}

async function whatBecame(run: string, interaction: number, error: ProblemError): Promise<Late> {
  return lateness(await asked(run, interaction), currentOf(error.problem.current));
}

/** The question with its history; nothing where it cannot be had. */
export async function asked(run: string, interaction: number): Promise<Asked | undefined> {
  try {
    const { interactions } = await service.interactions(run);
    return interactions.find(({ question }) => question.interaction_id === interaction);
  } catch {
    return undefined;
  }
}
