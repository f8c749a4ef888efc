// What the engine `scripted` plays. A script is YAML, and JSON is YAML.

export type Act =
  | { say: string }
  | { think: string }
  | { ask: Record<string, unknown> }
  | { tool: { name: string; input?: Record<string, unknown>; output?: string; status?: "completed" | "failed" | "open" } }
  | { permission: { tool: string; input?: Record<string, unknown> } }
  | { delegate: { do: "spawn"; request: Record<string, unknown> } | { do: "wait"; timeout_sec: number } }
  | { write: { path: string; content: string } }
  | { output: Record<string, unknown>; done: boolean }
  | { sleep_ms: number }
  | { usage: { input: number; output: number } }
  | { stderr: string }
  | { raw: string }
  | { fail: string }
  | { limit: string }
  | { exit: number }
  | { cut: number }
  | { hang: null };

export type Turn = Act[];

export function script(turns: Turn[]): string {
  return JSON.stringify(turns);
}

export const answer = (text = "42"): Act => ({ output: { answer: text }, done: true });

/** An engine that writes something every now and then, for this long. */
export function talk(lines: number, everyMs: number): Turn {
  return Array.from({ length: lines }, (_, index): Act[] => [{ say: `line ${index + 1}` }, { sleep_ms: everyMs }]).flat();
}

/** A turn of about this many events: messages, tool calls, and unknown lines, fewer in a row than are counted together. */
export function long(events: number): Turn {
  const block = 93;
  const lines = "x\n".repeat(90);
  return Array.from({ length: Math.ceil(events / block) }, (_, index): Act[] => [
    { say: `part ${index + 1}` },
    { tool: { name: "shell", input: { command: "ls" }, output: "a\n" } },
    { raw: lines },
  ]).flat();
}
