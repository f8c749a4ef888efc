// Tests the MCP server with programs of others: the official TypeScript clients drive every tool over stdio and over
// HTTP, and the official conformance suite checks `/mcp`.
//
// usage: node check.mjs SKILLRUN

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

import * as v2 from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [program] = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "skillrun-mcp-"));
const data = path.join(folder, "data");
const environment = { PATH: process.env.PATH, HOME: folder, SKILLRUN_DATA: data, SKILLRUN_CONFIG: "/dev/null" };

const SCRIPTS = {
  asks: "- - ask: {kind: open_text, prompt: 'Which colour?'}\n- - say: I take {{reply}}.\n  - output: {answer: '{{reply}}'}\n    done: true\n",
  long: "- - say: I begin.\n  - sleep_ms: 60000\n",
};

function install() {
  for (const [name, script] of Object.entries(SCRIPTS)) {
    const root = path.join(data, "skills", name);
    fs.mkdirSync(path.join(root, "assets"), { recursive: true });
    fs.writeFileSync(path.join(root, "SKILL.md"), `---\nname: ${name}\ndescription: A skill for tests.\n---\n\nAnswer.\n`);
    fs.writeFileSync(path.join(root, "assets", "scripted.yaml"), script);
  }
}

/** A server on a free port: its process, its address and its token. */
async function serve() {
  const words = ["serve", "--listen", "127.0.0.1:0", "--json"];
  const child = spawn(program, words, { env: environment, stdio: ["ignore", "pipe", "ignore"] });
  let text = "";
  for await (const line of createInterface({ input: child.stdout })) {
    text += line;
    if (line === "}") break;
  }
  const { url, token_file } = JSON.parse(text);
  return { child, url, token: fs.readFileSync(token_file, "utf8").trim() };
}

