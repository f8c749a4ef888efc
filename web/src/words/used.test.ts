// Every word of every table is used somewhere; an unused one is translated and shipped for nothing. A use is
// `words.name`. A computed name cannot be found in a file: a table in which all are looked up, or that is typed by a
// union, is accepted as it is; names with a common beginning are looked up by their endings; all others are listed
// here.
import { readFileSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";

/** Words that are said as `words[name]`, by the file of their table. */
const COMPUTED: Readonly<Record<string, readonly string[]>> = {
  "app/words.ts": ["inbox", "skills", "engines"],
  "engines/words.ts": ["read_only", "workspace", "full"],
  "parts/time.ts": ["ms", "s", "min", "h", "d"],
  "parts/markdown/words.ts": ["question", "output"],
  "words/codes-gate.ts": ["end", "marker", "answer"],
  "run/words.ts": ["steps", "timeline", "evidence", "links", "files", "replay"],
  "run/verdict/words.ts": ["auto", "interactive", "conversation"],
  "run/evidence/event-words.ts": ["conversation", "timeline", "links"],
  "run/evidence/words.ts": ["stdout", "stderr", "stdin", "pty", "rendered", "bytes", "hex", "terminal"],
  "run/files/words.ts": ["created", "modified", "deleted", "unchanged", "off", "no_attempt", "removed", "not_yet", "unknown", "binary", "too_large", "budget", "unreadable", "masked"],
  "run/timeline/words.ts": ["errorCount", "warningCount", "silenceCount", "stallCount", "timeoutCount", "waits", "silence", "stall", "timeout", "answered", "decided", "again"],
};

type Sources = ReadonlyMap<string, string>;

/** One table: where it stands, what it is called there, and its words. */
interface Table {
  readonly file: string;
  readonly name: string;
  readonly keys: readonly string[];
  /** By a union, which has exactly these. */
  readonly isTyped: boolean;
}

function tablesIn(file: string, source: string): Table[] {
  const tables: Table[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer && ts.isCallExpression(node.initializer) && node.initializer.expression.getText() === "defineWords") {
      const [given] = node.initializer.arguments;
      const table = given && ts.isSatisfiesExpression(given) ? given.expression : given;
      const properties = table && ts.isObjectLiteralExpression(table) ? table.properties : [];
      tables.push({ file, name: node.name.getText(), keys: properties.flatMap(({ name }) => (name && (ts.isIdentifier(name) || ts.isStringLiteral(name)) ? [name.text] : [])), isTyped: given !== table });
    }
    ts.forEachChild(node, look);
  };
  look(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true));
  return tables;
}

/** What the table is called in a file; nothing where it is not known there. */
function nameIn(file: string, source: string, table: Table): string | undefined {
  if (file === table.file) return table.name;
  for (const [, names = "", from = ""] of source.matchAll(/import\s*\{([^}]*)\}\s*from\s*"(\.[^"]*)"/g)) {
    if (posix.join(posix.dirname(file), from) !== table.file) continue;
    const found = names.split(",").map((one) => one.trim().split(/\s+as\s+/)).find(([name]) => name === table.name);
    if (found) return found.at(-1);
  }
  return undefined;
}

