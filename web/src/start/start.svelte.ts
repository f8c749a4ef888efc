// A run that is being made ready, of a skill or of a prompt: what was chosen and typed, and what the service said to it.
import type { CreateRun, Engine, RunOptions, Skill } from "@skillrun/client";
import { ProblemError } from "@skillrun/client";
import { Keys, fileMark } from "../service/key.ts";
import { isProblem, sentence, service } from "../service/service.ts";
import { t } from "../words/language.svelte.ts";
import { ALL_MODES, fitting, modesFor, obvious } from "./choices.ts";
import { type Drafts, type Wrong, begun, collected, pathsOf, placed } from "./form.ts";
import { OPTION_FIELDS, PROMPT_OPTION_FIELDS } from "./options.ts";
import { type Field, fieldsOf } from "./schema.ts";
import { type Slot, wrongSlot } from "./slots.ts";
import { words } from "./words.ts";

const NOTHING: ReadonlyMap<string, never> = new Map<string, never>();

export class Start {
  skill = $state.raw<Skill | undefined>();
  engines = $state.raw<readonly Engine[]>([]);
  isLoaded = $state(false);
  /** Why there is no form. */
  trouble = $state<string | undefined>();

  engine = $state("");
  mode = $state<Skill["modes"][number] | "">("");
  model = $state("");
  prompt = $state("");
  drafts = $state.raw<Drafts>(new Map());
  slots = $state.raw<readonly Slot[]>([]);

  isStarting = $state(false);
  /** The user tried to start; from then on missing fields are marked. */
  isChecked = $state(false);
  refusal = $state<string | undefined>();
  /** What the service said about fields, until they are changed. */
  said = $state.raw<ReadonlyMap<string, string>>(NOTHING);

  readonly input = $derived<readonly Field[]>(this.skill ? fieldsOf(this.skill.schemas["input"], "input") : []);
  readonly parameter = $derived<readonly Field[]>(this.skill?.schemas["parameter"] ? fieldsOf(this.skill.schemas["parameter"], "parameter") : []);
  readonly chosen = $derived(this.engines.find(({ name }) => name === this.engine));
  readonly modes = $derived(this.allowed());
  readonly optionFields: readonly Field[];
  readonly made = $derived(this.make());
  readonly wrongSlot = $derived(wrongSlot(this.slots));
  readonly wrongCount = $derived(this.made.wrong.size + (this.wrongSlot ? 1 : 0));

  private readonly keys = new Keys();
  private readonly stop = new AbortController();

  /** `name`: the skill; without one, the run is of a prompt. */
  constructor(readonly name: string | undefined) {
    this.optionFields = name === undefined ? PROMPT_OPTION_FIELDS : OPTION_FIELDS;
    if (name === undefined) this.mode = "auto";
  }

  async load(): Promise<void> {
    const { signal } = this.stop;
    this.trouble = undefined;
    try {
      const asked = this.name === undefined ? undefined : service.skill(this.name, { signal });
      const [skill, { engines }] = await Promise.all([asked, service.engines({ signal })]);
      this.skill = skill;
      this.engines = fitting(engines, skill ?? { engines: [], unsupported_engines: [] });
      this.engine = obvious(this.engines);
      this.drafts = new Map([...begun(this.input), ...begun(this.parameter)]);
      this.isLoaded = true;
    } catch (error) {
      if (!signal.aborted) this.trouble = isProblem(error, "SKILL_NOT_FOUND") ? t(words.noSuch) : sentence(error);
    }
  }

  close(): void {
    this.stop.abort();
  }

  set(path: string, text: string): void {
    this.drafts = new Map(this.drafts).set(path, text);
    this.forget(path);
  }

  /** What was said about a field is not said of what stands there now. */
  forget(path: string): void {
    if (!this.said.has(path)) return;
    const said = new Map(this.said);
    said.delete(path);
    this.said = said;
  }

  /** The id of the run, once there is one. */
  async start(): Promise<string | undefined> {
    this.isChecked = true;
    if (this.isStarting || this.wrongCount > 0) return undefined;
    this.isStarting = true;
    this.refusal = undefined;
    this.said = NOTHING;
    const { request } = this.made;
    try {
      const files = Object.fromEntries(this.slots.map(({ name, file }) => [name.trim(), file]));
      const run = await service.createRun(request, { idempotencyKey: this.keyOf(request), files });
      return run.run_id;
    } catch (error) {
      this.refused(error);
      return undefined;
    } finally {
      this.isStarting = false;
    }
  }

  private allowed(): readonly Skill["modes"][number][] {
    return modesFor(this.name === undefined ? ALL_MODES : (this.skill?.modes ?? []), this.chosen);
  }

  private make(): { request: CreateRun; wrong: ReadonlyMap<string, Wrong> } {
    const input = collected(this.input, this.drafts, "input");
    const parameter = collected(this.parameter, this.drafts, "parameter");
    const options = collected(this.optionFields, this.drafts, "options");
    const isBlank = this.name === undefined && this.prompt.trim() === "";
    const request: CreateRun = {
      ...(this.name === undefined ? { prompt: this.prompt } : { skill: this.name }),
      ...(this.engine !== "" && { engine: this.engine }),
      ...(this.mode !== "" && this.modes.includes(this.mode) && { mode: this.mode }),
      ...(this.model.trim() !== "" && { model: this.model.trim() }),
      ...(Object.keys(input.value).length > 0 && { input: input.value }),
      ...(Object.keys(parameter.value).length > 0 && { parameter: parameter.value }),
      // The fields of the options are made so that they fit.
      ...(Object.keys(options.value).length > 0 && { options: options.value as RunOptions }),
    };
    const prompt: [string, Wrong][] = isBlank ? [["prompt", { is: "missing" }]] : [];
    return { request, wrong: new Map([...prompt, ...input.wrong, ...parameter.wrong, ...options.wrong]) };
  }

  /** The same request keeps its key, so that one whose answer was lost makes no second run. */
  private keyOf(request: CreateRun): string {
    return this.keys.of([request, this.slots.map(({ name, file }) => [name, ...fileMark(file)])]);
  }

  private refused(error: unknown): void {
    const errors = error instanceof ProblemError ? (error.problem.errors ?? []) : [];
    const paths = ["prompt", "engine", "mode", "model", "files", "input", "parameter", "options", ...pathsOf(this.input), ...pathsOf(this.parameter), ...pathsOf(this.optionFields)];
    const said = new Map(placed(errors, paths));
    // A problem shown at a field is not repeated; the whole is shown only if no field was named.
    this.refusal = said.size > 0 && !said.has("") ? "" : (said.get("") ?? (error instanceof ProblemError ? sentence(error) : t(words.away)));
    said.delete("");
    this.said = said;
  }
}
