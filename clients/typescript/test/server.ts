// A real server for tests, in a folder of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { SkillrunClient } from "../src/index.js";

const PROGRAM = resolve(process.env["SKILLRUN_BIN"] ?? "../../target/debug/skillrun");

export class Server {
  private constructor(
    private readonly folder: string,
    private child: ChildProcess,
    readonly baseUrl: string,
    readonly client: SkillrunClient,
  ) {}

  static async start(): Promise<Server> {
    const folder = await mkdtemp(join(tmpdir(), "skillrun-client-"));
    const { child, url, token } = await serve(folder, "127.0.0.1:0");
    return new Server(folder, child, url, new SkillrunClient({ baseUrl: url, token }));
  }

  /** Installs a skill that may run in any mode. */
  async skill(name: string): Promise<void> {
    const root = join(this.folder, "data", "skills", name);
    await mkdir(root, { recursive: true });
    await writeFile(join(root, "SKILL.md"), `---\nname: ${name}\ndescription: Talks.\n---\n\nTalk.\n`);
  }

  /** Asks it to stop, waits until it has, and starts it again where it was. */
  async restart(): Promise<void> {
    await this.stop();
    this.child = (await serve(this.folder, new URL(this.baseUrl).host)).child;
  }

  private async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, "exit");
    this.child.kill("SIGTERM");
    await gone;
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function serve(folder: string, listen: string): Promise<{ child: ChildProcess; url: string; token: string }> {
  const words = ["serve", "--demo", "--listen", listen, "--data", join(folder, "data")];
  const environment = { PATH: process.env["PATH"], HOME: folder, TMPDIR: folder };
  const child = spawn(PROGRAM, words, { cwd: folder, env: environment, stdio: ["ignore", "pipe", "inherit"] });
  const told = new Map<string, string>();
  for await (const line of createInterface({ input: child.stdout })) {
    const [name = "", value = ""] = line.split(/\s+/, 2);
    told.set(name, value);
    if (name === "token") break;
  }
  const [url, file] = [told.get("serving"), told.get("token")];
  if (!url || !file) throw new Error(`${PROGRAM} did not start`);
  return { child, url, token: (await readFile(file, "utf8")).trim() };
}
