// A real program in a terminal of a fixed size, through tmux: keys go in, and the screen is read.
import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "@playwright/test";

const run = promisify(execFile);

export const COLUMNS = 80;

export function hasTmux(): boolean {
  try {
    execFileSync("tmux", ["-V"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export class Terminal {
  private constructor(private readonly socket: string) {}

  /** Starts a program that finds nothing of the user who runs the test. */
  static async start(folder: string, program: readonly string[], rows: number): Promise<Terminal> {
    const terminal = new Terminal(join(folder, "tmux"));
    const environment = [`PATH=${process.env["PATH"] ?? ""}`, `HOME=${join(folder, "home")}`, `TMPDIR=${folder}`, "TERM=xterm-256color", "LANG=C.UTF-8"];
    // What it has written at its end stays on the screen.
    const options = ["set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "remain-on-exit-format", "", ";"];
    await terminal.tmux("-f", "/dev/null", ...options, "new-session", "-d", "-x", String(COLUMNS), "-y", String(rows), "--", "env", "-i", ...environment, ...program);
    return terminal;
  }

  async type(text: string): Promise<void> {
    await this.tmux("send-keys", "-l", "--", text);
    // Else what stood there before would be taken for what follows it.
    await expect.poll(async () => (await this.lines()).at(-1)).toContain(text);
    await this.press("Enter");
  }

  async press(key: "Enter" | "Escape"): Promise<void> {
    await this.tmux("send-keys", key);
  }

  /** The lines of the screen up to the last that has something. */
  async lines(): Promise<string[]> {
    return (await this.tmux("capture-pane", "-p")).trimEnd().split("\n");
  }

  /** Waits until the last line is this. */
  async endsWith(line: string | RegExp): Promise<void> {
    await expect.poll(async () => (await this.lines()).at(-1)).toMatch(typeof line === "string" ? new RegExp(`^${line}$`) : line);
  }

  async remove(): Promise<void> {
    await this.tmux("kill-server");
  }

  private async tmux(...words: string[]): Promise<string> {
    return (await run("tmux", ["-S", this.socket, ...words])).stdout;
  }
}
