// Markdown as people write it, and as an attacker writes it.
import { expect, test } from "vitest";
import { visibleText } from "../visible.ts";
import { safeAddress } from "./address.ts";
import { unescaped } from "./inline.ts";
import { MOST_CHARACTERS, MOST_NODES, parse } from "./parse.ts";
import type { Block, Inline, Tree } from "./tree.ts";

/** Everything a tree would put on the page, as text and as addresses. */
function flat(tree: Tree): { text: string; links: string[]; kinds: Set<string>; depth: number; nodes: number } {
  const links: string[] = [];
  const kinds = new Set<string>();
  let [text, depth, nodes] = ["", 0, 0];
  const inside = (parts: readonly Inline[], level: number): void => {
    depth = Math.max(depth, level);
    for (const part of parts) {
      nodes += 1;
      kinds.add(part.is);
      if ("text" in part) text += part.text;
      if (part.is === "link") links.push(part.href);
      if ("parts" in part) inside(part.parts, level + 1);
    }
  };
  const blocks = (all: readonly Block[], level: number): void => {
    depth = Math.max(depth, level);
    for (const block of all) {
      nodes += 1;
      kinds.add(block.is);
      if ("text" in block) text += block.text;
      if ("parts" in block) inside(block.parts, level + 1);
      if (block.is === "quote") blocks(block.blocks, level + 1);
      if (block.is === "list") for (const item of block.items) blocks(item.blocks, level + 1);
      if (block.is === "table") for (const cell of [...block.header, ...block.rows.flat()]) inside(cell, level + 1);
    }
  };
  blocks(tree.blocks, 1);
  return { text: text + tree.rest, links, kinds, depth, nodes };
}

test("what people write in Markdown has its form", () => {
  const tree = parse("# Title\n\nSome **bold** and `code`.\n\n- one\n- [x] two\n\n1. first\n\n> said\n\n```sh\nls\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n---");
  expect(tree.blocks.map((block) => block.is)).toEqual(["heading", "paragraph", "list", "list", "quote", "code", "table", "rule"]);
  expect(tree.blocks[5]).toEqual({ is: "code", language: "sh", text: "ls" });
  expect(tree.blocks[2]).toMatchObject({ start: undefined, items: [{ isDone: undefined }, { isDone: true }] });
  expect(tree.blocks[6]).toMatchObject({ aligns: [undefined, "right"] });
  expect(flat(parse("a\\*b &lt;c&gt; &unknown; &#x41;")).text).toBe("a*b <c> &unknown; A");
});

test.each(["<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "a <b onclick=x>b</b>", "<!-- hidden -->", "<svg/onload=alert(1)>", "<style>*{}</style>"])("HTML is text: %s", (html) => {
  const { text, kinds } = flat(parse(html));
  expect(text).toContain(html.replace("a ", ""));
  expect([...kinds].sort().filter((kind) => !["paragraph", "plain", "text"].includes(kind))).toEqual([]);
});

test.each([
  "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "java\nscript:alert(1)", "\u0001javascript:alert(1)", " javascript:alert(1)",
  "javascript&colon;alert(1)", "javascript&#58;alert(1)", "&#x6a;avascript:alert(1)", "java&Tab;script:alert(1)", "data:text/html,<script>x</script>", "DATA:text/html;base64,xx",
  "vbscript:x", "file:///etc/passwd", "blob:http://x/1", "//host/x", "/v1/session/end", "#/runs", "",
])("nothing leads to %j", (address) => {
  expect(safeAddress(unescaped(address))).toBeUndefined();
  for (const markdown of [`[go](<${address}>)`, `[go](${address})`, `![go](${address})`, `[go][x]\n\n[x]: ${address}`, `<${address}>`]) {
    expect(flat(parse(markdown)).links).toEqual([]);
  }
});

