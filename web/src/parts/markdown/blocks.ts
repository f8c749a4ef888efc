// Lines of Markdown to blocks: paragraphs, headings, lists, quotes, tables, code. Every line is looked at once per level
// of nesting, and levels are bounded. HTML, definitions and whatever else has no form of its own is a paragraph: nothing
// that was written is hidden.
import { visibleText } from "../visible.ts";
import type { Budget } from "./budget.ts";
import { inlines } from "./inline.ts";
import { isOutput } from "./machine.ts";
import type { Align, Block, Item } from "./tree.ts";

/** One block, and the line after it. */
export interface Read {
  readonly block: Block;
  readonly next: number;
}

const FENCE = /^ {0,3}(?:(`{3,})([^`]*)|(~{3,})([^]*))$/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])(?:([ \t]+)|$)/;
const LONGEST_LANGUAGE = 40;
/** A longer line is not prose: it is shown as it was written, and scrolls on its own. */
const LONGEST_PARAGRAPH = 10_000;
const TASK = /^\[([ xX])\][ \t]+/;

/** The block that begins at or after a line; nothing where only blank lines are left. */
export function blockAt(lines: readonly string[], from: number, budget: Budget): Read | undefined {
  let at = from;
  while (at < lines.length && isBlank(lines[at])) at += 1;
  const line = lines[at];
  if (line === undefined) return undefined;
  budget.spend();
  const heading = HEADING.exec(line);
  if (heading) {
    const words = withoutClosing(line.slice(heading[0].length).trim());
    return { block: { is: "heading", level: heading[1]?.length ?? 1, parts: inlines(words, budget) }, next: at + 1 };
  }
  if (isRule(line)) return { block: { is: "rule" }, next: at + 1 };
  return fence(lines, at) ?? quote(lines, at, budget) ?? list(lines, at, budget) ?? table(lines, at, budget) ?? indented(lines, at) ?? paragraph(lines, at, budget);
}

/** All blocks of some lines that are inside of something. */
function blocksOf(lines: readonly string[], budget: Budget): Block[] {
  const asWritten = (from: number): Block => ({ is: "plain", text: visibleText(lines.slice(from).join("\n")) });
  return budget.deeper<Block[]>(
    lines.length,
    () => {
      const blocks: Block[] = [];
      for (let at = 0; ; ) {
        if (budget.isSpent && at < lines.length) return [...blocks, asWritten(at)];
        const read = blockAt(lines, at, budget);
        if (!read) return blocks;
        blocks.push(read.block);
        at = read.next;
      }
    },
    () => [asWritten(0)],
  );
}

function fence(lines: readonly string[], at: number): Read | undefined {
  const open = FENCE.exec(lines[at] ?? "");
  if (!open) return undefined;
  const mark = open[1] ?? open[3] ?? "```";
  const indent = (lines[at] ?? "").search(/\S/);
  const isEnd = (line: string): boolean => {
    const words = line.trim();
    return words.length >= mark.length && words === (mark[0] ?? "`").repeat(words.length);
  };
  let next = at + 1;
  const inside: string[] = [];
  while (next < lines.length && !isEnd(lines[next] ?? "")) {
    inside.push(outdented(lines[next] ?? "", indent));
    next += 1;
  }
  const words = (open[2] ?? open[4] ?? "").trim();
  // What is too long for the name of a language is shown with the code.
  const isName = words.length <= LONGEST_LANGUAGE;
  const text = (isName ? inside : [lines[at] ?? "", ...inside]).join("\n");
  const block: Block = isOutput(text)
    ? { is: "machine", what: "output", text: visibleText(text.trim()) }
    : { is: "code", language: isName ? visibleText(words) : "", text: visibleText(text) };
  return { block, next: next + 1 };
}

function quote(lines: readonly string[], at: number, budget: Budget): Read | undefined {
  const inside: string[] = [];
  let next = at;
  while (next < lines.length) {
    const line = lines[next] ?? "";
    const mark = QUOTE.exec(line);
    // A paragraph continues without the mark.
    const goesOn = next > at && !isBlank(line) && !isBlank(inside.at(-1)) && !beginsBlock(lines, next);
    if (!mark && !goesOn) break;
    inside.push(mark ? line.slice(mark[0].length) : line);
    next += 1;
  }
  return next === at ? undefined : { block: { is: "quote", blocks: blocksOf(inside, budget) }, next };
}

