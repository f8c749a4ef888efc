// What the conversation says around the words of the agent.
import type { Interaction, TurnState } from "@skillrun/client";
import { type Word, defineWords } from "../../words/words.ts";
import type { BrokenTurn } from "./describe.ts";
import type { DecisionPolicy, Origin, ResolutionMode } from "./rows.ts";

export const words = defineWords({
  conversation: { en: "Conversation", zh: "对话" },
  loading: { en: "Loading the conversation…", zh: "正在加载对话…" },
  empty: { en: "No messages yet.", zh: "还没有任何内容。" },
  emptyOver: { en: "This run has no messages.", zh: "此运行中没有任何对话。" },
  again: { en: "Try again", zh: "重试" },
  latest: { en: "Go to the latest", zh: "跳到最新" },
  latestNew: { en: "Go to the latest ({n} new)", zh: "跳到最新（{n} 条新内容）" },
  loadingEarlier: { en: "Loading earlier parts…", zh: "正在加载更早的内容…" },
  agent: { en: "Agent", zh: "智能体" },
  growing: { en: "incomplete", zh: "尚未写完" },
  unfinished: { en: "never completed", zh: "没有写完" },
  partial: { en: "partial: interrupted", zh: "不完整：中途断开" },
  cut: { en: "The beginning may be in an earlier part that is not loaded.", zh: "开头可能在尚未加载的更早内容中。" },
  reasoning: { en: "Reasoning", zh: "思考过程" },
  tool: { en: "Tool", zh: "工具" },
  toolUnnamed: { en: "unnamed tool", zh: "未命名的工具" },
  toolStarted: { en: "running", zh: "运行中" },
  toolNever: { en: "end not recorded", zh: "没有结束记录" },
  toolCompleted: { en: "ended", zh: "已结束" },
  toolFailed: { en: "failed", zh: "失败" },
  input: { en: "Input", zh: "输入" },
  output: { en: "Output", zh: "输出" },
  noInput: { en: "No input was recorded.", zh: "没有记录输入。" },
  reason: { en: "Why it failed", zh: "失败原因" },
  cutText: { en: "{n} more characters are in the evidence.", one: "1 more character is in the evidence.", zh: "其余 {n} 个字符在证据中。" },
  question: { en: "Question {n}", zh: "问题 {n}" },
  options: { en: "Options", zh: "给出的选项" },
  default: { en: "default", zh: "默认" },
  waits: { en: "Waiting for an answer below.", zh: "正在等待回答，请在下方回答。" },
  closed: { en: "Closed without an answer.", zh: "未回答就已关闭。" },
  timedOut: { en: "No user answered in time.", zh: "没有人及时回答。" },
  policy: { en: "Policy: {policy}", zh: "策略：{policy}" },
  instruction: { en: "Instruction to the agent:", zh: "告知智能体：" },
  answerTo: { en: "Answer to question {n}", zh: "对问题 {n} 的回答" },
  open: { en: "Your answer is needed", zh: "需要您的回答" },
  dismiss: { en: "Dismiss", zh: "知道了" },
  toDecision: { en: "Decide it", zh: "去作决定" },
  toForm: { en: "Answer it below", zh: "在下方回答" },
  turn: { en: "Turn {n}", zh: "第 {n} 轮" },
  isAnswer: { en: "Answer", zh: "回答" },
  prompt: { en: "Prompt", zh: "提示" },
  nextPrompt: { en: "Next prompt", zh: "下一条提示" },
  promptFiles: { en: "Files: {names}", zh: "文件：{names}" },
  promptCut: { en: "The text is longer. Its whole is in the Log.", zh: "内容较长，全文在日志中。" },
  turnNext: { en: "What to do next", zh: "下一步" },
  goesOn: { en: "in progress", zh: "进行中" },
  artifact: { en: "File created", zh: "生成文件" },
  started: { en: "Started on {engine}, {mode}", zh: "已在 {engine} 上启动，{mode}" },
  child: { en: "Child run", zh: "子运行" },
  check: { en: "Check", zh: "检查" },
  checkOpen: { en: "is running", zh: "正在运行" },
  checkExit: { en: "exit code {n}", zh: "退出码 {n}" },
  checkOutput: { en: "End of its output", zh: "输出的末尾" },
  childOpen: { en: "has not ended", zh: "尚未结束" },
  step: { en: "Step", zh: "步骤" },
  stepOf: { en: "Step {step}", zh: "步骤 {step}" },
  trial: { en: "try {n}", zh: "第 {n} 次" },
  workflowEnd: { en: "The workflow ended: {outcome}", zh: "工作流结束：{outcome}" },
  notAnswer: { en: "Not an answer", zh: "不是回答" },
  strip: { en: "Other output", zh: "对话之外" },
  rawLines: { en: "{n} lines the parser did not know", one: "1 line the parser did not know", zh: "{n} 行解析器不认识的内容" },
  stderrLines: { en: "{n} lines on stderr", one: "1 line on stderr", zh: "标准错误输出 {n} 行" },
  range: { en: "bytes {from} to {to}", zh: "第 {from} 至 {to} 字节" },
  observed: { en: "{n} reports of the engine on its subagents", one: "1 report of the engine on a subagent", zh: "引擎关于其子智能体的 {n} 条报告" },
  notes: { en: "{n} notes", one: "1 note", zh: "{n} 条提示" },
  guesses: { en: "{n} guesses", one: "1 guess", zh: "{n} 处推测" },
  errors: { en: "{n} errors", one: "1 error", zh: "{n} 个错误" },
  warnings: { en: "{n} warnings", one: "1 warning", zh: "{n} 个警告" },
  more: { en: "Show {n} more", zh: "再显示 {n} 条" },
  inEvidence: { en: "This line is only in the evidence.", zh: "此行只在证据中。" },
  times: { en: "{n} times", zh: "{n} 次" },
  endSucceeded: { en: "The run succeeded.", zh: "运行成功。" },
  endFailed: { en: "The run failed.", zh: "运行失败。" },
  endClosed: { en: "The conversation was closed.", zh: "对话已关闭。" },
  endCanceled: { en: "The run was canceled.", zh: "运行已取消。" },
  endOther: { en: "The run is over.", zh: "运行已结束。" },
});

