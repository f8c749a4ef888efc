// Addresses in Markdown: where one ends, whether it may lead anywhere, and what is said about where it leads. No look
// ahead goes over the same characters more than a few times, whatever stands there.
import { visibleText } from "../visible.ts";

const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);
export const LONGEST_ADDRESS = 2_000;
/** The maximum number of open brackets in an address. Without it, a text of brackets would be scanned again from each of them. */
const MOST_BRACKETS = 8;

/** The address in the one form the browser will use, or nothing where it must not lead. */
export function safeAddress(address: string): URL | undefined {
  if (address.length > LONGEST_ADDRESS) return undefined;
  try {
    const url = new URL(address);
    return PROTOCOLS.has(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Where a link leads, in a word; nothing where its words begin with just that, and so hide nothing. */
export function placeOf(url: URL, words: string): string | undefined {
  const isMail = url.protocol === "mailto:";
  const where = isMail ? url.pathname : url.host;
  const said = words.toLowerCase();
  const whole = isMail ? `mailto:${where}` : `${url.protocol}//${where}`;
  // A name before the host, a host in other letters than the browser's or with more behind it: all look like another.
  const saysSo = said === where || (said.startsWith(whole) && /^(?:$|[/?#])/.test(said.slice(whole.length, whole.length + 1)));
  return saysSo ? undefined : visibleText(where);
}

/** What stands in the round brackets after a link's words, and where they end. */
export interface Destination {
  readonly address: string;
  /** `"title"` as it was written, or nothing. */
  readonly title: string;
  readonly end: number;
}

/** `(address "title")` at this place. */
export function destination(text: string, at: number): Destination | undefined {
  if (text[at] !== "(") return undefined;
  const inside = text.slice(at + 1, at + 1 + LONGEST_ADDRESS);
  const pointed = /^\s{0,8}<([^<>\n]*)>/.exec(inside);
  const length = pointed ? pointed[0].length : plainLength(inside);
  const rest = length === undefined ? null : /^(?:\s{1,8}("[^"\n]*"|'[^'\n]*'))?\s{0,8}\)/.exec(inside.slice(length));
  if (length === undefined || !rest) return undefined;
  const address = pointed ? (pointed[1] ?? "") : inside.slice(0, length).replace(/\\([!-/:-@[-`{-~])/g, "$1");
  return { address, title: rest[1] ?? "", end: at + 1 + length + rest[0].length };
}

/** How long an address without `<>` around it is. */
function plainLength(inside: string): number | undefined {
  let [depth, end] = [0, 0];
  for (; end < inside.length; end += 1) {
    const character = inside[end] ?? "";
    if (character === "\\") end += 1;
    else if (character === "(") depth += 1;
    else if (character === ")" && depth > 0) depth -= 1;
    else if (character === ")" || /\s/.test(character)) break;
    if (depth > MOST_BRACKETS) return undefined;
  }
  return depth === 0 ? end : undefined;
}

/** An address in a sentence does not end in its full stop, nor in a bracket that was opened before it. */
export function withoutTail(address: string): string {
  let [end, unopened] = [address.length, 0];
  for (const character of address) unopened += character === ")" ? 1 : character === "(" ? -1 : 0;
  for (; end > 0; end -= 1) {
    const last = address[end - 1] ?? "";
    if (last === ")" ? unopened <= 0 : !/[.,;:!?*_~]/.test(last)) break;
    if (last === ")") unopened -= 1;
  }
  return address.slice(0, end);
}