function list(lines: readonly string[], at: number, budget: Budget): Read | undefined {
  const first = itemMark(lines[at]);
  if (!first || first.indent > 3) return undefined;
  const items: { isDone: boolean | undefined; lines: string[] }[] = [];
  let next = at;
  for (;;) {
    const mark = itemMark(lines[next]);
    if (!mark || mark.kind !== first.kind || mark.indent > first.indent + 3) break;
    let words = mark.rest;
    const task = TASK.exec(words);
    if (task) words = words.slice(task[0].length);
    const inside = [words];
    next += 1;
    while (next < lines.length) {
      const line = lines[next] ?? "";
      if (isBlank(line)) {
        const after = nextLine(lines, next);
        if (after === undefined || indentOf(lines[after] ?? "") < Math.min(mark.width, mark.indent + 2)) break;
        for (; next < after; next += 1) inside.push("");
        continue;
      }
      const indent = indentOf(line);
      // Two spaces more are enough for what belongs to an item, as people write it.
      const isInside = indent >= mark.width || indent >= mark.indent + 2;
      const goesOn = !isBlank(inside.at(-1)) && !beginsBlock(lines, next) && itemMark(line)?.kind !== first.kind;
      if (!isInside && !goesOn) break;
      inside.push(outdented(line, mark.width));
      next += 1;
    }
    items.push({ isDone: task ? task[1] !== " " : undefined, lines: inside });
    const after = isBlank(lines[next]) ? nextLine(lines, next) : next;
    if (after === undefined) break;
    if (itemMark(lines[after])?.kind === first.kind && indentOf(lines[after] ?? "") <= first.indent + 3) next = after;
    else break;
  }
  if (items.length > budget.left) return { block: { is: "plain", text: visibleText(lines.slice(at, next).join("\n")) }, next };
  const made = items.map((item): Item => {
    budget.spend();
    return { isDone: item.isDone, blocks: blocksOf(item.lines, budget) };
  });
  return { block: { is: "list", start: first.number, items: made }, next };
}

interface Mark {
  readonly kind: string;
  readonly number: number | undefined;
  readonly indent: number;
  /** Where the words of the item begin. */
  readonly width: number;
  readonly rest: string;
}

function itemMark(line: string | undefined): Mark | undefined {
  const found = line === undefined || isRule(line) ? null : ITEM.exec(line);
  if (!found || line === undefined) return undefined;
  const [begin, mark] = [indentOf(line), found[2] ?? "-"];
  const space = (found[3] ?? " ").length;
  // Much space after the mark is the beginning of code inside of the item.
  const gap = space > 4 ? 1 : space;
  const number = /\d/.test(mark) ? Number.parseInt(mark, 10) : undefined;
  return { kind: mark.slice(-1), number, indent: begin, width: begin + mark.length + gap, rest: line.slice((found[1] ?? "").length + mark.length + gap) };
}

function table(lines: readonly string[], at: number, budget: Budget): Read | undefined {
  const aligns = delimiters(lines, at);
  if (!aligns) return undefined;
  let next = at + 2;
  while (next < lines.length && !isBlank(lines[next]) && (lines[next] ?? "").includes("|")) next += 1;
  const rows = lines.slice(at + 2, next);
  if (aligns.length * (rows.length + 1) > budget.left) return { block: { is: "plain", text: visibleText(lines.slice(at, next).join("\n")) }, next };
  const cells = (line: string) => {
    const split = cellsOf(line);
    // Cells beyond the last column are shown in it.
    if (split.length > aligns.length) split.push(split.splice(aligns.length - 1).join(" | "));
    return aligns.map((_, index) => (budget.spend(), inlines(split[index] ?? "", budget)));
  };
  return { block: { is: "table", aligns, header: cells(lines[at] ?? ""), rows: rows.map(cells) }, next };
}

