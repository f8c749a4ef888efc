// A value as a tree: what is shown of each part of it, and how much at once.
import { defineWords } from "../words/words.ts";
import { visibleLine, visibleText } from "./visible.ts";

/** Parts below this depth are folded until the user opens them. */
export const OPEN_DEPTH = 2;
/** The number of entries shown at once. */
export const STEP = 200;
/** How much of a string is shown at first, and after the user asks for all of it. */
const SHORT = 300;
const LONG = 200_000;
const KEY = 120;

export type Node =
  | { kind: "branch"; shape: "object" | "array"; count: number }
  | { kind: "text"; text: string; rest: number }
  | { kind: "plain"; text: string };

/** How a value is shown. `isWhole`: the user has asked for the whole string. */
export function node(value: unknown, isWhole: boolean): Node {
  if (Array.isArray(value)) return { kind: "branch", shape: "array", count: value.length };
  if (typeof value === "object" && value !== null) return { kind: "branch", shape: "object", count: Object.keys(value).length };
  if (typeof value !== "string") return { kind: "plain", text: String(value) };
  const most = isWhole ? LONG : SHORT;
  const cut = value.length <= most ? value.length : whole(value, most);
  return { kind: "text", text: visibleText(value.slice(0, cut)), rest: value.length - cut };
}

/** The first parts of an object or an array, with their names. */
export function entries(value: unknown, most: number): { name: string; value: unknown }[] {
  if (Array.isArray(value)) return value.slice(0, most).map((item: unknown, index) => ({ name: String(index), value: item }));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).slice(0, most).map(([name, item]: [string, unknown]) => ({ name: visibleLine(name, KEY), value: item }));
}

/** Whether anything more of a string can be shown than is shown at first. */
export function canGrow(value: unknown): boolean {
  return typeof value === "string" && value.length > SHORT;
}

/** A cut between two halves of one character is moved before it. */
function whole(text: string, cut: number): number {
  const before = text.charCodeAt(cut - 1);
  return before >= 0xd800 && before <= 0xdbff ? cut - 1 : cut;
}

export const words = defineWords({
  value: { en: "value", zh: "值" },
  entries: { en: "{n} entries", one: "1 entry", zh: "{n} 项" },
  showAll: { en: "Show all", zh: "显示全部" },
  showLess: { en: "Show less", zh: "收起" },
  more: { en: "Show {n} more", zh: "再显示 {n} 项" },
  rest: { en: "… {n} more characters", zh: "……还有 {n} 个字符" },
});
