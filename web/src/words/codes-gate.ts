// The texts of the gate: its rules, how a turn ended, what went wrong, and what the user can do next. The English texts
// of the rules are those of the service.
import type { Attempt, Diagnosis, NextActionKind, Rule, RunError, RunStatus } from "@skillrun/client";
import { codeWords } from "./codes.ts";
import { type Language, type Word, defineWords, say } from "./words.ts";

export type AttemptEnd = NonNullable<Attempt["ended"]>;
export type TurnState = AttemptEnd["turn"];
export type ErrorCategory = RunError["category"];
export type EndedBy = NonNullable<AttemptEnd["exit"]["ended_by"]>;
export type Decided = NonNullable<Diagnosis["decided"]>;
export type Passage = Diagnosis["attempts"][number]["evidence"][number];

export const ruleWords = defineWords({
  "1": { en: "the run was canceled before the attempt was settled", zh: "在裁定这次尝试之前，有人取消了运行" },
  "1b": { en: "the user interrupted the turn before the engine ended it", zh: "引擎结束本轮之前，用户中断了它" },
  "2": { en: "the engine said that it had reached a limit", zh: "引擎表示已达到限制" },
  "2b": { en: "the engine said that its turn failed", zh: "引擎表示本轮失败" },
  "3": { en: "the agent said that it was done, and its output is missing or does not fit the schema", zh: "智能体说已完成，但输出缺失或不符合模式" },
  "3b": { en: "the agent said that it was done, and its output is valid", zh: "智能体说已完成，且输出有效" },
  "3c": { en: "the agent said that it was done and its output is valid; in auto mode the exit counts too", zh: "智能体说已完成且输出有效；自动模式下还要看退出状态" },
  "4": { en: "the engine took too long, or was silent for too long, and its host ended it", zh: "引擎用时太长或沉默太久，被宿主结束" },
  "5": { en: "the host was lost, could not continue, or had no room for more evidence", zh: "宿主丢失、无法继续，或没有空间保存更多证据" },
  "5b": { en: "the process of the engine never started", zh: "引擎的进程从未启动" },
  "6": { en: "the process of the engine ended with an error or by a signal", zh: "引擎的进程以错误或信号结束" },
  "7": { en: "the engine ended without an error, and without the end of its turn", zh: "引擎没有报错就结束了，但缺少本轮的结束事件" },
  "7b": { en: "it is unknown how the engine ended, and the end of its turn is missing", zh: "没人看到引擎如何结束，也缺少本轮的结束事件" },
  "8": { en: "the turn ended as it should, and the agent had answered nothing", zh: "本轮正常结束，但智能体什么也没有回答" },
  "8b": { en: "the turn ended as it should, and the agent said that its work is not done", zh: "本轮正常结束，但智能体说工作尚未完成" },
  "9": { en: "the turn ended as it should, and the answer contains what was asked for", zh: "本轮正常结束，回答包含所要求的内容" },
  "10": { en: "the turn ended as it should, and its output is missing or does not fit the schema", zh: "本轮正常结束，但输出缺失或不符合模式" },
  "11": { en: "the agent did not say that it was done, but its whole answer is a valid output", zh: "智能体没有说已完成，但整个回答就是有效输出" },
  "12": { en: "the turn ended without the work being done, and no further turn is allowed", zh: "本轮结束时工作未完成，且不允许再有下一轮" },
  "13": { en: "the agent asks, but its engine never named the session that an answer would go to", zh: "智能体在提问，但引擎从未给出可接收回答的会话" },
  "14": { en: "the turn ended as it should, and the run waits for the user", zh: "本轮正常结束，运行等待用户" },
} satisfies Record<Rule, Word>);

const withoutTurn = defineWords({
  canceledBefore: { en: "the run was canceled before the engine was started", zh: "引擎启动之前，有人取消了运行" },
  closedByUser: { en: "the user closed the conversation", zh: "用户关闭了对话" },
  canceledBetween: { en: "the run was canceled between two turns", zh: "有人在两轮之间取消了运行" },
  neverStarted: { en: "no engine could be started", zh: "没有引擎能够启动" },
  afterwards: { en: "it was decided after the last turn had ended", zh: "在最后一轮结束之后作出的裁定" },
  bySteps: { en: "the workflow ended as its steps did", zh: "由各步骤的结束状态得出" },
});

export const turnWords = defineWords({
  completed: { en: "completed", zh: "已完成" },
  partial_failed: { en: "failed after part of an answer", zh: "只给出部分回答就失败了" },
  failed: { en: "failed", zh: "失败" },
  interrupted: { en: "was interrupted", zh: "被中断" },
  timed_out: { en: "ran out of time", zh: "超时" },
} satisfies Record<TurnState, Word>);

