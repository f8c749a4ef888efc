// The conversation as rows, folded from a stretch of its events. A row has the same key whatever stretch it is folded
// from, and a longer stretch only adds to it; small print has no name of its own, and keeps the key that the rows
// before had for it. Only `user.input.required` makes a question; what a message says or
// looks like never does. Only the end of a turn makes an answer of a message.
import { ConversationTurns, type FcmpEvent, type FcmpEventOf, type Interaction, type MessageStanding, type NextAction, type RunError, type RunStatus, type Turn, type StepState, type TurnState, type WorkflowOutcome } from "@skillrun/client";
import type { CheckStatus, ChildStatus } from "../../words/states.ts";

/** Below this something was guessed. */
export const CONFIDENT = 0.7;

export type Level = FcmpEventOf<"diagnostic.warning">["data"]["severity"];
export type ResolutionMode = FcmpEventOf<"user.input.replied">["data"]["resolution_mode"];
export type DecisionPolicy = FcmpEventOf<"interaction.auto_decided">["data"]["policy"];
export type Mode = FcmpEventOf<"conversation.started">["data"]["mode"];
export type Origin = FcmpEventOf<"user.message">["data"]["origin"];
/** What a waiting run waits for; undefined where the stretch does not say. */
export type WaitsFor = "question" | "prompt" | undefined;

interface Common {
  /** The same for as long as the row is there. */
  readonly key: string;
  /** Of the conversation, of the first event it is made from that is held. */
  readonly seq: number;
  /** Of the Log, of the event that says most about it. */
  readonly raspSeq: number;
  readonly attempt: number;
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
}

/** `growing`: pieces came and no end; what there is may be less than what was said. */
export type MessageState = "growing" | "partial" | "final";

/** One line of small print. */
export interface Line {
  readonly raspSeq: number;
  readonly kind: "diagnostic" | "stdout" | "stderr" | "guess" | "subagent" | "unknown";
  readonly level: Level;
  readonly code: string | undefined;
  /** None where the line is only in the evidence. */
  readonly text: string | undefined;
  /** How many it stands for. */
  readonly count: number;
  /** The bytes of many lines that the parser did not know and that are one line here. */
  readonly range: ByteRange | undefined;
}

export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** How a child ended; with `detached` that is not known. */
export interface ChildEnd {
  readonly status: ChildStatus;
  readonly reasonCode: string;
  /** An answer only if the child completed; none where its answer was an output without text. */
  readonly summary: string | undefined;
  readonly tookMs: number;
}

/** How a check ended. */
export interface CheckEnd {
  readonly name: string;
  readonly command: string;
  readonly status: CheckStatus;
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly details: string | undefined;
  readonly outputTail: string | undefined;
  readonly tookMs: number;
}

/** How a step of a workflow ended. */
export interface StepEnd {
  readonly state: StepState;
  readonly reasonCode: string;
  readonly details: string | undefined;
}

/** What a child was asked for. */
interface Asked {
  readonly title: string;
  readonly engine: string;
}

