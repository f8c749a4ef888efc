// Writes src/generated/api.ts from schemas/openapi.json. With --check, only compares.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("../../../schemas/openapi.json", import.meta.url);
const target = new URL("../src/generated/api.ts", import.meta.url);

const head = "// Made from schemas/openapi.json by `npm run generate`. Do not change it by hand.\n\n";
const document = JSON.parse(await readFile(source, "utf8"));
// A member with a default may still be left out of a request.
const options = { alphabetize: true, defaultNonNullable: false };
const made = head + astToString(await openapiTS(document, options));

if (process.argv.includes("--check")) {
  const committed = await readFile(target, "utf8").catch(() => "");
  if (committed !== made) {
    console.error(`${fileURLToPath(target)} is stale; \`npm run generate\` writes it anew`);
    process.exitCode = 1;
  }
} else {
  await writeFile(target, made);
}