export const endedByWords = defineWords({
  exited: { en: "it ended by itself", zh: "自行结束" },
  hard_timeout: { en: "ended by the host, its time was up", zh: "时间用尽，被宿主结束" },
  stall: { en: "ended by the host, it was silent for too long", zh: "沉默太久，被宿主结束" },
  linger: { en: "ended by the host after its answer was finished", zh: "回答完成后被宿主结束" },
  wait_timeout: { en: "ended by the host, no answer came in time", zh: "没有人及时回答，被宿主结束" },
  canceled: { en: "ended by the host, the run was canceled", zh: "有人取消，被宿主结束" },
  interrupted: { en: "ended by the host, the turn was interrupted", zh: "用户中断本轮，被宿主结束" },
  memory_limit: { en: "ended by the host, it exceeded its memory limit", zh: "内存超限，被宿主结束" },
  process_limit: { en: "ended by the host, it exceeded its limit of processes", zh: "进程数超限，被宿主结束" },
  cpu_limit: { en: "ended by the host, it exceeded its limit of processor time", zh: "处理器时间超限，被宿主结束" },
  disk_limit: { en: "ended by the host, it exceeded its disk limit", zh: "磁盘写入超限，被宿主结束" },
  budget: { en: "ended by the host, it exceeded its output limit", zh: "写出的内容超量，被宿主结束" },
  host_error: { en: "ended by the host, which could not continue", zh: "宿主无法继续而将其结束" },
  host_lost: { en: "its host was lost", zh: "宿主丢失" },
  not_started: { en: "it never started", zh: "从未启动" },
} satisfies Record<EndedBy, Word>);

export const categoryWords = defineWords({
  usage: { en: "usage", zh: "调用方式" },
  input: { en: "input", zh: "输入" },
  skill: { en: "skill", zh: "技能" },
  engine: { en: "engine", zh: "引擎" },
  auth: { en: "sign-in", zh: "登录" },
  quota: { en: "quota", zh: "配额" },
  network: { en: "network", zh: "网络" },
  session: { en: "session", zh: "会话" },
  output: { en: "output", zh: "输出" },
  interaction: { en: "question", zh: "提问" },
  workflow: { en: "workflow", zh: "工作流" },
  timeout: { en: "time", zh: "超时" },
  canceled: { en: "canceled", zh: "取消" },
  host: { en: "host", zh: "宿主" },
  internal: { en: "skillrun itself", zh: "skillrun 内部" },
} satisfies Record<ErrorCategory, Word>);

export const actionWords = defineWords({
  reply: { en: "Answer the question", zh: "回答问题" },
  close: { en: "Close the conversation", zh: "关闭对话" },
  retry: { en: "Try again", zh: "重试" },
  retry_later: { en: "Try again now", zh: "立即重试" },
  retry_other_engine: { en: "Try another engine", zh: "换一个引擎重试" },
  choose_model: { en: "Try another model", zh: "换一个模型重试" },
  raise_timeout: { en: "Try again with more time", zh: "延长时间后重试" },
  raise_max_attempt: { en: "Try again with more turns", zh: "增加轮次后重试" },
  fix_output: { en: "Check the output", zh: "查看返回的结果" },
  fix_skill: { en: "Fix the skill", zh: "修正技能" },
  fix_input: { en: "Fix the input", zh: "修正输入" },
  login_engine: { en: "Sign the engine in", zh: "登录引擎" },
  install_engine: { en: "Install the engine", zh: "安装引擎" },
  inspect_evidence: { en: "Inspect the evidence", zh: "查看证据" },
  diagnose: { en: "Read the diagnosis", zh: "查看诊断" },
  free_disk: { en: "Free disk space", zh: "清理磁盘空间" },
  retry_failed_steps: { en: "Retry the failed steps", zh: "重试失败的步骤" },
  show_workflow: { en: "Show the steps", zh: "查看各步骤" },
} satisfies Record<NextActionKind, Word>);

/** The reply to a run that waits for the next prompt. */
const sendPrompt: Word = { en: "Send the next prompt", zh: "发送下一条提示" };

/** What an action does. A run at rest has no question: the reply to it is the next prompt. */
export function actionWord(action: NextActionKind, isForPrompt: boolean): Word {
  return action === "reply" && isForPrompt ? sendPrompt : actionWords[action];
}

const passageWords = defineWords({
  end: { en: "the end of the turn", zh: "本轮的结束" },
  marker: { en: "the done marker", zh: "完成标记" },
  answer: { en: "the answer", zh: "回答" },
  lastMessage: { en: "the last message", zh: "最后一条消息" },
});

/** What a passage is. A message in a turn that did not complete is not an answer. */
export function passageWord(what: Passage["what"], turn: TurnState | undefined): Word {
  return what === "answer" && turn !== "completed" ? passageWords.lastMessage : passageWords[what];
}

/** Why the run is where it is: English as the service says it, Chinese from the tables above. */
export function decidedWords(language: Language, decided: Decided, status: RunStatus, attempts: number): { words: string; summary: string } {
  if (language === "en") return { words: decided.words, summary: decided.summary };
  const rule = decided.rule === null ? withoutTurn[without(decided.reason_code, status, attempts)] : (ruleWords[decided.rule] as Word | undefined);
  const code = codeWords[decided.reason_code] as Word | undefined;
  // A newer service may know more than this page; then its own words are better than none.
  return { words: rule ? say(language, rule) : decided.words, summary: code ? say(language, code) : decided.summary };
}

function without(reason: string, status: RunStatus, attempts: number): keyof typeof withoutTurn {
  // A workflow has no turns of its own.
  if (reason.startsWith("WORKFLOW_")) return "bySteps";
  if (status === "canceled") return attempts === 0 ? "canceledBefore" : "canceledBetween";
  if (status === "closed") return "closedByUser";
  return attempts === 0 ? "neverStarted" : "afterwards";
}

/** A code in a sentence; the code itself where this page does not know it. */
export function codeSentence(language: Language, code: string): string {
  const word = (codeWords as Record<string, Word | undefined>)[code];
  return word ? say(language, word) : code;
}