export type Row = Common &
  (
    | { readonly kind: "started"; readonly title: string; readonly engine: string; readonly mode: Mode }
    | { readonly kind: "attempt"; /** Whether the end of the turn has a row. */ readonly hasEnd: boolean }
    | { readonly kind: "status"; readonly status: RunStatus; readonly waitsFor: WaitsFor }
    | { readonly kind: "prompt"; readonly origin: Origin; readonly text: string; readonly isTruncated: boolean; readonly files: readonly string[] }
    | { readonly kind: "message"; readonly messageId: string; readonly state: MessageState; readonly text: string; /** Its beginning may be missing here. */ readonly isCut: boolean; readonly standing: MessageStanding; readonly turn: Turn["state"] | undefined }
    | { readonly kind: "reasoning"; readonly text: string }
    | { readonly kind: "tool"; readonly name: string | undefined; readonly status: "started" | "completed" | "failed"; readonly input: unknown; readonly output: string | undefined; readonly reason: string | undefined; readonly tookMs: number | undefined }
    | { readonly kind: "question"; readonly question: Interaction }
    | { readonly kind: "answer"; readonly interaction: number; readonly to: WaitsFor; readonly isTimedOut: boolean; readonly decision: { readonly policy: DecisionPolicy; readonly instruction: string } | undefined; readonly reply: { readonly text: string; readonly mode: ResolutionMode } | undefined }
    | { readonly kind: "artifact"; readonly path: string; readonly size: number; readonly type: string }
    | { readonly kind: "child"; readonly run: string; /** None where only its end is held. */ readonly asked: Asked | undefined; readonly end: ChildEnd | undefined }
    | { readonly kind: "check"; /** Which one of how many. */ readonly what: string | undefined; readonly end: CheckEnd | undefined }
    | { readonly kind: "step"; readonly step: string; readonly item: number | undefined; /** None where only its end is held. */ readonly trial: number | undefined; /** The child run, which has no row of its own. */ readonly run: string | undefined; readonly asked: Asked | undefined; readonly end: ChildEnd | undefined; readonly ended: StepEnd | undefined }
    | { readonly kind: "workflow"; readonly outcome: WorkflowOutcome }
    | { readonly kind: "strip"; readonly lines: readonly Line[] }
    | { readonly kind: "turn"; readonly state: TurnState; readonly reasonCode: string; readonly tookMs: number | undefined; readonly error: RunError | undefined; readonly nextActions: readonly NextAction[] }
    | { readonly kind: "end"; readonly state: RunStatus; readonly reasonCode: string; readonly warnings: readonly string[]; readonly error: RunError | undefined; readonly nextActions: readonly NextAction[] }
  );
export type RowOf<Kind extends Row["kind"]> = Extract<Row, { kind: Kind }>;

export interface Rows {
  readonly rows: readonly Row[];
  /** The row that was made from an event of the Log. */
  readonly byRasp: ReadonlyMap<number, number>;
}

/** All rows of a stretch of events, in order and without a gap. `before`: the rows of the stretch that was shown last. */
export function rowsOf(events: readonly FcmpEvent[], before?: Rows): Rows {
  const fold = new Fold(events[0]?.seq ?? 1);
  for (const event of events) fold.add(event);
  return fold.rows(before);
}

type Draft = { -readonly [Key in keyof Row]: Row[Key] } & Row;

class Fold {
  private readonly all: Draft[] = [];
  /** Rows that began before the stretch, of which only the end is held. They stand first, as they do in the whole. */
  private readonly carried: Draft[] = [];
  private readonly byKey = new Map<string, Draft>();
  private readonly keyOf = new Map<number, string>();
  /** Pieces of messages that have no end yet. */
  private readonly pieces = new Map<string, string[]>();
  private readonly callsBegan = new Map<string, number>();
  /** Attempts whose beginning is in the stretch. */
  private readonly begun = new Set<number>();
  private readonly turns = new ConversationTurns();
  /** What each interaction asks for, and the event that says so. */
  private readonly asked = new Map<number, { readonly waitsFor: NonNullable<WaitsFor>; readonly raspSeq: number }>();
  /** The key of the check that was announced and has not ended. */
  private openCheck: string | undefined;
  private lastAsked: WaitsFor;
  private attempt: number | undefined;
  private status: RunStatus | undefined;

  constructor(private readonly first: number) {}

  rows(before: Rows | undefined): Rows {
    if (before) this.keepNames(before);
    for (const [key, texts] of this.pieces) {
      const row = this.row(key);
      if (row?.kind === "message") Object.assign(row, { text: texts.join("") });
    }
    for (const row of this.all) {
      if (row.kind !== "message") continue;
      const { attempt, messageId, state } = row;
      const standing = this.turns.standing({ attempt, messageId, isWhole: state === "final" });
      Object.assign(row, { standing, turn: this.turns.turn(attempt)?.state });
    }
    const rows = [...this.carried, ...this.all];
    const places = new Map(rows.map((row, index) => [row.key, index]));
    return { rows, byRasp: new Map([...this.keyOf].map(([seq, key]) => [seq, places.get(key) ?? 0])) };
  }

