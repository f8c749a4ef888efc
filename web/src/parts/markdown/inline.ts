// Words, links and marks inside a paragraph, read in one pass. Nothing leads anywhere but to http, https and mailto,
// and nothing is loaded. What has no partner, a mark or a bracket, is text.
import { visible } from "../visible.ts";
import type { Budget } from "./budget.ts";
import type { Inline } from "./tree.ts";

const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);
const LONGEST_ADDRESS = 2_000;
/** So many marks and brackets may be open at a time. */
const MOST_OPEN = 16;

const NAMED: Readonly<Record<string, string>> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", trade: "™", hellip: "…", mdash: "—", ndash: "–",
  lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", bull: "•", middot: "·", times: "×", deg: "°", rarr: "→", larr: "←", colon: ":", Tab: "\t", NewLine: "\n",
};

/** References such as `&lt;` as the characters they stand for. Those we do not know stay as they are written. */
export function unescaped(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{2,8}));/g, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? (NAMED[name] ?? whole) : whole;
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex ?? "", 16);
    const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : whole;
  });
}

/** What cannot be seen is marked; lines stay lines. */
export function seen(text: string): string {
  // Most text needs no look at each of its characters.
  if (/^[\n\t\x20-\x7e]*$/.test(text)) return text;
  return text.split(/([\n\t]+)/).map((piece, index) => (index % 2 === 1 ? piece : visible(piece))).join("");
}

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

/** The parts of a paragraph, a heading or a cell. */
export function inlines(text: string, budget: Budget): Inline[] {
  return new Reader(text, budget).read();
}

/** Something that was opened and may never be closed: then it is the text it was written as. */
interface Open {
  readonly mark: "*" | "_" | "~" | "[" | "![";
  count: number;
  /** Where what is inside begins. */
  readonly from: number;
  parts: Inline[];
}

