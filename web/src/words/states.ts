// States in words, one table for the whole page. Only `succeeded` and `completed` sound like success. The English texts
// are those of the table of presenters, docs/presenters.md; a test compares them.
import type { FcmpEventOf, RaspEvent, Run, RunStatus } from "@skillrun/client";
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
