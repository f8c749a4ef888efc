// Engines as the screen shows them: those one can use first.
import type { Engine } from "@skillrun/client";
import type { Tone } from "../words/states.ts";
import type { Word } from "../words/words.ts";
import { words } from "./words.ts";

export interface Groups {
  readonly installed: readonly Engine[];
  readonly missing: readonly Engine[];
}

export function grouped(engines: readonly Engine[]): Groups {
  return {
    installed: engines.filter(({ program }) => program !== null),
    missing: engines.filter(({ program }) => program === null),
  };
}

type Tested = Engine["tested"];

/** Tested does not promise success, so it is not presented as success. */
export const testedLook = {
  tested: { tone: "calm", word: words.tested, why: words.testedWhy },
  untested: { tone: "warn", word: words.untested, why: words.untestedWhy },
  unknown: { tone: "calm", word: words.unknown, why: words.unknownWhy },
} as const satisfies Record<Tested, { tone: Tone; word: Word; why: Word }>;

export const continuationWords = {
  resumable: words.resumable,
  sticky: words.sticky,
  none: words.noContinuation,
} as const satisfies Record<Engine["continuation"], Word>;

type Permission = keyof Engine["permissions"];
export const PERMISSIONS = ["read_only", "workspace", "full"] as const satisfies readonly Permission[];

export const postureWords = {
  enforced: words.enforced,
  asked: words.asked,
  not_enforced: words.not_enforced,
} as const satisfies Record<Engine["permissions"][Permission], Word>;

/** The tested versions as text, with a separate text for a range of one version. */
export function rangeOf(versions: readonly string[] | null | undefined): { word: Word; from: string; to: string } {
  const [from, to] = versions ?? [];
  if (from === undefined || to === undefined) return { word: words.rangeNone, from: "", to: "" };
  return { word: from === to ? words.rangeOne : words.range, from, to };
}

/** Where a description comes from: the program, or a file, which is named. */
export function isShipped(origin: string): boolean {
  return origin === "shipped";
}
