// States in words, one table for the whole page. Only `succeeded` and `completed` sound like success. The English texts
// are those of the table of presenters, docs/presenters.md; a test compares them.
import type { FcmpEventOf, RaspEvent, Run, RunStatus, StepStanding, WorkflowOutcome } from "@skillrun/client";
import { type Word, defineWords } from "./words.ts";

export const statusWords = defineWords({
  queued: { en: "queued", zh: "排队中" },
  running: { en: "running", zh: "运行中" },
  waiting_user: { en: "waits for an answer", zh: "等待回答" },
  succeeded: { en: "succeeded", zh: "成功" },
  closed: { en: "closed", zh: "已关闭" },
  failed: { en: "failed", zh: "失败" },
  canceled: { en: "canceled", zh: "已取消" },
} satisfies Record<RunStatus, Word>);

/** Of a run at rest, such as a conversation between two turns: it waits, and not for an answer. */
export const waitsForPrompt: Word = { en: "waits for the next prompt", zh: "等待下一条提示" };
/** Where it is not known what the run waits for, or where both are meant. */
export const waitsForUser: Word = { en: "waits for the user", zh: "等待用户" };

/** The status of a run in words; a run that waits does so for an answer or for the next prompt. */
export function statusWord(status: RunStatus, isForPrompt: boolean | undefined): Word {
  if (status !== "waiting_user" || isForPrompt === false) return statusWords[status];
  return isForPrompt ? waitsForPrompt : waitsForUser;
}

export const unknownStatus: Word = { en: "unreadable", zh: "无法读取" };

/** How a status looks. The sign differs as well as the colour. */
export type Tone = "calm" | "busy" | "warn" | "good" | "bad";

export const statusTone = {
  queued: { tone: "calm", sign: "○" },
  running: { tone: "busy", sign: "◐" },
  waiting_user: { tone: "warn", sign: "?" },
  succeeded: { tone: "good", sign: "✓" },
  closed: { tone: "calm", sign: "■" },
  failed: { tone: "bad", sign: "✕" },
  canceled: { tone: "calm", sign: "⊘" },
} as const satisfies Record<RunStatus, { tone: Tone; sign: string }>;

/** How a child ended, as its parent knows. */
export type ChildStatus = FcmpEventOf<"subagent.ended">["data"]["status"];

export const childWords = defineWords({
  completed: { en: "completed", zh: "已完成" },
  failed: { en: "failed", zh: "失败" },
  timed_out: { en: "ran out of time", zh: "超时" },
  cancelled: { en: "was canceled", zh: "已被取消" },
  detached: { en: "is detached: how it ends is not known here", zh: "已脱离：这里不知道它如何结束" },
} satisfies Record<ChildStatus, Word>);

export const childTone = {
  completed: { tone: "good", sign: "✓" },
  failed: { tone: "bad", sign: "✕" },
  timed_out: { tone: "bad", sign: "✕" },
  cancelled: { tone: "calm", sign: "⊘" },
  detached: { tone: "warn", sign: "?" },
} as const satisfies Record<ChildStatus, { tone: Tone; sign: string }>;

/** How a check ended: a command that skillrun runs after the turn. */
export type CheckStatus = FcmpEventOf<"check.ended">["data"]["status"];

export const checkWords = defineWords({
  passed: { en: "passed", zh: "通过" },
  failed: { en: "failed", zh: "失败" },
  timed_out: { en: "ran out of time", zh: "超时" },
  not_started: { en: "could not be started", zh: "无法启动" },
  canceled: { en: "was canceled", zh: "已被取消" },
} satisfies Record<CheckStatus, Word>);

export const checkTone = {
  passed: { tone: "good", sign: "✓" },
  failed: { tone: "bad", sign: "✕" },
  timed_out: { tone: "bad", sign: "✕" },
  not_started: { tone: "bad", sign: "✕" },
  canceled: { tone: "calm", sign: "⊘" },
} as const satisfies Record<CheckStatus, { tone: Tone; sign: string }>;