  /** A strip that had some of these lines is the same strip, with more of them or fewer. */
  private keepNames(before: Rows): void {
    const names = new Map(before.rows.flatMap((row) => (row.kind === "strip" ? row.lines.map((line): [number, string] => [line.raspSeq, row.key]) : [])));
    const taken = new Set<string>();
    for (const row of this.all) {
      if (row.kind !== "strip") continue;
      let key = row.lines.map((line) => names.get(line.raspSeq)).find((name) => name !== undefined) ?? row.key;
      // One that fell into two: the first part has the name.
      while (taken.has(key)) key += "+";
      taken.add(key);
      if (key === row.key) continue;
      for (const line of row.lines) this.keyOf.set(line.raspSeq, key);
      Object.assign(row, { key });
    }
  }

  add(event: FcmpEvent): void {
    this.turns.add(event);
    this.separate(event);
    if (event.type.startsWith("assistant.") && event.meta.confidence < CONFIDENT) {
      this.line(event, { kind: "guess", level: "warning", code: undefined, text: textOf(event), count: 1 });
      return;
    }
    switch (event.type) {
      case "conversation.started":
        this.push(event, "start", { kind: "started", ...event.data });
        return;
      case "conversation.status":
        this.statusChanged(event);
        return;
      case "turn.started":
        this.begun.add(event.meta.attempt);
        this.began(event);
        return;
      case "user.message":
        this.prompted(event);
        return;
      case "turn.ended":
        this.turnEnded(event);
        return;
      case "assistant.message.delta":
        this.grow(event);
        return;
      case "assistant.message.final":
        this.finish(event);
        return;
      case "assistant.reasoning":
        this.push(event, `e${event.seq}`, { kind: "reasoning", text: event.data.text });
        return;
      case "assistant.tool_call":
        this.call(event);
        return;
      case "subagent.started": {
        const { child_run_id: run, title, engine } = event.data;
        const row = this.row(`c${run}`);
        if (row?.kind === "step") {
          this.belongs(event, row.key);
          Object.assign(row, { asked: { title, engine } });
          return;
        }
        this.push(event, `c${run}`, { kind: "child", run, asked: { title, engine }, end: undefined });
        return;
      }
      case "subagent.ended":
        this.childEnded(event);
        return;
      case "subagent.observed":
        this.line(event, { kind: "subagent", level: "info", code: undefined, text: observedText(event.data), count: 1 });
        return;
      case "check.ended":
        this.checkEnded(event);
        return;
      case "step.started": {
        const { step_id: step, item, trial, child_run_id: run } = event.data;
        this.push(event, stepKey(event), { kind: "step", step, item: item ?? undefined, trial, run: run ?? undefined, asked: undefined, end: undefined, ended: undefined });
        return;
      }
      case "step.ended":
        this.stepEnded(event);
        return;
      case "workflow.ended":
        this.push(event, "workflow", { kind: "workflow", outcome: event.data.outcome });
        return;
      case "user.input.required":
        this.lastAsked = event.data.scope === "prompt" ? "prompt" : "question";
        this.asked.set(event.data.interaction_id, { waitsFor: this.lastAsked, raspSeq: event.meta.rasp_seq });
        // The next prompt is not asked for in the conversation; its form stands below it.
        if (event.data.scope === "prompt") return;
        this.push(event, `q${event.data.interaction_id}`, { kind: "question", question: event.data });
        return;
      case "user.input.replied": {
        const { text, resolution_mode: mode } = event.data;
        this.answer(event, event.data.interaction_id, { reply: { text, mode } });
        return;
      }
      case "interaction.auto_decided": {
        const { policy, instruction } = event.data;
        this.answer(event, event.data.interaction_id, { decision: { policy, instruction } });
        return;
      }
      case "interaction.timed_out":
        this.answer(event, event.data.interaction_id, { isTimedOut: true });
        return;
      case "artifact.created":
        this.push(event, `e${event.seq}`, { kind: "artifact", ...event.data });
        return;
      case "diagnostic.warning": {
        const { code, message, severity, count } = event.data;
        this.line(event, { kind: "diagnostic", level: severity, code, text: message, count: count ?? 1 });
        return;
      }
      case "raw.stdout":
      case "raw.stderr": {
        const kind = event.type === "raw.stdout" ? "stdout" : "stderr";
        const { text, lines } = event.data;
        this.line(event, { kind, level: "info", code: undefined, text: text ?? undefined, count: lines ?? 1, range: text === null ? rangeOf(event) : undefined });
        return;
      }
      case "conversation.completed":
      case "conversation.failed":
      case "conversation.canceled": {
        const { state, reason_code: reasonCode, warnings, error, next_actions: nextActions } = event.data;
        this.push(event, "end", { kind: "end", state, reasonCode, warnings: warnings ?? [], error: error ?? undefined, nextActions: nextActions ?? [] });
        return;
      }
      default: {
        // A newer service may report more than this page knows; small print is better than nothing.
        const unknown: { type: string; seq: number } = event satisfies never as never;
        this.line(unknown as FcmpEvent, { kind: "unknown", level: "info", code: undefined, text: unknown.type, count: 1 });
      }
    }
  }

