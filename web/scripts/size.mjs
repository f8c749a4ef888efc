// How heavy the page is: what a browser loads at first, and what it loads when it is asked for. Fails above the limit.
import { readFileSync, readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

// 152,000 until the page knew turns and could show what a model would see of a run; 158,000 until it could continue a
// run on another engine, start one from a prompt and show the checks of a run; 161,500 until it showed child runs; 162,500 until
// it showed the steps of workflows and could start one, checks, subagents of engines, and copies of folders.
const LIMIT = 181_000;
const dist = new URL("../dist/", import.meta.url);
const html = readFileSync(new URL("index.html", dist), "utf8");
const first = new Set([...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((found) => found[1]));
const weigh = (name) => gzipSync(readFileSync(new URL(name, dist)), { level: 9 }).length;

let script = 0;
for (const file of readdirSync(new URL("assets/", dist)).sort()) {
  const name = `assets/${file}`;
  const bytes = weigh(name);
  const when = first.has(name) ? "at first" : "when asked for";
  console.log(`${String(bytes).padStart(8)} bytes gzip  ${when.padEnd(14)}  ${name}`);
  // Everything but the terminal counts, also what is loaded later.
  if (file.endsWith(".js") && !file.startsWith("terminal")) script += bytes;
}
console.log(`${String(script).padStart(8)} bytes gzip  of script without the terminal; at most ${LIMIT}`);
if (script >= LIMIT) {
  console.error("the page is too heavy: look at what was imported last");
  process.exit(1);
}