/** How the columns are aligned, where a table begins. */
function delimiters(lines: readonly string[], at: number): Align[] | undefined {
  const [head, line] = [lines[at] ?? "", lines[at + 1] ?? ""];
  if (!head.includes("|") || !/^[ \t|:-]+$/.test(line) || !line.includes("-")) return undefined;
  const cells = cellsOf(line);
  if (cells.length !== cellsOf(head).length || !cells.every((cell) => /^:?-+:?$/.test(cell))) return undefined;
  return cells.map((cell): Align => {
    const [left, right] = [cell.startsWith(":"), cell.endsWith(":")];
    return left && right ? "center" : right ? "right" : left ? "left" : undefined;
  });
}

function cellsOf(line: string): string[] {
  const words = line.trim().replace(/^\|/, "");
  const cells: string[] = [];
  let begin = 0;
  for (let at = 0; at < words.length; at += 1) {
    if (words[at] === "\\") at += 1;
    else if (words[at] === "|") {
      cells.push(words.slice(begin, at));
      begin = at + 1;
    }
  }
  if (words.slice(begin).trim() !== "") cells.push(words.slice(begin));
  return cells.map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function indented(lines: readonly string[], at: number): Read | undefined {
  let [next, last] = [at, at];
  while (next < lines.length && (isBlank(lines[next]) || indentOf(lines[next] ?? "") >= 4)) {
    next += 1;
    if (!isBlank(lines[next - 1])) last = next;
  }
  if (last === at) return undefined;
  const text = lines.slice(at, last).map((line) => outdented(line, 4)).join("\n");
  return { block: { is: "code", language: "", text: visibleText(text) }, next: last };
}

function paragraph(lines: readonly string[], at: number, budget: Budget): Read {
  let next = at + 1;
  while (next < lines.length && !isBlank(lines[next]) && !beginsBlock(lines, next)) next += 1;
  const text = lines.slice(at, next).map(withoutEnds).join("\n");
  if (isOutput(text)) return { block: { is: "machine", what: "output", text: visibleText(text) }, next };
  if (text.length > LONGEST_PARAGRAPH) return { block: { is: "plain", text: visibleText(text) }, next };
  return { block: { is: "paragraph", parts: inlines(text, budget) }, next };
}

/** Whether a paragraph ends before this line. */
function beginsBlock(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? "";
  const mark = itemMark(line);
  const isItem = mark !== undefined && mark.rest.trim() !== "" && (mark.number === undefined || mark.number === 1);
  return isItem || FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || isRule(line) || delimiters(lines, at) !== undefined;
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === "";
}

function nextLine(lines: readonly string[], from: number): number | undefined {
  let at = from;
  while (at < lines.length && isBlank(lines[at])) at += 1;
  return at < lines.length ? at : undefined;
}

/** Without the blanks around it, which mean nothing to people in a paragraph. */
function withoutEnds(line: string): string {
  let [begin, end] = [0, line.length];
  while (line[begin] === " " || line[begin] === "\t") begin += 1;
  while (end > begin && (line[end - 1] === " " || line[end - 1] === "\t")) end -= 1;
  return line.slice(begin, end);
}

/** `---`, `***`, `___`, with spaces between. */
function isRule(line: string): boolean {
  if (line.length > 200 || !/^ {0,3}[-*_]/.test(line)) return false;
  const marks = line.replace(/[ \t]/g, "");
  return marks.length >= 3 && /^(?:-+|\*+|_+)$/.test(marks);
}

/** `# Title ##` closes its heading. */
function withoutClosing(words: string): string {
  let end = words.length;
  while (words[end - 1] === "#") end -= 1;
  return end === 0 ? "" : end < words.length && /[ \t]/.test(words[end - 1] ?? "") ? words.slice(0, end).trimEnd() : words;
}

/** Columns of blank at the beginning; a tab goes to the next multiple of four. */
function indentOf(line: string): number {
  let [column, at] = [0, 0];
  for (; line[at] === " " || line[at] === "\t"; at += 1) column = line[at] === "\t" ? column + 4 - (column % 4) : column + 1;
  return column;
}

/** Without up to this many columns of blanks. */
function outdented(line: string, columns: number): string {
  let [column, at] = [0, 0];
  while (column < columns && (line[at] === " " || line[at] === "\t")) {
    column = line[at] === "\t" ? column + 4 - (column % 4) : column + 1;
    at += 1;
  }
  return " ".repeat(Math.max(0, column - columns)) + line.slice(at);
}