/** How a turn ended, at its end. */
export const turnEndWords = defineWords({
  completed: { en: "Turn {n} completed", zh: "第 {n} 轮已完成" },
  partial_failed: { en: "Turn {n} failed after part of an answer", zh: "第 {n} 轮只给出部分回答就失败了" },
  failed: { en: "Turn {n} failed", zh: "第 {n} 轮失败" },
  interrupted: { en: "Turn {n} was interrupted", zh: "第 {n} 轮被中断" },
  timed_out: { en: "Turn {n} ran out of time", zh: "第 {n} 轮超时" },
} satisfies Record<TurnState, Word>);

/** At every text of a turn that did not complete. */
export const brokenWords = defineWords({
  partial_failed: { en: "This turn failed after part of an answer; its text is not an answer.", zh: "本轮只给出部分回答就失败了，其内容不是回答。" },
  failed: { en: "This turn failed; its text is not an answer.", zh: "本轮失败，其内容不是回答。" },
  interrupted: { en: "This turn was interrupted; its text is not an answer.", zh: "本轮被中断，其内容不是回答。" },
  timed_out: { en: "This turn ran out of time; its text is not an answer.", zh: "本轮超时，其内容不是回答。" },
  not_completed: { en: "This turn did not complete; its text is not an answer.", zh: "本轮没有完成，其内容不是回答。" },
} satisfies Record<BrokenTurn, Word>);

/** What composed the message that began a turn. */
export const originWords = defineWords({
  user: { en: "Prompt", zh: "提示" },
  skill: { en: "Instructions of the skill", zh: "技能的说明" },
  policy: { en: "Decision of the policy", zh: "策略的决定" },
  orchestrator: { en: "Earlier conversation, sent by skillrun", zh: "由 skillrun 发送的先前对话" },
} satisfies Record<Origin, Word>);

export const kindWords = defineWords({
  choose_one: { en: "choose one", zh: "选择一项" },
  confirm: { en: "confirm", zh: "确认" },
  fill_fields: { en: "fill in", zh: "填写" },
  open_text: { en: "in your own words", zh: "自由回答" },
  risk_ack: { en: "acknowledge a risk", zh: "确认风险" },
} satisfies Record<Interaction["kind"], Word>);

export const resolutionWords = defineWords({
  user_reply: { en: "answered by a user", zh: "由人回答" },
  auto_decide_timeout: { en: "decided automatically, no answer came in time", zh: "没有人及时回答，已自动决定" },
  permission_policy: { en: "decided by the permissions of the run", zh: "由运行的权限决定" },
} satisfies Record<ResolutionMode, Word>);

export const policyWords = defineWords({
  engine_judgement: { en: "the agent decides", zh: "由智能体判断" },
  safe_default: { en: "the safe default is used", zh: "采用安全的默认项" },
  abort: { en: "the run is ended", zh: "结束运行" },
} satisfies Record<DecisionPolicy, Word>);

export const lineWords = defineWords({
  stdout: { en: "stdout", zh: "标准输出" },
  stderr: { en: "stderr", zh: "标准错误" },
  guess: { en: "guess", zh: "推测" },
  subagent: { en: "the engine says", zh: "引擎称" },
  unknown: { en: "unknown event", zh: "未知事件" },
});
