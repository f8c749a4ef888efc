// How many tokens a run has used and what it has cost, as far as the engine reported it. Unreported values are omitted; they are not zero.
import type { Run } from "@skillrun/client";
import { type Language, say } from "../words/words.ts";
import { short } from "./time.ts";
import { words } from "./words.ts";

export function usageText(language: Language, usage: Run["usage"] | undefined): string {
  const input = usage?.input_tokens ?? undefined;
  const output = usage?.output_tokens ?? undefined;
  if (input !== undefined && output !== undefined) return say(language, words.usage, { input: short(input), output: short(output) });
  if (input !== undefined) return say(language, words.usageIn, { input: short(input) });
  return output === undefined ? "" : say(language, words.usageOut, { output: short(output) });
}

/** Small amounts keep four digits: a turn often costs less than a cent. */
export function costText(language: Language, usage: Run["usage"] | undefined): string {
  const usd = usage?.cost_usd ?? undefined;
  if (usd === undefined) return "";
  if (usd >= 1) return `$${usd.toFixed(2)}`;
  return usd === 0 || usd >= 0.000_05 ? `$${usd.toFixed(4)}` : say(language, words.costTiny);
}
