// The page knows no engine by name: everything it shows about an engine comes from the service.
import { readFileSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";

const source = new URL("../", import.meta.url);
const engines = readdirSync(new URL("../../../crates/engine/engines/", import.meta.url))
  .filter((file) => file.endsWith(".toml"))
  .map((file) => file.replace(/\.toml$/, ""));

test("no engine's name stands in the code of the page", () => {
  expect(engines.length).toBeGreaterThan(5);
  const names = new RegExp(`\\b(${engines.join("|")})\\b`, "i");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => /\.(ts|svelte|css)$/.test(file) && !file.endsWith(".test.ts"));
  expect(files.length).toBeGreaterThan(100);
  const found = files.filter((file) => names.test(readFileSync(new URL(file, source), "utf8")));
  expect(found).toEqual([]);
});
