// Ten times the text takes about ten times as long, whatever it is made of. Time is measured, for want of a way to
// count what regular expressions look at. So the bound is wide (the square would be a hundred), both are measured in
// turns on a machine that may have other work, and the best of some tries counts.
import { expect, test } from "vitest";
import { MOST_CHARACTERS, parse } from "./parse.ts";

const TOKENS = [
  "word ", "word\n", "word  \n", "word\n\n", "  word\n", "\tword\n", " ", "\t", "\n", "\r", "\u202e\n", "好", "😀", "\u200b", "| a | b |\n", "|", "|\n", "|-|\n", "|a|\n|-|\n", "\\|",
  "- ", "-\n", "- a\n", "- a\n\n", "  - a\n", "1. ", "1. a\n", "> ", "> a\n", "> \n", "# a #\n", "#", "---\n", "```\n", "```a\n", "~~~\n", "    a\n",
  "[", "]", "](", "[](", "[](<", "[](<>", "[](a \"", "[](a '", "[](a ", "[a](b)", "![](", "[[a](http://b)](c)", "[a](http://b)", "[x] ", "(", ")",
  "*", "*a", "*a*", "**a**", "_a", "_a_ ", "~~a", "`", "`a``", "\\", "\\\n", "\\*", "<", "<!--", "<br>", "<http://", "<http://a ", "http://a ", "http://a(", "http://a)", ",http://a,", "h", "&", "&#1", "&amp;",
  "{", "__SKILL_DONE__", "<ASK_USER_YAML>", "<ASK_USER_YAML>a</ASK_USER_YAML>", "```\n<ASK_USER_YAML>",
];

type Shape = (length: number) => string;
const filled = (token: string, length: number): string => token.repeat(Math.ceil(length / token.length)).slice(0, length);

const shapes: Record<string, Shape> = Object.fromEntries(TOKENS.map((token): [string, Shape] => [JSON.stringify(token), (length) => filled(token, length)]));
// What comes last must be in what is read at all.
shapes["an item, blank lines, and more of it"] = (length) => `- a\n${filled("\n", length - 10)}  b`;
shapes["blanks in a question"] = (length) => `<ASK_USER_YAML>a${filled(" ", length - 10)}b</ASK_USER_YAML>`;
shapes["blanks in a heading"] = (length) => `# a${filled(" ", length - 10)}b`;
shapes["blanks in a line"] = (length) => `a${filled(" ", length - 10)}b`;
shapes["addresses that end in brackets"] = (length) => filled(`http://a${")".repeat(1_990)} `, length);
shapes["links that never end"] = (length) => filled(`${"[](".repeat(8)}${"a".repeat(1_900)} `, length);
shapes["tildes and a tick"] = (length) => `${filled("~", length - 10)}\``;
shapes["deep marks, then short lines"] = (length) => `${"- ".repeat(40)}${filled("a\n", length)}`;
shapes["deep quotes, then short lines"] = (length) => `${"> ".repeat(40)}${filled("a\n", length)}`;
shapes["a deep list"] = (length) => filled(`${Array.from({ length: 30 }, (_, depth) => `${"  ".repeat(depth)}- x\n`).join("")}\n`, length);

/** Milliseconds, and never so few that the clock or the collector of garbage decides. */
function timed(text: string): number {
  const begin = performance.now();
  parse(text);
  return Math.max(10, performance.now() - begin);
}

/** How many times as long one text takes as another: the best of some tries, and no more tries than it needs. */
function ratio(text: string, other: string, bound: number): number {
  let [least, leastOther] = [Infinity, Infinity];
  const begin = performance.now();
  for (let time = 0; time < 9 && performance.now() - begin < 5_000 && !(least / leastOther < bound); time += 1) {
    least = Math.min(least, timed(text));
    leastOther = Math.min(leastOther, timed(other));
  }
  return least / leastOther;
}

test.each(Object.keys(shapes))("ten times the text takes no more than thirty times as long: %s", (name) => {
  const shape = shapes[name] as Shape;
  expect(ratio(shape(MOST_CHARACTERS), shape(MOST_CHARACTERS / 10), 30)).toBeLessThan(30);
}, 60_000);

// A look that is bounded, but long, is linear as well, and would still stop the page.
test.each(['"[]("', '"[](<"', '"[](<>"', '"![]("', "addresses that end in brackets", "links that never end", "deep marks, then short lines", "deep quotes, then short lines"])("a long look ahead or inside takes not much longer than plain brackets: %s", (name) => {
  const shape = shapes[name] as Shape;
  expect(ratio(shape(MOST_CHARACTERS), filled("[] ", MOST_CHARACTERS), 8)).toBeLessThan(8);
}, 60_000);