test("a link leads where its address says, and says where; a picture is a link and is not loaded", () => {
  expect(parse("[docs](https://Example.org/a)").blocks[0]).toEqual({
    is: "paragraph",
    parts: [{ is: "link", href: "https://example.org/a", place: "example.org", parts: [{ is: "text", text: "docs" }] }],
  });
  expect(parse("[https://good.example](https://bad.example)").blocks[0]).toMatchObject({ parts: [{ href: "https://bad.example/", place: "bad.example" }] });
  expect(parse("<https://good.example>").blocks[0]).toMatchObject({ parts: [{ place: undefined }] });
  expect(parse("![a cat](https://x.example/cat.png)").blocks[0]).toMatchObject({ parts: [{ is: "link", href: "https://x.example/cat.png", parts: [{ text: "a cat" }] }] });
  expect(flat(parse("[report](artifacts/report.md)"))).toMatchObject({ links: [], text: "report (artifacts/report.md)" });
});

test("what hides or turns text around is seen", () => {
  const { text } = flat(parse("ab\u202Ecd\u200Bef `x\u2066y`\n\n```\n\u202E\n```\n\n[a\u202Eb](https://x.example)"));
  expect(text).not.toMatch(/[\u202E\u200B\u2066]/);
  expect(text).toContain("⟨U+202E⟩cd⟨U+200B⟩ef");
  expect(visibleText("a\n\tb")).toBe("a\n\tb");
});

const hostile: Record<string, string> = {
  quotes: ">".repeat(10_000),
  "spaced quotes": "> ".repeat(10_000),
  "lists in lists": "- ".repeat(10_000),
  "numbers in numbers": "1. ".repeat(5_000),
  brackets: "[".repeat(10_000),
  "brackets and words": "[a".repeat(100_000),
  "brackets with ends": `${"[".repeat(10_000)}a${"](b)".repeat(10_000)}`,
  pictures: "![".repeat(50_000),
  stars: "*a".repeat(100_000),
  underscores: "_a_".repeat(60_000),
  ticks: "`a``".repeat(50_000),
  "one long line": "x".repeat(1_000_000),
  "long line of words": "word ".repeat(200_000),
  "angle brackets": "<a".repeat(100_000),
  "open comment": "<!--".repeat(50_000),
  "table row": `|${"a|".repeat(50_000)}\n|${"-|".repeat(50_000)}\n`,
  "indented lists": Array.from({ length: 600 }, (_, depth) => `${" ".repeat(depth * 2)}- x`).join("\n"),
  definitions: "[a]: b\n".repeat(20_000),
  "many items": "- x\n".repeat(20_000),
  "many rows": `|a|b|\n|-|-|\n${"|1|2|\n".repeat(5_000)}`,
  references: "&#x202e;".repeat(20_000),
  questions: "<ASK_USER_YAML>".repeat(10_000),
  "closed questions": "<ASK_USER_YAML></ASK_USER_YAML>".repeat(10_000),
  "braces and marker": `${"{".repeat(50_000)}__SKILL_DONE__${"}".repeat(50_000)}`,
  tabs: "\t".repeat(100_000),
  newlines: "\n".repeat(200_000),
  "quote by quote": "> a\n\n".repeat(20_000),
  strikes: "~~a".repeat(60_000),
  mails: "a@".repeat(60_000),
  webs: "www.".repeat(50_000),
  urls: "http://a.example/(".repeat(10_000),
  "stars around stars": `${"*".repeat(2_000)}a${"*".repeat(2_000)}`,
  "titles that never end": '[a](b "c '.repeat(20_000),
};

test.each(Object.keys(hostile))("a text made to hurt is read all the same, and bounded: %s", (name) => {
  const text = hostile[name] ?? "";
  const tree = parse(text);
  const all = flat(tree);
  expect(all.depth).toBeLessThan(60);
  expect(all.nodes).toBeLessThan(MOST_NODES * 2 + 200);
}, 20_000);

test("what nests deeper than anybody reads is text from there on", () => {
  const text = Array.from({ length: 32 }, (_, depth) => `${"  ".repeat(depth)}- word${depth}`).join("\n");
  const all = flat(parse(text));
  expect(all.depth).toBeLessThan(30);
  for (let depth = 0; depth < 32; depth += 1) expect(all.text).toContain(`word${depth}`);
});

