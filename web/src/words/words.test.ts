// Both languages are complete, and nothing on the page is said outside of them. Every table of words is collected as it
// is defined, and every template is read for text that stands in it by itself.
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "svelte/compiler";
import { beforeAll, describe, expect, test, vi } from "vitest";
import type { Word } from "./words.ts";

const { tables } = vi.hoisted(() => ({ tables: [] as Record<string, Word>[] }));
vi.mock("./words.ts", async (original) => ({
  ...(await original<typeof import("./words.ts")>()),
  defineWords: (table: Record<string, Word>) => {
    tables.push(table);
    return table;
  },
}));

const SRC = fileURLToPath(new URL("..", import.meta.url));
const FILES = readdirSync(SRC, { recursive: true, encoding: "utf8" }).sort();
const read = (file: string): string => readFileSync(`${SRC}/${file}`, "utf8");
const modules = import.meta.glob(["../**/*.ts", "!../**/*.test.ts"]);

/** What is the same in both languages: names, and words that programs say. */
const SAME_IN_BOTH = new Set(["API", "JSON", "Markdown", "stdout", "stderr", "ANSI", "RASP", "FCMP"]);
/** What a template may say by itself: the names of languages and of this program, and a sign made of a letter. */
const SAID_BY_ITSELF = new Set(["English", "中文", "skillrun", "[x]"]);

const LETTER = /\p{L}/u;
const HAN = /\p{Script=Han}/u;
const placeholders = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g))].sort();
const without = (text: string): string => text.replace(/\{\w+\}/g, "");

/** What is wrong with a word; empty where nothing is. */
function faults({ en, zh, one }: Word): string[] {
  const found: string[] = [];
  if (en.trim() === "" || zh.trim() === "" || one?.trim() === "") found.push("it is empty in a language");
  if (placeholders(en).join() !== placeholders(zh).join()) found.push("its placeholders differ between the languages");
  if (one !== undefined && placeholders(one).some((name) => !placeholders(en).includes(name))) found.push("`one` has a placeholder of its own");
  if (HAN.test(en) || HAN.test(one ?? "")) found.push("its English is Chinese");
  if (LETTER.test(without(zh)) && !HAN.test(zh) && !SAME_IN_BOTH.has(zh)) found.push("its Chinese is not");
  if (LETTER.test(without(en)) && !LETTER.test(without(zh))) found.push("its Chinese says nothing");
  return found;
}