/** The words of all tables that no file says, as `file table.word`. `isText`: whether it stands anywhere in quotes. */
function unused(sources: Sources, isText: (text: string) => boolean, computed: typeof COMPUTED): string[] {
  const tables = [...sources].filter(([file]) => file.endsWith(".ts")).flatMap(([file, source]) => (source.includes("defineWords(") ? tablesIn(file, source) : []));
  return tables.flatMap((table) => {
    const said = new Set<string>();
    const beginnings = new Set<string>();
    for (const [file, source] of sources) {
      const name = nameIn(file, source, table);
      if (name === undefined) continue;
      const body = source.replace(/import\s*(?:type\s*)?\{[^}]*\}\s*from\s*"[^"]*";?/g, "").replace(new RegExp(`const ${name} = defineWords`), "");
      const uses = new RegExp(`(?<![\\w$.])${name}(?![\\w$])(?:\\.(\\w+)|\\["([^"]+)"\\]|\\[\`([^\`$]*)\\$)?`, "g");
      for (const [, named, quoted, begin] of body.matchAll(uses)) {
        const key = named ?? quoted;
        if (key === undefined) beginnings.add(begin ?? "");
        else said.add(key);
      }
    }
    const isComputed = (key: string): boolean =>
      [...beginnings].some((begin) => (begin === "" ? table.isTyped || said.size === 0 || computed[table.file]?.includes(key) : key.startsWith(begin) && isText(key.slice(begin.length))));
    return table.keys.filter((key) => !said.has(key) && !isComputed(key)).map((key) => `${table.file} ${table.name}.${key}`);
  });
}

/** Whether a text stands in one of these between quotes. */
function standsIn(sources: Iterable<string>): (text: string) => boolean {
  const texts = new Set<string>();
  for (const source of sources) {
    for (const [, text = ""] of source.matchAll(/["'`]([\w.-]+)["'`]/g)) texts.add(text);
  }
  return (text) => texts.has(text);
}

function read(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /\.(?:ts|svelte)$/.test(file) && !file.endsWith(".test.ts"));
  return new Map(files.map((file) => [file, readFileSync(`${folder}/${file}`, "utf8")]));
}

const sources = read(fileURLToPath(new URL("..", import.meta.url)));

// It reads every file once for each table; a busy machine needs longer than the usual 5 s.
test("every word is said somewhere", { timeout: 60_000 }, () => {
  const client = read(fileURLToPath(new URL("../../../clients/typescript/src", import.meta.url)));
  expect([...sources.keys()]).toContain("inbox/words.ts");
  expect(unused(sources, standsIn([...sources.values(), ...client.values()]), COMPUTED)).toEqual([]);
});

test("every word that is listed here is there", () => {
  const missing = Object.entries(COMPUTED).flatMap(([file, keys]) => {
    const there = tablesIn(file, sources.get(file) ?? "").flatMap((table) => table.keys);
    return keys.filter((key) => !there.includes(key)).map((key) => `${file} ${key}`);
  });
  expect(missing).toEqual([]);
});

describe("a word that nobody says is found", () => {
  const table = (...keys: string[]): string => `export const words = defineWords({ ${keys.map((key) => `${key}: { en: "a", zh: "啊" }`).join(", ")} });`;
  const found = (words: string, page: string): string[] => {
    const sources = new Map([["a/words.ts", words], ["a/Page.svelte", page], ["b/words.ts", 'export const words = defineWords({});']]);
    return unused(sources, standsIn(sources.values()), { "a/words.ts": ["one"] }).map((word) => word.replace("a/words.ts words.", ""));
  };
  const here = 'import { words } from "./words.ts";';

  test.each([
    ["by name", `${here} {t(words.one)}{t(words["two"])}`, ["mode_a", "mode_b"]],
    ["under another name", 'import { words as ours } from "./words.ts"; {t(ours.one)} {t(words.two)}', ["two", "mode_a", "mode_b"]],
    ["of another table", 'import { words } from "../b/words.ts"; {t(words.one)}', ["one", "two", "mode_a", "mode_b"]],
    ["by the beginning of its name", `${here} const modes = ["a"]; t(words[\`mode_\${mode}\`])`, ["one", "two", "mode_b"]],
    ["by a name that is computed and listed", `${here} t(words[which]); t(words.mode_a)`, ["two", "mode_b"]],
    ["where all are looked up", `${here} t(words[which])`, []],
    ["in nothing but an import", here, ["one", "two", "mode_a", "mode_b"]],
    ["of something else", `${here} row.words.one`, ["one", "two", "mode_a", "mode_b"]],
  ])("%s", (_, page, expected) => {
    expect(found(table("one", "two", "mode_a", "mode_b"), page)).toEqual(expected);
  });
});
