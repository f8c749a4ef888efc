// Takes the Chinese words out of the script when the page is built, and puts them into a separate file that is loaded
// when the user chooses Chinese. In the sources, and in tests, both languages are side by side.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { Plugin } from "vite";

/** What `words/language.svelte.ts` imports: the address of the file, or nothing while the words are in the tables. */
const NAME = "virtual:chinese";
const RESOLVED = `\0${NAME}`;

/** One word of a table: its English, and where its Chinese stands. */
interface Found {
  readonly en: string;
  readonly zh: string;
  readonly from: number;
  readonly to: number;
}

export function wordsApart(source: string): Plugin {
  let isBuild = false;
  let chinese = new Map<string, string>();
  return {
    name: "words-apart",
    enforce: "pre",
    configResolved(config) {
      isBuild = config.command === "build";
    },
    buildStart() {
      chinese = isBuild ? dictionary(source) : new Map();
    },
    resolveId(id) {
      return id === NAME ? RESOLVED : undefined;
    },
    load(id) {
      if (id !== RESOLVED) return undefined;
      if (!isBuild) return "export default undefined;";
      const file = this.emitFile({ type: "asset", name: "chinese.json", source: JSON.stringify(Object.fromEntries(chinese)) });
      return `export default import.meta.ROLLUP_FILE_URL_${file};`;
    },
    transform(code, id) {
      if (!isBuild || !/\.ts$/.test(id) || !code.includes("zh:")) return undefined;
      let left = code;
      // From the end on, so that places before stay true.
      for (const { en, zh, from, to } of found(id, code).reverse()) {
        if (chinese.get(en) === zh) left = left.slice(0, from) + left.slice(to);
      }
      return left;
    },
  };
}

/** Chinese by English. Where one English word has two Chinese ones, they stay where they are. */
function dictionary(source: string): Map<string, string> {
  const words = new Map<string, string>();
  const twofold = new Set<string>();
  for (const file of readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue;
    for (const { en, zh } of found(file, readFileSync(join(source, file), "utf8"))) {
      if (words.has(en) && words.get(en) !== zh) twofold.add(en);
      words.set(en, zh);
    }
  }
  for (const en of twofold) words.delete(en);
  return words;
}

/** Every object with the texts `en` and `zh`. */
function found(name: string, code: string): Found[] {
  const all: Found[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isObjectLiteralExpression(node)) {
      const text = (key: string): ts.PropertyAssignment | undefined =>
        node.properties.filter(ts.isPropertyAssignment).find((property) => property.name.getText() === key && ts.isStringLiteralLike(property.initializer));
      const [en, zh] = [text("en"), text("zh")];
      if (en && zh) {
        const words = (property: ts.PropertyAssignment): string => (property.initializer as ts.StringLiteralLike).text;
        const comma = /^\s*,/.exec(code.slice(zh.getEnd()))?.[0].length ?? 0;
        all.push({ en: words(en), zh: words(zh), from: zh.getStart(), to: zh.getEnd() + comma });
      }
    }
    ts.forEachChild(node, look);
  };
  look(ts.createSourceFile(name, code, ts.ScriptTarget.Latest, true));
  return all;
}
