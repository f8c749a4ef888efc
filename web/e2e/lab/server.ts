// A real server in a folder of its own, which can be stopped, killed and started again where it was.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { type CreateRun, type Run, SkillrunClient } from "@skillrun/client";
import { type Turn, script } from "./script.ts";

export const PROGRAM = resolve(process.env["SKILLRUN_BIN"] ?? "../target/debug/skillrun");

/** Seconds for a run to get where it should. */
const PATIENCE = 60;

const OUTPUT_SCHEMA = { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] };

interface Told {
  child: ChildProcess;
  url: string;
  link: string;
  token: string;
}

export class Server {
  private constructor(
    readonly folder: string,
    private told: Told,
    readonly client: SkillrunClient,
  ) {}

  static async start({ demo = false }: { demo?: boolean } = {}): Promise<Server> {
    const folder = await mkdtemp(join(tmpdir(), "skillrun-web-"));
    await mkdir(join(folder, "home"));
    await writeSkill(folder, "answer", "Answers.");
    const told = await serve(folder, "127.0.0.1:0", demo);
    return new Server(folder, told, new SkillrunClient({ baseUrl: told.url, token: told.token }));
  }

  get url(): string {
    return this.told.url;
  }

  /** Good once: lets a browser in. */
  get link(): string {
    return this.told.link;
  }

  async stop(): Promise<void> {
    await this.ended("SIGTERM");
  }

  async kill(): Promise<void> {
    await this.ended("SIGKILL");
  }

  /** Starts it again at the same address. */
  async startAgain(): Promise<void> {
    this.told = await serve(this.folder, new URL(this.url).host, false);
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }

  /** Installs another skill. */
  skill(name: string, description: string, more: Record<string, unknown> = {}): Promise<void> {
    return writeSkill(this.folder, name, description, more);
  }

  /** What the skill plays on the engine `scripted` when a run brings no script. */
  script(skill: string, turns: Turn[]): Promise<void> {
    return writeFile(join(this.folder, "data", "skills", skill, "assets", "scripted.yaml"), script(turns));
  }

  /** Starts a run that plays these turns. */
  async play(turns: Turn[], request: CreateRun = {}): Promise<string> {
    const run = await this.client.createRun(
      { skill: "answer", engine: "scripted", ...request },
      { script: new Blob([script(turns)]) },
    );
    return run.run_id;
  }

  /** Starts such a run and waits until it is over or asks. */
  async played(turns: Turn[], request: CreateRun = {}): Promise<string> {
    const run = await this.play(turns, request);
    await this.settled(run);
    return run;
  }

  /** Waits until the run is over or asks. */
  settled(run: string): Promise<Run> {
    return this.client.getRun(run, { wait: PATIENCE });
  }

  private async ended(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const { child } = this.told;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }
}

async function writeSkill(folder: string, name: string, description: string, runner: Record<string, unknown> = {}): Promise<void> {
  const root = join(folder, "data", "skills", name);
  await mkdir(join(root, "assets"), { recursive: true });
  await writeFile(join(root, "SKILL.md"), `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n\nAnswer.\n`);
  await writeFile(join(root, "assets", "output.json"), JSON.stringify(OUTPUT_SCHEMA));
  const { input, ...rest } = runner;
  if (input !== undefined) await writeFile(join(root, "assets", "input.json"), JSON.stringify(input));
  const schemas = { output: "assets/output.json", ...(input === undefined ? {} : { input: "assets/input.json" }) };
  await writeFile(join(root, "assets", "runner.json"), JSON.stringify({ schemas, ...rest }));
}

async function serve(folder: string, listen: string, demo: boolean): Promise<Told> {
  const words = ["serve", "--listen", listen, "--data", join(folder, "data"), ...(demo ? ["--demo"] : [])];
  const environment = { PATH: process.env["PATH"], HOME: join(folder, "home"), TMPDIR: folder };
  const child = spawn(PROGRAM, words, { cwd: folder, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  // What it says when it is stopped is of no interest here.
  createInterface({ input: child.stderr }).on("line", (line) => line.startsWith("note: stopping") || console.error(line));
  const told = new Map<string, string>();
  for await (const line of createInterface({ input: child.stdout })) {
    const [name = "", value = ""] = line.split(/\s+/, 2);
    told.set(name, value);
    if (name === "token") break;
  }
  const [url, link, file] = [told.get("serving"), told.get("open"), told.get("token")];
  if (!url || !link || !file) throw new Error(`${PROGRAM} did not start; build it with: cargo build -p skillrun`);
  return { child, url, link, token: (await readFile(file, "utf8")).trim() };
}
