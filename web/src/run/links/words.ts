// What the links of an event say.
import type { FamilyDiagnosis } from "@skillrun/client";
import { type Word, defineWords } from "../../words/words.ts";
import type { Label } from "./builder.ts";

export const words = defineWords({
  title: { en: "Links of the selected event", zh: "与所选事件相关的内容" },
  empty: { en: "No event is selected", zh: "尚未选择事件" },
  how: { en: "Select a message, a tool call, a question or any other event in the conversation or the timeline. Its causes and results appear here.", zh: "请在对话或时间线中选择一条消息、一次工具调用、一个提问或其他事件。这里会显示它的起因和结果。" },
  toTimeline: { en: "Open the timeline", zh: "打开时间线" },
  loading: { en: "Loading the links…", zh: "正在加载关联…" },
  failed: { en: "Failed to load the links. Retrying.", zh: "未能加载关联，正在重试。" },
  unknown: { en: "There is no event {seq} in this run.", zh: "此运行中没有事件 {seq}。" },
  family: { en: "Parent and child runs", zh: "父运行与子运行" },
  run: { en: "Another run", zh: "另一个运行" },
  request: { en: "Request", zh: "请求" },
  file: { en: "File", zh: "文件" },
  more: { en: "and {n} more", zh: "还有 {n} 个" },
  compare: { en: "Compare the Logs", zh: "比对日志" },
  detached: { en: "detached by its parent", zh: "已脱离父运行" },
  attempt: { en: "attempt {number}", zh: "第 {number} 次尝试" },
});

/** What the Logs of a tree are compared for. */
export const treeTopicWords = defineWords({
  missing_fields: { en: "records of ends", zh: "结束记录是否完整" },
  stale_children: { en: "what parents say of their children", zh: "父运行对子运行的记录" },
  timeouts: { en: "time limits", zh: "时间限制" },
  orphans: { en: "runs without a parent that knows them", zh: "父运行不认识的子运行" },
  detached: { en: "detached runs", zh: "已脱离的子运行" },
} satisfies Record<FamilyDiagnosis["checks"][number]["check"], Word>);

export const labelWords = defineWords({
  accepted: { en: "asked for", zh: "请求" },
  retried: { en: "retried as", zh: "重试为" },
  child: { en: "started", zh: "启动" },
  began: { en: "began", zh: "开始" },
  next: { en: "continued", zh: "继续" },
  ended: { en: "ended", zh: "结束" },
  judged: { en: "judged", zh: "判定" },
  then: { en: "then", zh: "随后" },
  asked: { en: "asked", zh: "提问" },
  expired: { en: "expired", zh: "超时" },
  decided: { en: "decided", zh: "决定" },
  answered: { en: "answered", zh: "回答" },
  called: { en: "called", zh: "调用" },
  result: { en: "result", zh: "结果" },
  failed: { en: "failed", zh: "失败" },
  made: { en: "made", zh: "产生" },
  kept: { en: "kept", zh: "收录" },
  file: { en: "file", zh: "文件" },
  said: { en: "said", zh: "说" },
  whole: { en: "part of", zh: "组成" },
  answer: { en: "answer", zh: "答案" },
  about: { en: "about it", zh: "相关" },
  more: { en: "more", zh: "更多" },
} satisfies Record<Label, Word>);
