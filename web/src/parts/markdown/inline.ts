// Words, links and marks inside a paragraph, read in one pass. Nothing leads anywhere but to http, https and mailto,
// and nothing is loaded. What has no partner, a mark or a bracket, is text.
import { visibleText } from "../visible.ts";
import { destination, LONGEST_ADDRESS, placeOf, safeAddress, withoutTail } from "./address.ts";
import type { Budget } from "./budget.ts";
import type { Inline } from "./tree.ts";

/** The maximum number of marks and brackets open at a time. */
const MOST_OPEN = 16;
/** `***` is the longest run that means something; a longer one would be as many elements, each in the other. */
const LONGEST_MARK = 3;

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

const SPECIAL = /[\\`*_~[\]!<]|h(?=ttps?:\/\/)/g;
const PUNCTUATION = /[\p{P}\p{S}]/u;
/** Letters that are written without spaces between words, and their punctuation. */
const UNSPACED = /[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]/;
/** An address in a sentence: it ends where people see its end, in either language. */
const BARE = /^https?:\/\/[^\s<>"'`|\\^{}[\]，。；：！？、（）《》「」『』【】“”‘’]{1,2000}/;

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
      default:
        return this.bare();
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
    const text = visibleText(unescaped(this.plain));
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

  /** A part that was made already, and paid for. */
  private append(part: Inline): void {
    if (part.is === "text") this.add(part.text);
    else this.top().parts.push(part);
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
    this.push({ is: "code", text: visibleText(inside) });
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
    const isAlone = UNSPACED.test(before) || UNSPACED.test(after);
    const opens = !/\s/.test(after) && (isWord(after) || !isWord(before) || isAlone);
    const closes = !/\s/.test(before) && (isWord(before) || !isWord(after) || isAlone);
    const mayOpen = opens && (mark !== "_" || !closes || !isWord(before));
    const mayClose = closes && (mark !== "_" || !opens || !isWord(after));
    if (count > LONGEST_MARK || (mark === "~" && count !== 2)) {
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
    const isImage = open.mark === "![";
    // A link has no link inside: the inner one stays, this one is text around it.
    if (!isImage && hasLink(open.parts)) {
      this.add("[");
      for (const part of open.parts) this.append(part);
      this.add(visibleText(this.text.slice(this.at, target.end)));
    } else {
      this.link(unescaped(target.address), words, isImage ? undefined : open.parts);
      if (target.title !== "") this.add(visibleText(unescaped(` ${target.title}`)));
    }
    this.at = target.end;
  }

  /** A link, or where it must not lead, its words and its address as text. Without parts the words are taken as they are. */
  private link(address: string, words: string, parts: readonly Inline[] | undefined): void {
    const url = safeAddress(address);
    const isBare = words.trim() === "";
    const inside: readonly Inline[] = parts && !isBare ? parts : [{ is: "text", text: visibleText(isBare ? address : unescaped(words)) }];
    if (url) return this.push({ is: "link", href: url.href, place: placeOf(url, isBare ? address : words), parts: inside });
    // It was as much work as a link.
    this.budget.spend();
    for (const part of inside) this.append(part);
    if (!isBare && words !== address) this.add(visibleText(` (${address})`));
  }

  /** `<https://…>` is a link, `<br>` a line end, all other HTML is text. */
  private angle(): void {
    const found = /^<(?:(br) ?\/?|((?:https?:\/\/|mailto:)[^\s<>]{1,2000}))>/i.exec(this.text.slice(this.at, this.at + LONGEST_ADDRESS + 20));
    if (!found) return this.literal(1);
    if (found[1]) this.push({ is: "break" });
    else this.bareLink(found[2] ?? "");
    this.at += found[0].length;
  }

  private bare(): void {
    const before = this.text[this.at - 1] ?? " ";
    const isBegin = /[\s("'*_~>|,;“‘]/.test(before) || UNSPACED.test(before);
    const isInLink = this.open.some((open) => open.count > 0 && open.mark === "[");
    const found = isBegin && !isInLink ? BARE.exec(this.text.slice(this.at, this.at + LONGEST_ADDRESS + 20)) : null;
    if (!found) return this.literal(1);
    const address = withoutTail(found[0]);
    this.bareLink(address);
    this.at += address.length;
  }

  private bareLink(address: string): void {
    this.flush();
    this.link(address, address, [{ is: "text", text: visibleText(address) }]);
  }

  /** What is open from this one on was never closed: it is text. */
  private collapse(from: number): void {
    while (this.open.length > Math.max(1, from)) {
      this.flush();
      const left = this.open.pop() as Open;
      this.add(left.mark.endsWith("[") ? left.mark : left.mark.repeat(left.count));
      for (const part of left.parts) this.append(part);
    }
  }
}

function runOf(text: string, at: number, character: string): number {
  let end = at;
  while (text[end] === character) end += 1;
  return end - at;
}

function hasLink(parts: readonly Inline[]): boolean {
  return parts.some((part) => part.is === "link" || ("parts" in part && hasLink(part.parts)));
}