  private row(key: string): Draft | undefined {
    return this.byKey.get(key);
  }

  private push(event: FcmpEvent, key: string, rest: WithoutCommon<Row>, rows: Draft[] = this.all): void {
    const common: Common = { key, seq: event.seq, raspSeq: event.meta.rasp_seq, attempt: event.meta.attempt, at: Date.parse(event.ts) };
    const row = { ...common, ...rest } as Draft;
    rows.push(row);
    this.byKey.set(key, row);
    // A line between attempts stands for no event of its own.
    if (rest.kind !== "attempt") this.belongs(event, key);
  }

  private belongs(event: FcmpEvent, key: string): void {
    this.keyOf.set(event.meta.rasp_seq, key);
  }

  /** Whether an attempt begins here depends on what came before. */
  private separate(event: FcmpEvent): void {
    const { attempt } = event.meta;
    const before = this.attempt ?? (event.seq === 1 ? 0 : undefined);
    if (before !== undefined && attempt > before) {
      this.push(event, `a${attempt}`, { kind: "attempt", hasEnd: false });
      this.begun.add(attempt);
    }
    this.attempt = Math.max(attempt, before ?? 0);
  }

  private statusChanged(event: FcmpEventOf<"conversation.status">): void {
    const { status, detail, phase } = event.data;
    if (phase === "checking") {
      this.openCheck = `k${event.meta.rasp_seq}`;
      this.push(event, this.openCheck, { kind: "check", what: detail ?? undefined, end: undefined });
      return;
    }
    // With a detail it is a sign of life, which changes nothing.
    if (status === null || detail !== null || status === this.status) return;
    this.status = status;
    this.push(event, `e${event.seq}`, { kind: "status", status, waitsFor: status === "waiting_user" ? this.lastAsked : undefined });
  }

  /** The line between turns stands for the beginning of the turn, where that is in the Log. */
  private began(event: FcmpEventOf<"turn.started">): void {
    const key = `a${event.meta.attempt}`;
    const row = this.row(key);
    if (!row) return;
    this.belongs(event, key);
    Object.assign(row, { raspSeq: event.meta.rasp_seq, at: Date.parse(event.ts) });
  }

  /** A reply that begins a turn is one row with the reply. */
  private prompted(event: FcmpEventOf<"user.message">): void {
    const { text, origin, interaction_id: interaction, truncated, files } = event.data;
    if (typeof interaction === "number") {
      if (this.row(`r${interaction}`)) this.belongs(event, `r${interaction}`);
      else this.answer(event, interaction, { reply: { text, mode: origin === "user" ? "user_reply" : "auto_decide_timeout" } }, this.carried);
      return;
    }
    this.push(event, `e${event.seq}`, { kind: "prompt", origin, text, isTruncated: truncated === true, files: files ?? [] });
  }

  private turnEnded(event: FcmpEventOf<"turn.ended">): void {
    const { attempt } = event.meta;
    const { state, reason_code: reasonCode, error, next_actions: nextActions } = event.data;
    const started = Date.parse(this.turns.turn(attempt)?.startedAt ?? "");
    const tookMs = Number.isNaN(started) ? undefined : Math.max(0, Date.parse(event.ts) - started);
    const begin = this.row(`a${attempt}`);
    if (begin?.kind === "attempt") Object.assign(begin, { hasEnd: true });
    this.push(event, `z${attempt}`, { kind: "turn", state, reasonCode, tookMs, error: error ?? undefined, nextActions: nextActions ?? [] });
  }

