// The same run as a command for a terminal, where it can be said in one.
import type { CreateRun, CreateWorkflow } from "@skillrun/client";
import { isHidden } from "../parts/visible.ts";

/** Longer values belong in a file. */
const LONGEST = 2_000;

/** Options that `skillrun ask` has a flag for. */
const ASKABLE: readonly string[] = ["effort", "permission", "box", "network", "hard_timeout_sec", "stall_timeout_sec"];

/** `files`: names of files by slot; their paths are unknown here. */
export function command(request: CreateRun, files: ReadonlyMap<string, string>): string | undefined {
  return typeof request.prompt === "string" ? asked(request, request.prompt, [...files.values()]) : run(request, files);
}

/** Only a run that asks nothing and ends by itself can be started with its prompt in one command. */
function asked({ engine, mode, model, options = {} }: CreateRun, prompt: string, files: readonly string[]): string | undefined {
  if ((mode ?? "auto") !== "auto" || prompt.trim() === "" || Object.keys(options).some((name) => !ASKABLE.includes(name))) return undefined;
  const words = [
    sayable(prompt),
    ...flag("--engine", engine),
    ...flag("--model", model),
    ...files.flatMap((name) => ["--file", sayable(name)]),
    ...flag("--effort", options.effort),
    ...flag("--permission", options.permission),
    ...flag("--box", options.box),
    ...flag("--network", options.network),
    ...flag("--timeout", options.hard_timeout_sec),
    ...flag("--stall", options.stall_timeout_sec),
  ];
  return said("ask", words);
}

function run(request: CreateRun, files: ReadonlyMap<string, string>): string | undefined {
  const { skill, engine, mode, model, input = {}, parameter = {}, options = {} } = request;
  if (!skill || (options.auto_decision_limit ?? undefined) !== undefined) return undefined;
  const pairs = [...pairsOf("--input", input), ...pairsOf("--param", parameter)];
  const words: (string | undefined)[] = [
    sayable(skill),
    ...flag("--engine", engine),
    ...flag("--mode", mode),
    ...flag("--model", model),
    ...pairs,
    ...[...files].flatMap(([slot, name]) => ["--file", sayable(`${slot}=${name}`)]),
    ...flag("--effort", options.effort),
    ...flag("--permission", options.permission),
    ...flag("--box", options.box),
    ...flag("--network", options.network),
    ...flag("--timeout", options.hard_timeout_sec),
    ...flag("--stall", options.stall_timeout_sec),
    ...flag("--session-timeout", options.session_timeout_sec),
    ...flag("--idle", options.idle_sec),
    ...(options.interactive_require_user_reply === false ? ["--no-reply-needed"] : []),
    ...flag("--decide", options.default_decision_policy),
    ...flag("--max-attempt", options.max_attempt),
    ...((options.require_marker ?? undefined) === undefined ? [] : [`--require-marker=${options.require_marker}`]),
    ...(options.snapshot === "off" ? ["--no-snapshot"] : []),
    ...(options.priority ? ["--priority", String(options.priority)] : []),
  ];
  const saysYes = options.interactive_require_user_reply !== true;
  return saysYes ? said("run", words) : undefined;
}

/** A workflow of a file, whose folder is unknown here. */
export function workflowCommand(file: string, { engine, inputs = {} }: Pick<CreateWorkflow, "engine" | "inputs">): string | undefined {
  return said("workflow run", [sayable(file), ...flag("--engine", engine), ...pairsOf("--input", inputs)]);
}

function said(verb: "ask" | "run" | "workflow run", words: readonly (string | undefined)[]): string | undefined {
  const isSayable = words.every((word) => word !== undefined && word.length <= LONGEST && !hasHidden(word));
  return isSayable ? `skillrun ${verb} ${(words as string[]).map(quoted).join(" ")}` : undefined;
}

function flag(name: string, value: string | number | null | undefined): (string | undefined)[] {
  return value === null || value === undefined || value === "" ? [] : [name, sayable(String(value))];
}

/** What begins like a flag would be taken for one. `undefined` stands for what cannot be said. */
function sayable(word: string): string | undefined {
  return word.startsWith("-") ? undefined : word;
}

function pairsOf(flag: string, object: Record<string, unknown>): (string | undefined)[] {
  return Object.entries(object).flatMap(([key, value]) => [flag, key === "" || key.includes("=") ? undefined : sayable(`${key}=${valueOf(value)}`)]);
}

/** What would be read as JSON though it is a text, or has hidden characters, is said as JSON. */
function valueOf(value: unknown): string {
  if (typeof value === "string" && !isReadAsJson(value) && !hasHidden(value)) return value;
  const json = JSON.stringify(value);
  return [...json].map((character) => (isHidden(character.codePointAt(0) ?? 0) ? escaped(character) : character)).join("");
}

function isReadAsJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function hasHidden(text: string): boolean {
  return [...text].some((character) => isHidden(character.codePointAt(0) ?? 0));
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`).join("");
}

/** As a shell reads one word. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
