// What the verdict shows, worked out from the run and its diagnosis.
import type { Attempt, Diagnosis, Engine, EventsAt, NextAction, RaspEvent, Run, RunRequest } from "@skillrun/client";
import { fromNow, moment } from "../../parts/time.ts";
import { canAsk, isInstalled } from "../../start/choices.ts";
import type { Decided, Passage, TurnState } from "../../words/codes-gate.ts";
import type { Language } from "../../words/words.ts";

/** What the page can do itself about a next action; the command is shown for all of them. */
export type Doing =
  | { readonly does: "retry" }
  | { readonly does: "choose_engine" }
  | { readonly does: "choose_model" }
  | { readonly does: "number"; readonly option: "hard_timeout_sec" | "stall_timeout_sec" | "session_timeout_sec" | "max_attempt" }
  | { readonly does: "answer" }
  | { readonly does: "show_evidence" }
  | { readonly does: "show_details" }
  | { readonly does: "show_files" }
  | { readonly does: "show_skill" }
  | { readonly does: "show_start" }
  | { readonly does: "show_engines" }
  | { readonly does: "show_run"; readonly run: string }
  | { readonly does: "retry_steps" }
  | { readonly does: "show_steps" }
  | { readonly does: "nothing" };

/** What the user can do about the turns of a run: stop the open one, or close a conversation that waits for a prompt.
    The question of a workflow can be closed too: then its step is not decided. */
export function turnAction(run: Pick<Run, "status" | "mode" | "interaction">): "interrupt" | "close" | "close_question" | undefined {
  if (run.status === "waiting_user" && run.interaction?.scope === "step") return "close_question";
  if (run.mode === "auto") return undefined;
  if (run.status === "running") return "interrupt";
  if (run.status !== "waiting_user") return undefined;
  switch (run.interaction?.scope) {
    case "call":
      return "interrupt";
    case "prompt":
      return "close";
    case "turn":
    case "step":
    case undefined:
      return undefined;
  }
}

/** Whether another engine can take the conversation over: a turn has begun, and none is running. */
export function canContinue({ status, attempt }: Pick<Run, "status" | "attempt">): boolean {
  switch (status) {
    case "waiting_user":
    case "succeeded":
    case "closed":
    case "failed":
    case "canceled":
      return attempt > 0;
    case "queued":
    case "running":
    case null:
      return false;
  }
}

/** The engines that can hold a conversation; the engine of the run itself comes last. */
export function continuing(engines: readonly Engine[], own: string | null | undefined): readonly Engine[] {
  const able = engines.filter((engine) => isInstalled(engine) && canAsk(engine));
  return [...able.filter(({ name }) => name !== own), ...able.filter(({ name }) => name === own)];
}

/** What the page asks about before it tries again. */
export type Asking = Extract<Doing, { does: "choose_engine" | "choose_model" | "number" }>;

export function hasForm(doing: Doing): doing is Asking {
  return doing.does === "choose_engine" || doing.does === "choose_model" || doing.does === "number";
}

/** `retriedAs`: the run that tries the same again by itself. */
export function doingOf({ action, command }: NextAction, retriedAs?: string | null): Doing {
  switch (action) {
    case "retry":
      return { does: "retry" };
    case "retry_later":
      return retriedAs ? { does: "show_run", run: retriedAs } : { does: "retry" };
    case "retry_other_engine":
      return { does: "choose_engine" };
    case "choose_model":
      return { does: "choose_model" };
    case "raise_timeout":
      // The command says which of the times was too short.
      if (command.includes("--session-timeout")) return { does: "number", option: "session_timeout_sec" };
      return { does: "number", option: command.includes("--stall") ? "stall_timeout_sec" : "hard_timeout_sec" };
    case "raise_max_attempt":
      return { does: "number", option: "max_attempt" };
    case "reply":
      return { does: "answer" };
    case "inspect_evidence":
      return { does: "show_evidence" };
    case "diagnose":
      return { does: "show_details" };
    case "fix_output":
      return { does: "show_files" };
    case "fix_skill":
      return { does: "show_skill" };
    case "fix_input":
      return { does: "show_start" };
    case "login_engine":
    case "install_engine":
      return { does: "show_engines" };
    case "retry_failed_steps":
      return { does: "retry_steps" };
    case "show_workflow":
      return { does: "show_steps" };
    // The verdict has a button for it.
    case "close":
    case "free_disk":
      return { does: "nothing" };
  }
}

/** Actions that may help come first, then those that help later, then those that only find the cause. */
function rankOf({ action }: NextAction): number {
  return action === "inspect_evidence" || action === "diagnose" || action === "show_workflow" ? 2 : action === "retry_later" ? 1 : 0;
}

