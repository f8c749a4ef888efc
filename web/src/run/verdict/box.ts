// What the box of a run holds: a line for the verdict, and a list for its details.
import type { BoxPart, RunOptions, RunRequest } from "@skillrun/client";
import { visible } from "../../parts/visible.ts";
import { type Language, type Word, say } from "../../words/words.ts";
import { boxLineWords, mechanismWords, partWords } from "./box-words.ts";

/** What the page has to know of a request to show its box. */
export type Boxed = Pick<RunRequest, "box"> & { readonly options: Pick<RunRequest["options"], "box" | "network" | "allow_hosts"> };

/** One part of a box in words: what enforces it, or why nothing does. */
export interface ShownPart {
  readonly part: string;
  readonly name: string;
  readonly isEnforced: boolean;
  /** The mechanism, or the reason in the words of the service. */
  readonly because: string;
}

export function partsOf(language: Language, { box }: Boxed): ShownPart[] {
  return (box?.parts ?? []).map((part) => ({
    part: part.part,
    name: named(language, partWords, part.part),
    isEnforced: isEnforced(part),
    because: isEnforced(part) ? mechanismOf(language, part) : visible(part.reason ?? "?"),
  }));
}

/** Whether a part that was asked for is not enforced. */
export function isMissing({ box }: Boxed): boolean {
  return box?.parts.some((part) => !isEnforced(part)) ?? false;
}

/** What asks for the same box in another run; nothing for a run without one. */
export function sameBox({ options: { box, network, allow_hosts } }: Boxed): { options?: RunOptions } {
  return box === "off" ? {} : { options: { box, network, allow_hosts } };
}

/** The box in one line; nothing for a run without one. */
export function boxLine(language: Language, request: Boxed): string | undefined {
  if (request.options.box === "off") return undefined;
  // A workflow has no processes of its own, and no report: each of its steps has both.
  const clauses = request.box ? [...enforced(language, request.box.parts), ...missing(language, request.box.parts)] : [say(language, boxLineWords.steps)];
  const network = request.options.network === "open" ? [say(language, boxLineWords.open)] : [];
  return [...clauses, ...network].join(say(language, boxLineWords.then));
}

/** One clause per mechanism, in the order of the report. */
function enforced(language: Language, parts: readonly BoxPart[]): string[] {
  const holding = parts.filter(isEnforced);
  const mechanisms = [...new Set(holding.map((part) => mechanismOf(language, part)))];
  return mechanisms.map((mechanism) => say(language, boxLineWords.enforced, { parts: listed(language, holding.filter((part) => mechanismOf(language, part) === mechanism)), mechanism }));
}

function missing(language: Language, parts: readonly BoxPart[]): string[] {
  const open = parts.filter((part) => !isEnforced(part));
  return open.length === 0 ? [] : [say(language, boxLineWords.notEnforced, { parts: listed(language, open) })];
}

function listed(language: Language, parts: readonly BoxPart[]): string {
  return parts.map(({ part }) => named(language, partWords, part)).join(say(language, boxLineWords.and));
}

function isEnforced({ state }: BoxPart): boolean {
  return state === "enforced";
}

function mechanismOf(language: Language, { mechanism }: BoxPart): string {
  return named(language, mechanismWords, mechanism ?? "?");
}

/** A name in words; one of a newer service as it is. */
function named(language: Language, table: Readonly<Record<string, Word>>, name: string): string {
  const word = Object.hasOwn(table, name) ? table[name] : undefined;
  return word ? say(language, word) : visible(name.replaceAll("_", " "));
}