test("what is too much is shown as it was written, and none of it is lost", () => {
  const long = "x".repeat(1_000_000);
  expect(flat(parse(long)).text).toBe(long);
  const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join("\n\n");
  const tree = parse(lines);
  expect(tree.rest).toContain("line 4999");
  expect(flat(tree).text.replace(/\s+/g, "")).toBe(lines.replace(/\s+/g, ""));
  expect(tree.blocks.length).toBe(tree.weights.length);
  const cut = parse(`${"word ".repeat(MOST_CHARACTERS / 5)}\nthe end`);
  expect(cut.rest).toContain("the end");
});

test("what the machine reads counts as well, and is never shown by halves", () => {
  const ask = (text: string): string => `<ASK_USER_YAML>${text}</ASK_USER_YAML>`;
  const long = "x".repeat(MOST_CHARACTERS - 10);
  const tree = parse(`${ask(long)}\n${ask("y".repeat(20))}\nend`);
  expect(tree.blocks).toEqual([{ is: "machine", what: "question", text: long }]);
  expect(tree.rest).toBe(`${ask("y".repeat(20))}\nend`);
});

test("a text is cut between characters", () => {
  const text = `a${"😀".repeat(MOST_CHARACTERS)}`;
  expect(flat(parse(text)).text).toBe(text);
});

test("nothing of a link, a picture, a table or a fence is hidden, and nothing is said twice", () => {
  expect(flat(parse("![](a.png) [](https://x.example/b)")).text).toBe("a.png https://x.example/b");
  expect(flat(parse('[a](b "c") and [d](https://x.example \'e\')')).text).toBe("a (b) \"c\" and d 'e'");
  expect(flat(parse("[a [b](https://x.example/c) d](e \"f\")")).text).toBe('[a b d](e "f")');
  expect(parse("| a | b |\n|-|-|\n| 1 | 2 | 3 | `4` |").blocks[0]).toMatchObject({ rows: [[[{ text: "1" }], [{ text: "2 | 3 | " }, { is: "code", text: "4" }]]] });
  const words = "more than the name of any language that was ever made";
  expect(parse(`\`\`\`${words}\nx\n\`\`\``).blocks[0]).toEqual({ is: "code", language: "", text: `\`\`\`${words}\nx` });
});

test("machine-readable parts are marked", () => {
  const ask = "<ASK_USER_YAML>\nask_user:\n  prompt: hm\n</ASK_USER_YAML>";
  expect(parse(`First.\n\n${ask}\n\nLast.`).blocks.map((block) => block.is)).toEqual(["paragraph", "machine", "paragraph"]);
  expect(parse(ask).blocks).toEqual([{ is: "machine", what: "question", text: "ask_user:\n  prompt: hm" }]);
  expect(parse(`Look:\n\n\`\`\`yaml\n${ask}\n\`\`\`\nAfter.`).blocks.map((block) => block.is)).toEqual(["paragraph", "machine", "paragraph"]);
  expect(parse("<ASK_USER_YAML>\nnever closed").blocks.map((block) => block.is)).not.toContain("machine");
  const output = '{"__SKILL_DONE__": true, "a": {"b": 1}}';
  for (const text of [output, `\n ${output}\n`, `\`\`\`json\n${output}\n\`\`\``, `Done.\n\n${output}`]) {
    expect(parse(text).blocks.at(-1)).toEqual({ is: "machine", what: "output", text: output });
  }
  for (const text of ["The word __SKILL_DONE__ alone", '{"a": "__SKILL_DONE__"}', '["__SKILL_DONE__"]', '{"__SKILL_DONE__": true']) {
    expect(parse(text).blocks.map((block) => block.is)).not.toContain("machine");
  }
});