describe("words", () => {
  const defining = FILES.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && file !== "words/words.ts" && /\bdefineWords\(/.test(read(file)));
  const alone: [string, Word][] = [];

  beforeAll(async () => {
    for (const file of defining) {
      const load = modules[`../${file}`] ?? modules[file.replace(/^words\//, "./")];
      const exported = (await load?.()) as Record<string, unknown>;
      for (const [name, value] of Object.entries(exported)) {
        if (typeof value === "object" && value !== null && "en" in value && "zh" in value) alone.push([`${file} ${name}`, value as Word]);
      }
    }
  });

  test("every table there is was found", () => {
    const uses = defining.reduce((sum, file) => sum + (read(file).match(/\bdefineWords\(/g)?.length ?? 0), 0);
    expect(tables.length).toBe(uses);
    expect(defining).toContain("parts/time.ts");
    const elsewhere = FILES.filter((file) => file.endsWith(".svelte") && /\bdefineWords\(/.test(read(file)));
    expect(elsewhere, "a table stands in a .ts file").toEqual([]);
  });

  test("every word is there in both languages, and says the same", () => {
    const all = [...tables.flatMap((table) => Object.entries(table)), ...alone];
    expect(all.length).toBeGreaterThan(100);
    expect(all.flatMap(([name, word]) => faults(word).map((fault) => `${name} ${JSON.stringify(word)}: ${fault}`))).toEqual([]);
  });

  test.each([
    [{ en: "", zh: "空" }, "it is empty in a language"],
    [{ en: "{a} files", zh: "{b} 个文件" }, "its placeholders differ between the languages"],
    [{ en: "{n} files", one: "{m} file", zh: "{n} 个文件" }, "`one` has a placeholder of its own"],
    [{ en: "Close", zh: "Close" }, "its Chinese is not"],
    [{ en: "Close", zh: "…" }, "its Chinese says nothing"],
    [{ en: "关闭", zh: "关闭" }, "its English is Chinese"],
  ])("a bad word is found: %j", (word, fault) => {
    expect(faults(word)).toContain(fault);
  });

  test.each([{ en: "API", zh: "API" }, { en: "{a} → {b}", zh: "{a} → {b}" }, { en: "{n} files", one: "1 file", zh: "{n} 个文件" }])("a good word is good: %j", (word) => {
    expect(faults(word)).toEqual([]);
  });
});

type Node = { type: string } & Record<string, unknown>;
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && typeof (value as Node).type === "string";
const nodes = (value: unknown): Node[] => (Array.isArray(value) ? value : [value]).filter(isNode);

/** Attributes that users read or hear, of elements and of our own components. */
const SPOKEN = /^(?:aria-(?:label|description|roledescription|valuetext|placeholder)|alt|title|placeholder|label|heading|caption|summary)$/;
const isSaid = (text: unknown): text is string => typeof text === "string" && LETTER.test(text) && !SAID_BY_ITSELF.has(text.trim());

/** Text that an expression may come out as, as far as it stands in it. */
function saidBy(expression: unknown): string[] {
  return nodes(expression).flatMap((node): string[] => {
    switch (node.type) {
      case "Literal":
        return isSaid(node["value"]) ? [node["value"]] : [];
      case "TemplateLiteral": {
        const quasis = nodes(node["quasis"]).map((quasi) => (quasi["value"] as { cooked?: string }).cooked).filter(isSaid);
        return [...quasis, ...saidBy(node["expressions"])];
      }
      case "ConditionalExpression":
        return [...saidBy(node["consequent"]), ...saidBy(node["alternate"])];
      case "LogicalExpression":
      case "BinaryExpression":
        // What is compared is not said.
        return /^(?:===?|!==?|[<>]=?|in|instanceof)$/.test(String(node["operator"])) ? [] : [...saidBy(node["left"]), ...saidBy(node["right"])];
      default:
        return [];
    }
  });
}

/** Every text that a template says by itself. */
function literals(source: string): string[] {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    for (const node of nodes(value)) {
      if (node.type === "Text" && isSaid(node["data"])) found.push((node["data"] as string).trim());
      else if (node.type === "ExpressionTag") found.push(...saidBy(node["expression"]));
      else if (node.type === "HtmlTag") found.push("{@html}");
      else if (node.type === "Attribute") {
        if (SPOKEN.test(String(node["name"]))) visit(node["value"]);
        continue;
      } else if (node.type.endsWith("Directive")) continue;
      // Expressions were looked at; what is left are the parts of the template.
      for (const [key, part] of Object.entries(node)) {
        if (key !== "expression" && key !== "parent" && typeof part === "object") visit(part);
      }
    }
  };
  visit(parse(source, { modern: true }).fragment);
  return found;
}

describe("templates", () => {
  test.each(FILES.filter((file) => file.endsWith(".svelte")))("%s says nothing by itself", (file) => {
    expect(literals(read(file))).toEqual([]);
  });

  test.each([
    ["<p>Hello</p>", ["Hello"]],
    ["{#if a}<b>x {y}</b>{:else}…{/if}", ["x"]],
    ["{#each a as b}<i>b:</i>{:else}none{/each}", ["b:", "none"]],
    ["{#snippet one(a)}<i>deep</i>{/snippet}{#await a then b}late{/await}", ["deep", "late"]],
    ['<button aria-label="Close" title={"Shut"} class="big">✕</button>', ["Close", "Shut"]],
    ['<Part label="A {b}" kind="bad">{a ? "yes" : `no ${b}`}</Part>', ["A", "yes", "no "]],
    ['<img alt="A cat" src="x" /><input placeholder="Find" value="kept" />', ["A cat", "Find"]],
    ['{name || "nobody"}{a + " of"}', ["nobody", " of"]],
    ["{@html a}", ["{@html}"]],
    ['<p lang="en">English</p><p>skillrun · 12 → ✓</p>', ["skillrun · 12 → ✓"]],
    ["<p>English</p><p>中文</p><p> skillrun </p><p>· → ✓ 12</p>", []],
    ['<p class={a === "b" ? 1 : 2}>{t(words.x, { a: "b" })}{a === "b" ? 1 : 2}</p><script>const a = "text";</script><style>p { color: red; }</style>', []],
  ])("text is found wherever it stands: %s", (source, found) => {
    expect(literals(source)).toEqual(found);
  });
});
