// The checks of a diagnosis in words.
import type { Diagnosis } from "@skillrun/client";
import { type Word, defineWords } from "../../words/words.ts";

export type Check = Diagnosis["checks"][number];
type Severity = Check["severity"];

export const severityWords = defineWords({
  passed: { en: "passed", zh: "通过" },
  unknown: { en: "unknown", zh: "无法判断" },
  warning: { en: "warning", zh: "警告" },
  failed: { en: "failed", zh: "不通过" },
} satisfies Record<Severity, Word>);

/** The sign differs as well as the colour; only a run that succeeded has the sign of success. */
export const severityLook = { passed: "·", unknown: "?", warning: "!", failed: "✕" } as const satisfies Record<Severity, string>;

const topicWords = defineWords({
  tool_pairing: { en: "starts and ends of tool calls", zh: "工具调用的开始与结束" },
  turn_records: { en: "records of turns", zh: "各轮次的记录" },
  partial_answers: { en: "text of turns that did not complete", zh: "未完成轮次的内容" },
  failure_class: { en: "reasons of turns that did not complete", zh: "轮次未完成的原因" },
  output_cut: { en: "output missing", zh: "输出是否有缺失" },
  user_message: { en: "messages that began the turns", zh: "各轮次的起始消息" },
  replay_balance: { en: "balance of the replay", zh: "回放内容的配对" },
  other: { en: "another check", zh: "其他检查" },
} satisfies Record<Check["check"] | "replay_balance" | "other", Word>);

/** A newer service may check for more. */
export function topicWord(topic: Check["check"]): Word {
  return topicWords[topic] ?? topicWords.other;
}

/** How many checks failed and how many warn, which is said where the checks are folded away. */
export function countsOf(checks: readonly Check[]): { failed: number; warning: number } {
  const count = (severity: Severity): number => checks.filter((check) => check.severity === severity).length;
  return { failed: count("failed"), warning: count("warning") };
}