  /** The end stands where the child was asked for. Only the end of a child that was detached can come again. */
  private childEnded(event: FcmpEventOf<"subagent.ended">): void {
    const { child_run_id: run, status, reason_code: reasonCode, summary, elapsed_ms: tookMs } = event.data;
    const key = `c${run}`;
    const end: ChildEnd = { status, reasonCode, summary: summary?.trim() ? summary : undefined, tookMs };
    const row = this.row(key);
    if (row?.kind !== "child" && row?.kind !== "step") return this.push(event, key, { kind: "child", run, asked: undefined, end }, this.first > 1 ? this.carried : this.all);
    this.belongs(event, key);
    if (row.end && row.end.status !== "detached") return;
    Object.assign(row, { end, raspSeq: event.meta.rasp_seq });
  }

  /** The end stands where the check was announced. */
  private checkEnded(event: FcmpEventOf<"check.ended">): void {
    const { name, command, status, exit_code: exitCode, signal, details, output_tail: outputTail, elapsed_ms: tookMs } = event.data;
    const end: CheckEnd = { name, command, status, exitCode: exitCode ?? undefined, signal: signal ?? undefined, details: details ?? undefined, outputTail: outputTail ?? undefined, tookMs };
    const key = this.openCheck ?? `k${event.meta.rasp_seq}`;
    this.openCheck = undefined;
    const row = this.row(key);
    if (row?.kind !== "check") return this.push(event, key, { kind: "check", what: undefined, end }, this.first > 1 ? this.carried : this.all);
    this.belongs(event, key);
    Object.assign(row, { end, raspSeq: event.meta.rasp_seq });
  }

  /** The end stands where the step began. A step without a child run, such as one that never began, has its row here. */
  private stepEnded(event: FcmpEventOf<"step.ended">): void {
    const { step_id: step, item, state, reason_code: reasonCode, child_run_id: run, details } = event.data;
    const key = stepKey(event);
    const ended: StepEnd = { state, reasonCode, details: details?.trim() ? details : undefined };
    const row = this.row(key);
    if (row?.kind === "step" || row?.kind === "child") {
      this.belongs(event, key);
      // What was held of it before may be its child alone.
      const more = row.kind === "child" ? { kind: "step", step, item: item ?? undefined, trial: undefined } : {};
      Object.assign(row, more, { ended, raspSeq: event.meta.rasp_seq });
      return;
    }
    const hasBegun = this.first > 1 && typeof run === "string";
    this.push(event, key, { kind: "step", step, item: item ?? undefined, trial: undefined, run: run ?? undefined, asked: undefined, end: undefined, ended }, hasBegun ? this.carried : this.all);
  }

  private grow(event: FcmpEventOf<"assistant.message.delta">): void {
    const key = messageKey(event);
    const row = this.row(key);
    if (!row) {
      this.push(event, key, { kind: "message", messageId: event.data.message_id, state: "growing", text: "", isCut: this.first > 1 && !this.begun.has(event.meta.attempt), ...OPEN });
      this.pieces.set(key, [event.data.text]);
      return;
    }
    this.belongs(event, key);
    if (row.kind !== "message" || row.state !== "growing") return;
    this.pieces.get(key)?.push(event.data.text);
    Object.assign(row, { raspSeq: event.meta.rasp_seq });
  }

  private finish(event: FcmpEventOf<"assistant.message.final">): void {
    const key = messageKey(event);
    const { text, partial } = event.data;
    const whole = { state: partial ? ("partial" as const) : ("final" as const), text, isCut: false };
    this.pieces.delete(key);
    const row = this.row(key);
    if (!row) return this.push(event, key, { kind: "message", messageId: event.data.message_id, ...whole, ...OPEN });
    this.belongs(event, key);
    Object.assign(row, whole, { raspSeq: event.meta.rasp_seq });
  }