/** As the service has them within a rank. */
export function inOrder(actions: readonly NextAction[]): NextAction[] {
  return [...actions].sort((one, other) => rankOf(one) - rankOf(other));
}

/** The action that most likely helps; never one that is better done later while it is not time. */
export function primaryOf(actions: readonly NextAction[], isTime: boolean): NextAction | undefined {
  const later = isTime ? actions.find(({ action }) => action === "retry_later") : undefined;
  return later ?? inOrder(actions).find(({ action }) => action !== "retry_later");
}

/** Whether the code says more than the rule: some rules have several ends, and only the code says which it was. */
export function saysMore(rule: Decided["rule"]): boolean {
  switch (rule) {
    case null:
    case "5":
    case "5b":
    case "9":
    case "10":
      return true;
    case "1":
    case "1b":
    case "2":
    case "2b":
    case "3":
    case "3b":
    case "3c":
    case "4":
    case "6":
    case "7":
    case "7b":
    case "8":
    case "8b":
    case "11":
    case "12":
    case "13":
    case "14":
      return false;
  }
}

/** A passage, and the attempt whose turn it was. */
export interface Ground {
  readonly passage: Passage;
  readonly attempt: number;
  readonly stream: "stdout" | "stderr";
  readonly turn: TurnState | undefined;
}

/** The bytes the state stands on: those of the last attempt that ended, as it is the one that decided. */
export function groundsOf(diagnosis: Diagnosis | undefined): Ground[] {
  if (!diagnosis || diagnosis.status === "running" || diagnosis.status === "queued") return [];
  const last = diagnosis.attempts.findLast((attempt) => attempt.ending !== null);
  if (!last) return [];
  return last.evidence.map((passage) => ({
    passage,
    attempt: last.attempt,
    // The terminal alone stands for stdout.
    stream: passage.file.startsWith("stderr") ? "stderr" : "stdout",
    turn: last.ending?.turn,
  }));
}

/** The event that was made from exactly these bytes, or else from the fewest around them. */
export function eventFor({ events }: EventsAt, stream: "stdout" | "stderr", from: number, to: number): RaspEvent | undefined {
  const range = ({ raw_ref: ref }: RaspEvent): [number, number] => (stream === "stderr" ? [ref.stderr_from, ref.stderr_to] : [ref.stdout_from, ref.stdout_to]);
  const exact = events.find((event) => range(event)[0] === from && range(event)[1] === to);
  if (exact) return exact;
  const span = (event: RaspEvent): number => range(event)[1] - range(event)[0];
  return [...events].sort((one, other) => span(one) - span(other))[0];
}

/** How long it took, or has taken by now. */
export function elapsedOf(run: Run, now: number): number | undefined {
  if (run.created_at === null) return undefined;
  const end = run.ended_at === null ? now : Date.parse(run.ended_at);
  return Math.max(0, end - Date.parse(run.created_at));
}

/** Numbers of a form, whole and from 1; nothing where it is none. */
export function wholeNumber(text: string, most: number): number | undefined {
  const number = /^\s*\d{1,9}\s*$/.test(text) ? Number(text) : 0;
  return number >= 1 && number <= most ? number : undefined;
}

/** Findings of the diagnosis that the error and the warnings do not already state. */
export function furtherFindings(diagnosis: Diagnosis | undefined, told: readonly string[]): Diagnosis["findings"] {
  return (diagnosis?.findings ?? []).filter((finding) => finding.finding !== "noticed" || !told.includes(finding.code));
}

/** Fragments of the service as a sentence. */
export function sentenceOf(words: string): string {
  const [first = ""] = words;
  return words === "" ? "" : `${first.toUpperCase()}${words.slice(first.length)}${/[.。…!?]$/.test(words) ? "" : /[\p{Script=Han}]$/u.test(words) ? "。" : "."}`;
}

const LONGEST_VALUE = 2_000;

/** What was asked, as names and values on one line each. */
export function entriesOf(object: Readonly<Record<string, unknown>>): { name: string; value: string }[] {
  return Object.entries(object).map(([name, value]) => ({ name, value: (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, LONGEST_VALUE) }));
}

/** Options that say something: those that are left to others are left out. */
export function optionsOf(options: RunRequest["options"]): { name: string; value: string }[] {
  return entriesOf(Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0))));
}

/** How well an attempt was read, for a sentence about it. */
export function readAs({ confidence, matched, inferred, raw, unknown }: NonNullable<Attempt["parse"]>): Record<string, string | number> {
  return { confidence: confidence.toFixed(2), matched, inferred, raw, unknown };
}

/** How often a question was decided without an answer, and when the last time was, for a sentence about it. */
export function decisionsOf(language: Language, n: number, last: string, now: number): Record<string, string | number> {
  const at = Date.parse(last);
  return { n, moment: moment(language, at), time: fromNow(language, at, now) };
}