/** The suite sends no token, so this adds one. All else passes as it is, `Host` and `Origin` too. */
async function addToken({ url, token }) {
  const proxy = http.createServer((request, response) => {
    const { hostname, port } = new URL(url);
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    const passed = http.request({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    request.pipe(passed);
  });
  await new Promise((ready) => proxy.listen(0, "127.0.0.1", ready));
  return proxy;
}

function expect(is, what) {
  if (!is) throw new Error(what);
}

/** Calls every tool. */
async function drive(client) {
  const listed = (await client.listTools()).tools.map((tool) => tool.name);
  const names = ["spawn_run", "wait_runs", "send_to_run", "cancel_run", "list_runs", "read_result"];
  expect(names.every((name) => listed.includes(name)), `tools: ${listed}`);
  const call = async (name, input) => {
    const result = await client.callTool({ name, arguments: input });
    expect(!result.isError, `${name}: ${JSON.stringify(result)}`);
    return result.structuredContent;
  };
  const wait = async (run_ids) => {
    for (;;) {
      const waited = await call("wait_runs", { run_ids, timeout_sec: 20 });
      if (waited.outcome !== "incomplete" || waited.runs.some((run) => run.question)) return waited;
    }
  };
  const engine = "scripted";
  const { run_id } = await call("spawn_run", { skill: "asks", engine, mode: "interactive", key: randomUUID() });
  const asked = await wait([run_id]);
  expect(asked.runs[0].question.prompt === "Which colour?", JSON.stringify(asked));
  await call("send_to_run", { run_id, text: "blue" });
  expect((await wait([run_id])).outcome === "completed", "the run is not completed");
  const read = await call("read_result", { run_id });
  expect(read.output.includes("blue"), JSON.stringify(read));
  const long = (await call("spawn_run", { skill: "long", engine })).run_id;
  await call("cancel_run", { run_id: long });
  expect((await wait([long])).outcome === "partial", "the canceled run counts as completed");
  const { runs } = await call("list_runs", {});
  const state = (id) => runs.find((run) => run.run_id === id).state;
  expect(state(run_id) === "completed" && state(long) === "cancelled", JSON.stringify(runs));
  const refused = await client.callTool({ name: "cancel_run", arguments: { run_id: "none" } });
  expect(refused.isError === true, "an unknown run is not refused");
}

/** The clients of both lines of the SDK, on both transports. */
async function clients({ url, token }) {
  const address = new URL("/mcp", url);
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  const process = { command: program, args: ["mcp"], env: environment };
  const info = { name: "check", version: "1" };
  const newest = { versionNegotiation: { mode: { pin: "2026-07-28" } } };
  const all = [
    ["sdk 1, HTTP", () => new ClientV1(info), () => new HttpV1(address, { requestInit })],
    ["sdk 1, stdio", () => new ClientV1(info), () => new StdioV1(process)],
    ["client 2, HTTP", () => new v2.Client(info), () => new v2.StreamableHTTPClientTransport(address, { requestInit })],
    ["client 2, stdio", () => new v2.Client(info), () => new StdioV2(process)],
    ["client 2 with 2026-07-28, HTTP", () => new v2.Client(info, newest), () => new v2.StreamableHTTPClientTransport(address, { requestInit })],
    ["client 2 with 2026-07-28, stdio", () => new v2.Client(info, newest), () => new StdioV2(process)],
  ];
  let failures = 0;
  for (const [name, client, transport] of all) {
    const made = client();
    try {
      await made.connect(transport());
      await drive(made);
      console.log(`ok      ${name}: every tool`);
    } catch (error) {
      failures += 1;
      console.log(`FAILED  ${name}: ${error.stack}`);
    }
    await made.close().catch(() => {});
  }
  return failures;
}

/**
 * What the suite tests of a server that offers these tools and nothing else. The other scenarios call tools, prompts
 * and resources of the suite's own test server (`test_simple_text`, `test://static-text`), or need features that this
 * server does not announce.
 */
const SCENARIOS = {
  "2025-06-18": ["server-initialize", "ping", "tools-list"],
  "2025-11-25": ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"],
  "2026-07-28": ["server-stateless", "tools-list", "caching", "http-header-validation", "dns-rebinding-protection"],
};

/** Checks of these scenarios that fail, and why. */
const EXPECTED = {
  "sep-2575-server-rejects-undeclared-capability": "calls the tool test_missing_capability of the suite's own server",
  "sep-2575-missing-capability-http-400": "calls the tool test_missing_capability of the suite's own server",
  "sep-2575-http-server-no-independent-requests-on-stream": "calls a tool of the suite's own server",
  "sep-2575-server-no-log-without-loglevel": "calls a tool of the suite's own server",
  "sep-2549-prompts-list-caching-hints": "this server declares no prompts",
  "sep-2549-resources-list-caching-hints": "this server declares no resources",
  "sep-2549-resources-templates-list-caching-hints": "this server declares no resources",
  "sep-2575-http-server-method-not-found-404-initialize": "rmcp answers initialize in every version",
};

/** The checks that failed, of what the suite prints. */
function failedChecks(text) {
  const plain = text.replaceAll(/\x1b\[\d+m/g, "");
  return [...plain.matchAll(/\[([\w-]+) *\] FAILURE/g)].map(([, check]) => check);
}

async function conformance(url) {
  const suite = new URL("node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url).pathname;
  let failures = 0;
  for (const [version, scenarios] of Object.entries(SCENARIOS)) {
    for (const scenario of scenarios) {
      const words = [suite, "server", "--url", url, "--scenario", scenario, "--spec-version", version];
      const { code, text } = await run(process.execPath, words);
      const failed = failedChecks(text);
      const isExpected = code === 0 || (failed.length > 0 && failed.every((check) => check in EXPECTED));
      if (!isExpected) failures += 1;
      console.log(`${isExpected ? "ok    " : "FAILED"}  conformance ${version} ${scenario}`);
      if (isExpected) failed.forEach((check) => console.log(`        but for ${check}: ${EXPECTED[check]}`));
      else console.log(text);
    }
  }
  return failures;
}

/** The exit code of a program, and what it prints. */
function run(command, words) {
  return new Promise((done) => {
    const child = spawn(command, words, { stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (text += bytes));
    child.on("close", (code) => done({ code: code ?? 1, text }));
  });
}

install();
const server = await serve();
const proxy = await addToken(server);
let failures = 0;
try {
  failures += await clients(server);
  failures += await conformance(`http://127.0.0.1:${proxy.address().port}/mcp`);
} finally {
  proxy.close();
  server.child.kill("SIGTERM");
  await new Promise((gone) => server.child.on("exit", gone));
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(failures === 0 ? 0 : 1);
