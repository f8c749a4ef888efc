// A workflow that is being made ready: its text, what the service says of it, and its inputs.
import type { CreateWorkflow, Engine, WorkflowCheck } from "@skillrun/client";
import { ProblemError } from "@skillrun/client";
import { Looks } from "../run/looks.ts";
import { Keys } from "../service/key.ts";
import { sentence, service } from "../service/service.ts";
import { t } from "../words/language.svelte.ts";
import { type Drafts, type Wrong, begun, collected, pathsOf, placed } from "./form.ts";
import { INPUTS, inputFields } from "./plan.ts";
import { words } from "./words.ts";

/** The user is still typing. */
const TYPING_MS = 400;
/** What the file is called in a command where only its text was given. */
const UNNAMED = "workflow.yaml";

const NOTHING: ReadonlyMap<string, never> = new Map<string, never>();

export class WorkflowStart {
  text = $state("");
  file = $state(UNNAMED);
  engines = $state.raw<readonly Engine[]>([]);
  engine = $state("");
  drafts = $state.raw<Drafts>(new Map());

  /** What the service said of the text that was checked last. */
  private told = $state.raw<{ readonly text: string; readonly engine: string; readonly check: WorkflowCheck } | undefined>();
  /** Why it could not be checked. */
  trouble = $state<string | undefined>();
  isStarting = $state(false);
  /** The user tried to start; from then on missing fields are marked. */
  isChecked = $state(false);
  refusal = $state<string | undefined>();
  said = $state.raw<ReadonlyMap<string, string>>(NOTHING);

  readonly isBlank = $derived(this.text.trim() === "");
  /** Of the text as it stands; none while it is checked. */
  readonly check = $derived(this.told?.text === this.text && this.told.engine === this.engine && !this.isBlank ? this.told.check : undefined);
  readonly plan = $derived(this.check?.valid ? (this.check.plan ?? undefined) : undefined);
  /** The form stays while the text changes and is checked again. */
  readonly fields = $derived(inputFields(this.isBlank ? undefined : this.told?.check.plan?.inputs));
  readonly inputs = $derived(collected(this.fields, this.drafts, INPUTS));
  readonly wrong = $derived<ReadonlyMap<string, Wrong>>(this.inputs.wrong);
  readonly request = $derived<CreateWorkflow>({
    workflow: this.text,
    ...(Object.keys(this.inputs.value).length > 0 && { inputs: this.inputs.value }),
    ...(this.engine !== "" && { engine: this.engine }),
  });

  private readonly keys = new Keys();
  private readonly stop = new AbortController();
  private readonly looks = new Looks(() => this.validate());

  async load(): Promise<void> {
    try {
      this.engines = (await service.engines({ signal: this.stop.signal })).engines;
    } catch {
      // The choice of an engine is not needed to start.
    }
  }

  close(): void {
    this.stop.abort();
    this.looks.close();
  }

  write(text: string): void {
    this.text = text;
    this.refusal = undefined;
    this.looks.soon(TYPING_MS);
  }

  async choose(file: File): Promise<void> {
    this.file = file.name;
    this.write(await file.text());
    await this.looks.again();
  }

  set(path: string, text: string): void {
    this.drafts = new Map(this.drafts).set(path, text);
    const said = new Map(this.said);
    said.delete(path);
    this.said = said;
  }

  checkAgain(): void {
    void this.looks.again();
  }

  /** The id of the run, once there is one. */
  async start(): Promise<string | undefined> {
    this.isChecked = true;
    if (this.isStarting || this.isBlank) return undefined;
    // What was typed a moment ago is not checked yet.
    if (this.check === undefined) await this.looks.again();
    if (this.check?.valid === false || this.wrong.size > 0) return undefined;
    this.isStarting = true;
    this.refusal = undefined;
    this.said = NOTHING;
    const { request } = this;
    try {
      return (await service.createWorkflow(request, { idempotencyKey: this.keys.of(request) })).run_id;
    } catch (error) {
      const errors = error instanceof ProblemError ? (error.problem.errors ?? []) : [];
      const said = new Map(placed(errors, [INPUTS, "workflow", "engine", ...pathsOf(this.fields)]));
      this.refusal = said.size > 0 && !said.has("") ? "" : (said.get("") ?? (error instanceof ProblemError ? sentence(error) : t(words.away)));
      said.delete("");
      this.said = said;
      return undefined;
    } finally {
      this.isStarting = false;
    }
  }

  private async validate(): Promise<void> {
    const { text, engine } = this;
    if (text.trim() === "") return;
    try {
      const check = await service.validateWorkflow({ workflow: text, ...(engine !== "" && { engine }) }, { signal: this.stop.signal });
      this.trouble = undefined;
      this.told = { text, engine, check };
      // What was typed for an input of the same name stays.
      this.drafts = new Map([...begun(this.fields), ...this.drafts]);
    } catch (error) {
      if (!this.stop.signal.aborted) this.trouble = sentence(error);
    }
  }
}