  private call(event: FcmpEventOf<"assistant.tool_call">): void {
    const { tool_call_id: id, name, status, input, output, reason } = event.data;
    const key = id === null ? `e${event.seq}` : `t${event.meta.attempt}.${id}`;
    const row = this.row(key);
    const at = Date.parse(event.ts);
    if (status === "started") this.callsBegan.set(key, at);
    if (row?.kind === "tool") {
      this.belongs(event, key);
      const began = this.callsBegan.get(key);
      Object.assign(row, {
        name: row.name ?? name ?? undefined,
        status: status === "started" ? row.status : status,
        input: row.input ?? input,
        output: output ?? row.output,
        reason: reason ?? row.reason,
        tookMs: began === undefined || status === "started" ? row.tookMs : Math.max(0, at - began),
      });
      return;
    }
    // The end of a call has a name only if its start was reported.
    const beganBefore = status !== "started" && name !== null && this.first > 1;
    const call = { kind: "tool" as const, name: name ?? undefined, status, input, output: output ?? undefined, reason: reason ?? undefined, tookMs: undefined };
    this.push(event, key, call, beganBefore ? this.carried : this.all);
  }

  /** What became of a question is one row, though it is reported in up to three events. */
  private answer(event: FcmpEvent, interaction: number, told: Partial<RowOf<"answer">>, rows: Draft[] = this.all): void {
    const key = `r${interaction}`;
    const row = this.row(key);
    if (!row) {
      const asked = this.asked.get(interaction);
      this.push(event, key, { kind: "answer", interaction, to: asked?.waitsFor, isTimedOut: false, decision: undefined, reply: undefined, ...told }, rows);
      // The next prompt has no row of its own where it is asked for.
      if (asked?.waitsFor === "prompt") this.keyOf.set(asked.raspSeq, key);
      return;
    }
    this.belongs(event, key);
    Object.assign(row, told, { raspSeq: event.meta.rasp_seq });
  }

  /** Small print that stands together is one row. */
  private line(event: FcmpEvent, line: Omit<Line, "raspSeq" | "range"> & Partial<Pick<Line, "range">>): void {
    const whole: Line = { raspSeq: event.meta.rasp_seq, range: undefined, ...line };
    const last = this.all.at(-1);
    if (last?.kind === "strip" && last.attempt === event.meta.attempt) {
      (last.lines as Line[]).push(whole);
      this.belongs(event, last.key);
      return;
    }
    this.push(event, `s${event.seq}`, { kind: "strip", lines: [whole] });
  }
}

/** Of a message until the stretch was read to its end. */
const OPEN = { standing: "undecided", turn: undefined } as const;

type WithoutCommon<Some> = Some extends unknown ? Omit<Some, keyof Common> : never;

function messageKey(event: FcmpEventOf<"assistant.message.delta" | "assistant.message.final">): string {
  return `m${event.meta.attempt}.${event.data.message_id}`;
}

/** A step has a row for each of its children, with the name that the row of the child would have. */
function stepKey({ data }: FcmpEventOf<"step.started" | "step.ended">): string {
  return data.child_run_id ? `c${data.child_run_id}` : `w${data.step_id}/${data.item ?? ""}`;
}

/** Where the lines are that an event stands for; none where it stands for one. */
function rangeOf(event: FcmpEventOf<"raw.stdout" | "raw.stderr">): ByteRange | undefined {
  if (typeof event.data.lines !== "number") return undefined;
  const { stdout_from, stdout_to, stderr_from, stderr_to } = event.raw_ref;
  return event.type === "raw.stdout" ? { from: stdout_from, to: stdout_to } : { from: stderr_from, to: stderr_to };
}

function textOf(event: FcmpEvent): string | undefined {
  switch (event.type) {
    case "assistant.message.delta":
    case "assistant.message.final":
    case "assistant.reasoning":
      return event.data.text;
    case "assistant.tool_call":
      return event.data.name ?? undefined;
    default:
      return undefined;
  }
}

/** What the engine says of a subagent, in its own words. */
function observedText({ subagent_id: id, name, task, state, text }: FcmpEventOf<"subagent.observed">["data"]): string {
  return [name ?? id, task, state, text].flatMap((part) => (typeof part === "string" ? [part.trim()] : [])).join(" · ");
}

/** How many lines of a strip are of each level; one that stands for many counts as many. */
export function levelsOf(lines: readonly Line[]): Record<Level, number> {
  const counts: Record<Level, number> = { error: 0, warning: 0, info: 0 };
  for (const line of lines) counts[line.level] += line.count;
  return counts;
}
