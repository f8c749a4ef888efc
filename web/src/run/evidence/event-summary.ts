// One event in a line: the words it holds, else its first fields.
import { visibleLine } from "../../parts/visible.ts";

const MOST = 240;
const FIELDS_MOST = 4;
const VALUE_MOST = 60;
/** Fields that say what an event is about, the most informative first. */
const TELLING = ["text", "prompt", "message", "details", "output", "path", "name", "title", "phase", "status", "code", "reason_code"];

export function summaryOf(data: unknown): string {
  if (typeof data !== "object" || data === null) return data === null || data === undefined ? "" : visibleLine(String(data), MOST);
  const fields = Object.entries(data).filter(([, value]) => value !== null && value !== undefined && value !== "");
  for (const name of TELLING) {
    const value: unknown = fields.find(([one]) => one === name)?.[1];
    if (typeof value === "string") return visibleLine(folded(value), MOST);
  }
  return fields.slice(0, FIELDS_MOST).map(([name, value]) => `${visibleLine(name, VALUE_MOST)}: ${valueOf(value)}`).join(" · ");
}

export type Sure = "exact" | "likely" | "guess";

/** The words for a confidence: 1.0 is an exact parse, below 0.7 is a guess. */
export function sureness(confidence: number): Sure {
  return confidence >= 1 ? "exact" : confidence >= 0.7 ? "likely" : "guess";
}

/** Ends of lines become spaces: it is one line. Only as much is looked at as can be shown. */
function folded(text: string): string {
  return text.slice(0, 4 * MOST).trim().replace(/[\r\n\t ]+/g, " ");
}

function valueOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value === "object" && value !== null) return summaryOfSmall(value);
  return visibleLine(folded(String(value)), VALUE_MOST);
}

function summaryOfSmall(value: object): string {
  const names = Object.keys(value).slice(0, FIELDS_MOST).map((name) => visibleLine(name, VALUE_MOST));
  return `{${names.join(", ")}}`;
}