test("marks are paired as people mean them", () => {
  const html = (text: string): string => {
    const inside = (parts: readonly Inline[]): string =>
      parts.map((part) => (part.is === "text" ? part.text : part.is === "code" ? `{${part.text}}` : part.is === "break" ? "/" : `<${part.is}>${inside(part.parts)}</>`)).join("");
    const [block] = parse(text).blocks;
    return block?.is === "paragraph" ? inside(block.parts) : `?${block?.is}`;
  };
  expect(html("**a *b* c** d")).toBe("<strong>a <em>b</em> c</> d".replace("</em>", "</>"));
  expect(html("***a***")).toBe("<em><strong>a</></>");
  expect(html("a * b * c")).toBe("a * b * c");
  expect(html("snake_case_name and __init__")).toBe("snake_case_name and <strong>init</>");
  expect(html("2*3*4")).toBe("2<em>3</>4");
  expect(html("**never closed")).toBe("**never closed");
  expect(html("~~gone~~ ~not~")).toBe("<del>gone</> ~not~");
  expect(html("`a*b*` and ``c`d``")).toBe("{a*b*} and {c`d}");
  expect(html("`never closed *em*")).toBe("`never closed <em>em</>");
  expect(html("[a **b** c](https://x.example)")).toBe("<link>a <strong>b</> c</>");
  expect(html("**[a](https://x.example)**")).toBe("<strong><link>a</></>");
  expect(html("see https://x.example/a_b_c, or (https://y.example).")).toBe("see <link>https://x.example/a_b_c</>, or (<link>https://y.example</>).");
  expect(html("[a] b](c")).toBe("[a] b](c");
  expect(html("one<br>two<br/>three")).toBe("one/two/three");
  expect(html("**重点**：好")).toBe("<strong>重点</>：好");
  expect(html("**重点：**好，这是**“引用”**的")).toBe("<strong>重点：</>好，这是<strong>“引用”</>的");
  expect(html("请看https://x.example/a。然后（https://y.example）")).toBe("请看<link>https://x.example/a</>。然后（<link>https://y.example</>）");
  expect(html("****a****")).toBe("****a****");
  expect(html("a  \nb\\\nc\t \n  d")).toBe("a\nb\nc\nd");
  expect(html("a\\*b\\*c \\\\ \\q")).toBe("a*b*c \\ \\q");
});

test("blocks stand inside of blocks", () => {
  const kinds = (blocks: readonly Block[]): unknown[] =>
    blocks.map((block) => (block.is === "list" ? block.items.map((item) => kinds(item.blocks)) : block.is === "quote" ? ["quote", ...kinds(block.blocks)] : block.is));
  expect(kinds(parse("- a\n  - b\n  - c\n\n    more\n- d").blocks)).toEqual([[["paragraph", [["paragraph"], ["paragraph", "paragraph"]]], ["paragraph"]]]);
  expect(kinds(parse("1. a\n   ```\n   x\n   ```\n2. b").blocks)).toEqual([[["paragraph", "code"], ["paragraph"]]]);
  expect(kinds(parse("1. a\n  - b\n2. c").blocks)).toEqual([[["paragraph", [["paragraph"]]], ["paragraph"]]]);
  expect(kinds(parse("> a\n> > b\n> - c\nd").blocks)).toEqual([["quote", "paragraph", ["quote", "paragraph"], [["paragraph"]]]]);
  expect(kinds(parse("text\n- a\n- b\ntext").blocks)).toEqual(["paragraph", [["paragraph"], ["paragraph"]]]);
  expect(kinds(parse("a\n---\nb").blocks)).toEqual(["paragraph", "rule", "paragraph"]);
  expect(kinds(parse("    code\n\n    more\n\ntext").blocks)).toEqual(["code", "paragraph"]);
  expect(kinds(parse("```\nnever closed\n\n# no heading").blocks)).toEqual(["code"]);
  expect(kinds(parse("#hash #tag\n1986. A year").blocks)).toEqual(["paragraph"]);
  expect(kinds(parse("| a |\n| - |\n| `x\\|y` | extra |\ntext").blocks)).toEqual(["table", "paragraph"]);
  expect(kinds(parse("> - a\n>   - b\n>\n> ```\n> x\n> ```").blocks)).toEqual([["quote", [["paragraph", [["paragraph"]]]], "code"]]);
  expect(kinds(parse("1. a\n\n   b\n\n\n   c\n2. d").blocks)).toEqual([[["paragraph", "paragraph", "paragraph"], ["paragraph"]]]);
  expect(["# a ##", "# a #b", "# C#", "# #"].map((text) => flat(parse(text)).text)).toEqual(["a", "a #b", "C#", ""]);
  expect(parse("3. c\n4. d").blocks[0]).toMatchObject({ is: "list", start: 3 });
});