/** How a workflow ended. Only a completed one is a success; one with a part of its results is not. */
export const outcomeWords = defineWords({
  completed: { en: "completed", zh: "已完成" },
  partial: { en: "partial", zh: "部分完成" },
  failed: { en: "failed", zh: "失败" },
  timed_out: { en: "out of time", zh: "超时" },
  held: { en: "not decided", zh: "未作决定" },
  cancelled: { en: "canceled", zh: "已取消" },
} satisfies Record<WorkflowOutcome, Word>);

export const outcomeTone = {
  completed: { tone: "good", sign: "✓" },
  partial: { tone: "warn", sign: "◑" },
  failed: { tone: "bad", sign: "✕" },
  timed_out: { tone: "bad", sign: "✕" },
  held: { tone: "bad", sign: "?" },
  cancelled: { tone: "calm", sign: "⊘" },
} as const satisfies Record<WorkflowOutcome, { tone: Tone; sign: string }>;

/** What stands in the place of the engine of a run that is a workflow. */
export const CONDUCTOR = "workflow";

/** The outcome of a workflow that has ended, from what every list says of its run. None where the run is no workflow, has
    not ended, or ended for a reason of its own. */
export function outcomeOf({ engine, status, error_code: code }: { readonly engine: string | null; readonly status: RunStatus | null; readonly error_code?: string | null }): WorkflowOutcome | undefined {
  if (engine !== CONDUCTOR) return undefined;
  switch (status) {
    case "succeeded":
      return "completed";
    case "canceled":
      return "cancelled";
    case "failed":
      return code ? FAILED_OUTCOMES[code] : undefined;
    case "queued":
    case "running":
    case "waiting_user":
    case "closed":
    case null:
      return undefined;
  }
}

const FAILED_OUTCOMES: Readonly<Record<string, WorkflowOutcome | undefined>> = {
  WORKFLOW_PARTIAL: "partial",
  WORKFLOW_FAILED: "failed",
  WORKFLOW_TIMED_OUT: "timed_out",
  WORKFLOW_HELD: "held",
};

/** How a step of a workflow stands. Only a ready one unlocks others. */
export const stepWords = defineWords({
  pending: { en: "waits for its turn", zh: "尚未轮到" },
  queued: { en: "waits for a slot", zh: "等待空位" },
  waits_for_quota: { en: "waits for quota", zh: "等待配额" },
  running: { en: "is running", zh: "运行中" },
  asks: { en: "asks something", zh: "正在提问" },
  held_now: { en: "waits for a decision", zh: "等待决定" },
  ready: { en: "is ready", zh: "已就绪" },
  partial: { en: "is partial", zh: "不完整" },
  failed: { en: "failed", zh: "失败" },
  timed_out: { en: "ran out of time", zh: "超时" },
  held: { en: "was not decided", zh: "未作决定" },
  cancelled: { en: "was canceled", zh: "已被取消" },
  skipped: { en: "did not begin", zh: "没有开始" },
} satisfies Record<StepStanding, Word>);

export const stepTone = {
  pending: { tone: "calm", sign: "·" },
  queued: { tone: "calm", sign: "○" },
  waits_for_quota: { tone: "warn", sign: "◷" },
  running: { tone: "busy", sign: "◐" },
  asks: { tone: "warn", sign: "?" },
  held_now: { tone: "warn", sign: "?" },
  ready: { tone: "good", sign: "✓" },
  partial: { tone: "warn", sign: "◑" },
  failed: { tone: "bad", sign: "✕" },
  timed_out: { tone: "bad", sign: "✕" },
  held: { tone: "bad", sign: "?" },
  cancelled: { tone: "calm", sign: "⊘" },
  skipped: { tone: "calm", sign: "–" },
} as const satisfies Record<StepStanding, { tone: Tone; sign: string }>;

export const levelWords = defineWords({
  info: { en: "note", zh: "提示" },
  warning: { en: "warning", zh: "警告" },
  error: { en: "error", zh: "错误" },
} satisfies Record<RaspEvent["event"]["level"], Word>);

/** Whether the agent may ask. */
export const modeWords = defineWords({
  auto: { en: "without questions", zh: "自动模式" },
  interactive: { en: "with questions", zh: "交互模式" },
  conversation: { en: "conversation", zh: "对话模式" },
} satisfies Record<NonNullable<Run["mode"]>, Word>);