const SPECIAL = /[\\`*_~[\]!<h\n]/g;
const PUNCTUATION = /[\p{P}\p{S}]/u;

class Reader {
  private at = 0;
  /** What is open, the innermost last; what is in none of them is in the first. */
  private readonly open: Open[] = [{ mark: "[", count: 0, from: 0, parts: [] }];
  private plain = "";
  /** Runs of backticks that are still ahead, by length. */
  private ticks: Map<number, number[]> | undefined;

  constructor(
    private readonly text: string,
    private readonly budget: Budget,
  ) {}

  read(): Inline[] {
    while (this.at < this.text.length) {
      if (this.budget.isSpent) {
        this.plain += this.text.slice(this.at);
        break;
      }
      SPECIAL.lastIndex = this.at;
      const next = SPECIAL.exec(this.text)?.index ?? this.text.length;
      this.plain += this.text.slice(this.at, next);
      this.at = next;
      if (this.at < this.text.length) this.special(this.text[this.at] ?? "");
    }
    this.collapse(1);
    this.flush();
    return this.open[0]?.parts ?? [];
  }

  private special(character: string): void {
    switch (character) {
      case "\\":
        return this.escape();
      case "`":
        return this.code();
      case "*":
      case "_":
      case "~":
        return this.mark(character);
      case "[":
        return this.bracket("[");
      case "!":
        return this.text[this.at + 1] === "[" ? this.bracket("![") : this.literal(1);
      case "]":
        return this.close();
      case "<":
        return this.angle();
      case "h":
        return this.bare();
      default:
        // A line ends; spaces before it mean nothing to people.
        this.plain = this.plain.replace(/[ \t]{1,8}$/, "");
        return this.literal(1);
    }
  }

  private literal(length: number): void {
    this.plain += this.text.slice(this.at, this.at + length);
    this.at += length;
  }

  private top(): Open {
    return this.open.at(-1) as Open;
  }

  private push(part: Inline): void {
    this.flush();
    this.budget.spend();
    this.top().parts.push(part);
  }

  private flush(): void {
    if (this.plain === "") return;
    const text = seen(unescaped(this.plain));
    this.plain = "";
    this.add(text);
  }

  /** Text that is not looked into any more. */
  private add(text: string): void {
    const parts = this.top().parts;
    const last = parts.at(-1);
    if (last?.is === "text") parts[parts.length - 1] = { is: "text", text: last.text + text };
    else {
      this.budget.spend();
      parts.push({ is: "text", text });
    }
  }

  private escape(): void {
    const next = this.text[this.at + 1] ?? "";
    if (next === "\n") {
      this.at += 1;
    } else if (/[!-/:-@[-`{-~]/.test(next)) {
      this.flush();
      this.add(next);
      this.at += 2;
    } else this.literal(1);
  }

  private code(): void {
    const length = runOf(this.text, this.at, "`");
    const ahead = this.ticksAhead().get(length) ?? [];
    while (ahead.length > 0 && (ahead.at(-1) ?? 0) < this.at + length) ahead.pop();
    const end = ahead.at(-1);
    if (end === undefined) return this.literal(length);
    let inside = this.text.slice(this.at + length, end).replace(/\n/g, " ");
    if (inside.startsWith(" ") && inside.endsWith(" ") && inside.trim() !== "") inside = inside.slice(1, -1);
    this.push({ is: "code", text: seen(inside) });
    this.at = end + length;
  }

  /** Places of runs by their length, the next one last. */
  private ticksAhead(): Map<number, number[]> {
    if (this.ticks) return this.ticks;
    this.ticks = new Map();
    const runs = [...this.text.matchAll(/`+/g)].reverse();
    for (const run of runs) {
      const places = this.ticks.get(run[0].length);
      if (places) places.push(run.index);
      else this.ticks.set(run[0].length, [run.index]);
    }
    return this.ticks;
  }

  private mark(mark: "*" | "_" | "~"): void {
    let count = runOf(this.text, this.at, mark);
    const [before, after] = [this.text[this.at - 1] ?? " ", this.text[this.at + count] ?? " "];
    const begin = this.at;
    this.at += count;
    const isWord = (character: string): boolean => !/\s/.test(character) && !PUNCTUATION.test(character);
    const opens = !/\s/.test(after) && (isWord(after) || !isWord(before));
    const closes = !/\s/.test(before) && (isWord(before) || !isWord(after));
    const mayOpen = opens && (mark !== "_" || !closes || !isWord(before));
    const mayClose = closes && (mark !== "_" || !opens || !isWord(after));
    if (mark === "~" && count !== 2) {
      this.plain += mark.repeat(count);
      return;
    }
    while (mayClose && count > 0) {
      const index = this.open.findLastIndex((open) => open.mark === mark);
      // A mark outside of a bracket does not end inside of it.
      if (index < 1 || this.open.slice(index).some((open) => open.mark.endsWith("["))) break;
      this.flush();
      this.collapse(index + 1);
      const open = this.open[index] as Open;
      const used = mark === "~" ? 2 : Math.min(2, count, open.count);
      const is = mark === "~" ? "del" : used === 2 ? "strong" : "em";
      const node: Inline = { is, parts: open.parts };
      open.count -= used;
      count -= used;
      open.parts = [];
      if (open.count === 0) this.open.pop();
      this.push(node);
    }
    if (count === 0) return;
    if (mayOpen && this.open.length < MOST_OPEN) {
      this.flush();
      this.open.push({ mark, count, from: begin, parts: [] });
    } else this.plain += mark.repeat(count);
  }

  private bracket(mark: "[" | "!["): void {
    if (this.open.length >= MOST_OPEN) return this.literal(mark.length);
    this.flush();
    this.at += mark.length;
    this.open.push({ mark, count: 1, from: this.at, parts: [] });
  }

  private close(): void {
    const index = this.open.findLastIndex((open, at) => at > 0 && open.mark.endsWith("["));
    const target = index < 1 ? undefined : destination(this.text, this.at + 1);
    if (index < 1 || !target) {
      this.flush();
      if (index >= 1) this.collapse(index);
      return this.literal(1);
    }
    this.flush();
    this.collapse(index + 1);
    const open = this.open.pop() as Open;
    const words = this.text.slice(open.from, this.at);
    const address = unescaped(target.address);
    const isImage = open.mark === "![";
    const parts = isImage ? [{ is: "text" as const, text: seen(unescaped(words === "" ? target.address : words)) }] : open.parts;
    // A link has no link inside: the inner one stays, this one is text around it.
    if (!isImage && hasLink(parts)) {
      this.add("[");
      this.top().parts.push(...parts);
      this.add(seen(`](${target.address})`));
    } else for (const part of link(address, parts, words)) this.push(part);
    this.at = target.end;
  }

  /** `<https://…>` is a link, `<br>` a line end, all other HTML is text. */
  private angle(): void {
    const found = /^<(?:(br) ?\/?|((?:https?:\/\/|mailto:)[^\s<>]{1,2000}))>/i.exec(this.text.slice(this.at, this.at + LONGEST_ADDRESS + 20));
    if (!found) return this.literal(1);
    if (found[1]) this.push({ is: "break" });
    else for (const part of link(found[2] ?? "", [{ is: "text", text: seen(found[2] ?? "") }], found[2] ?? "")) this.push(part);
    this.at += found[0].length;
  }

  private bare(): void {
    const isBegin = /[\s("'*_~>|,;，。：、（]/.test(this.text[this.at - 1] ?? " ");
    const isInLink = this.open.some((open) => open.count > 0 && open.mark === "[");
    const found = isBegin && !isInLink ? /^https?:\/\/[^\s<>"'`|\\^{}[\]]{1,2000}/.exec(this.text.slice(this.at, this.at + LONGEST_ADDRESS + 20)) : null;
    if (!found) return this.literal(1);
    const address = withoutTail(found[0]);
    for (const part of link(address, [{ is: "text", text: seen(address) }], address)) this.push(part);
    this.at += address.length;
  }

  /** What is open from this one on was never closed: it is text. */
  private collapse(from: number): void {
    while (this.open.length > Math.max(1, from)) {
      this.flush();
      const left = this.open.pop() as Open;
      this.add(left.mark.endsWith("[") ? left.mark : left.mark.repeat(left.count));
      const parts = this.top().parts;
      for (const part of left.parts) {
        if (part.is === "text") this.add(part.text);
        else parts.push(part);
      }
    }
  }
}

function runOf(text: string, at: number, character: string): number {
  let end = at;
  while (text[end] === character) end += 1;
  return end - at;
}

/** `(address "title")` after a bracket. */
function destination(text: string, at: number): { address: string; end: number } | undefined {
  if (text[at] !== "(") return undefined;
  const inside = text.slice(at + 1, at + 1 + LONGEST_ADDRESS);
  const pointed = /^\s{0,8}<([^<>\n]*)>(?:\s{1,8}(?:"[^"\n]*"|'[^'\n]*'))?\s{0,8}\)/.exec(inside);
  if (pointed) return { address: pointed[1] ?? "", end: at + 1 + pointed[0].length };
  let [depth, end] = [0, 0];
  for (; end < inside.length; end += 1) {
    const character = inside[end] ?? "";
    if (character === "\\") end += 1;
    else if (character === "(") depth += 1;
    else if (character === ")" && depth > 0) depth -= 1;
    else if (character === ")" || /\s/.test(character)) break;
  }
  const rest = /^(?:\s{1,8}(?:"[^"\n]*"|'[^'\n]*'))?\s{0,8}\)/.exec(inside.slice(end));
  if (!rest || depth > 0) return undefined;
  return { address: inside.slice(0, end).replace(/\\([!-/:-@[-`{-~])/g, "$1"), end: at + 1 + end + rest[0].length };
}

/** An address in a sentence does not end in its full stop, nor in a bracket that was opened before it. */
function withoutTail(address: string): string {
  let end = address.length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1] ?? "";
    const isOurs = last === ")" && address.slice(0, end).split("(").length >= address.slice(0, end).split(")").length;
    if (isOurs || !/[.,;:!?*_~)]/.test(last)) break;
  }
  return address.slice(0, end);
}

function hasLink(parts: readonly Inline[]): boolean {
  return parts.some((part) => part.is === "link" || ("parts" in part && hasLink(part.parts)));
}

function link(address: string, parts: readonly Inline[], words: string): Inline[] {
  const url = safeAddress(address);
  if (!url) return words === address ? [...parts] : [...parts, { is: "text", text: seen(` (${address})`) }];
  const where = url.protocol === "mailto:" ? url.pathname : url.host;
  // Words that look like one place may lead to another.
  const saysSo = url.href === words || url.href === `${words}/` || address === words;
  return [{ is: "link", href: url.href, place: saysSo ? undefined : seen(where), parts }];
}
