// Nothing that was written is lost, doubled or moved: every word of a text is in its tree once and in order, whatever
// marks stand around it.
import { expect, test } from "vitest";
import { MOST_CHARACTERS, parse } from "./parse.ts";
import type { Block, Inline, Tree } from "./tree.ts";

const WORD = /q\d+z/g;

function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

/** The words of a tree as they would be read, and the words of an address where its link does not say them. */
function wordsIn(tree: Tree): string[] {
  const inline = (part: Inline): string[] => {
    if (part.is === "text" || part.is === "code") return wordsOf(part.text);
    if (part.is === "break") return [];
    const inside = part.parts.flatMap(inline);
    return part.is === "link" ? [...inside, ...wordsOf(part.href).filter((word) => !inside.includes(word))] : inside;
  };
  const block = (one: Block): string[] => {
    switch (one.is) {
      case "paragraph":
      case "heading":
        return one.parts.flatMap(inline);
      case "quote":
        return one.blocks.flatMap(block);
      case "list":
        return one.items.flatMap((item) => item.blocks.flatMap(block));
      case "table":
        return [...one.header, ...one.rows.flat()].flatMap((cell) => cell.flatMap(inline));
      case "code":
        return [...wordsOf(one.language), ...wordsOf(one.text)];
      case "plain":
      case "machine":
        return wordsOf(one.text);
      case "rule":
        return [];
    }
  };
  return [...tree.blocks.flatMap(block), ...wordsOf(tree.rest)];
}

/** Numbers below one that are the same every time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const BEGINS = ["", "", "", "- ", "* ", "1. ", "2) ", "  ", "    ", "\t", "> ", ">", "# ", "### ", "- [x] ", "| ", "+   ", "-      ", "   "];
const INSIDE = [
  "W", "W", "W ", " ", "  ", "*", "**", "***", "_", "__", "~~", "`", "``", "\\", "\\*", "[", "]", "(", ")", "](", "![", "<", ">", "|", " | ", "!", "#", " #", "\"", "'",
  "[W](W)", "[W](https://x.example/W)", "[](https://x.example/W)", "![](W)", "![W](https://W.example)", "[W](W \"W\")", "[W](<W W> 'W')", "https://x.example/W", "https://W.example).", "<https://x.example/W>",
  "<mailto:W@x.example>", "<br>", "&amp;", "&W;", "`W`", "``W`W``", "**W**", "_W_", "~~W~~", "[W][W]", "[[W](https://x.example/W)](W)", "好", "，", "😀", "\u200b",
];
const LINES = ["", "", "", "---", "```", "```sh", "~~~", "  ```", "````", "|---|---|", "|-|", "| :-: | - |", "| W | W |", "| W | W | W |", "<ASK_USER_YAML>", "</ASK_USER_YAML>", "* * *", "-", "1.", "[W]: W", `\`\`\`${"W ".repeat(30)}`];

function randomText(next: () => number): string {
  const one = (from: readonly string[]): string => from[Math.floor(next() * from.length)] ?? "";
  let count = 0;
  const lines = Array.from({ length: 1 + Math.floor(next() * 12) }, () => {
    if (next() < 0.35) return `${next() < 0.3 ? one(BEGINS) : ""}${one(LINES)}`;
    const begins = Array.from({ length: Math.floor(next() * 3) }, () => one(BEGINS)).join("");
    return begins + Array.from({ length: Math.floor(next() * 10) }, () => one(INSIDE)).join("");
  });
  return lines.join(next() < 0.1 ? "\r\n" : "\n").replace(/W/g, () => `q${(count += 1)}z`);
}

test("every word is there once and in order, for texts made of marks at random", () => {
  const next = numbers(6);
  for (let round = 0; round < 4_000; round += 1) {
    const text = randomText(next);
    expect(wordsIn(parse(text)), JSON.stringify(text)).toEqual(wordsOf(text));
  }
}, 60_000);

test("the same for long ones, where what is too much is shown as it was written", () => {
  const next = numbers(14);
  for (let round = 0; round < 2; round += 1) {
    let count = 0;
    const text = Array.from({ length: 4_000 }, () => randomText(next)).join("\n\n").replace(WORD, () => `q${(count += 1)}z`);
    expect(text.length).toBeGreaterThan(MOST_CHARACTERS);
    expect(wordsIn(parse(text))).toEqual(wordsOf(text));
  }
}, 60_000);
