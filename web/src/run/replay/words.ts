// What the pane says around what a model would see.
import { type Word, defineWords } from "../../words/words.ts";
import type { Dialect, LeftOut, NoticeKind, ReplayItem } from "./replay.ts";

export const words = defineWords({
  title: { en: "What a model would see", zh: "模型会看到的内容" },
  dialect: { en: "Shown as", zh: "显示方式" },
  loading: { en: "Loading…", zh: "正在加载…" },
  again: { en: "Try again", zh: "重试" },
  empty: { en: "No turn is over yet.", zh: "还没有结束的轮次。" },
  turn: { en: "Turn {n}", zh: "第 {n} 轮" },
  nothing: { en: "Nothing of this turn would be seen again.", zh: "本轮没有任何内容会再次被看到。" },
  before: { en: "{n} earlier turns are not shown here. A dialect has them all.", one: "1 earlier turn is not shown here. A dialect has them all.", zh: "更早的 {n} 轮未在此显示，选择一种方言可查看全部。" },
  leftOut: { en: "Left out", zh: "略去的内容" },
  leftOutNothing: { en: "Nothing was left out.", zh: "没有略去任何内容。" },
  exact: { en: "This is exactly what the model received.", zh: "这正是模型收到的内容。" },
  shown: { en: "This is what the engine has shown. Its own instructions, its tools and its summaries are not known.", zh: "这是引擎显示出来的内容。引擎自己的指令、工具和摘要不得而知。" },
  hash: { en: "Hash up to here:", zh: "到此为止的哈希：" },
  truncated: { en: "The Log has only the beginning.", zh: "日志中只有开头部分。" },
  cutText: { en: "{n} more characters are not shown.", one: "1 more character is not shown.", zh: "其余 {n} 个字符未显示。" },
  answer: { en: "answer", zh: "回答" },
  failed: { en: "failed", zh: "失败" },
});

export const dialectWords = defineWords({
  items: { en: "Items", zh: "条目" },
  text: { en: "Text", zh: "文本" },
  "anthropic-messages": { en: "Anthropic Messages", zh: "Anthropic Messages 格式" },
  "openai-responses": { en: "OpenAI Responses", zh: "OpenAI Responses 格式" },
  "openai-chat": { en: "OpenAI Chat", zh: "OpenAI Chat 格式" },
} satisfies Record<Dialect, Word>);

export const itemWords = defineWords({
  user: { en: "User", zh: "用户" },
  agent: { en: "Agent", zh: "智能体" },
  tool_call: { en: "Tool call", zh: "工具调用" },
  tool_result: { en: "Tool result", zh: "工具结果" },
  child: { en: "Child run", zh: "子运行" },
} satisfies Record<ReplayItem["type"], Word>);

export const leftOutWords = defineWords({
  partial_message: { en: "{n} messages that were cut off", one: "1 message that was cut off", zh: "{n} 条被截断的消息" },
  voided_message: { en: "{n} messages that the engine retracted", one: "1 message that the engine retracted", zh: "{n} 条被引擎收回的消息" },
  empty_message: { en: "{n} messages without text", one: "1 message without text", zh: "{n} 条没有文本的消息" },
  text_of_broken_turn: { en: "{n} messages of turns that did not complete", one: "1 message of a turn that did not complete", zh: "未完成轮次中的 {n} 条消息" },
  reasoning: { en: "{n} summaries of reasoning", one: "1 summary of reasoning", zh: "{n} 段思考摘要" },
  open_call: { en: "{n} tool calls without a result", one: "1 tool call without a result", zh: "{n} 次没有结果的工具调用" },
  result_without_call: { en: "{n} tool results without their calls", one: "1 tool result without its call", zh: "{n} 个没有对应调用的工具结果" },
  refused_turn: { en: "{n} turns that were refused", one: "1 turn that was refused", zh: "{n} 个被拒绝的轮次" },
  open_turn: { en: "{n} turns that are not over", one: "1 turn that is not over", zh: "{n} 个尚未结束的轮次" },
  earlier_turn: { en: "{n} earlier turns for which there was no room", one: "1 earlier turn for which there was no room", zh: "{n} 个因篇幅不足而略去的较早轮次" },
} satisfies Record<LeftOut, Word>);

export const noticeWords = defineWords({
  user_message_missing: { en: "The version that ran {n} of the turns did not record the messages that began them.", one: "The version that ran one of the turns did not record the message that began it.", zh: "有 {n} 轮由未记录起始消息的版本运行。" },
  user_message_unreadable: { en: "Of {n} messages only the beginning is there, because the files with their texts are missing or were changed.", one: "Of one message only the beginning is there, because the file with its text is missing or was changed.", zh: "有 {n} 条消息只有开头，因为存放全文的文件缺失或已被更改。" },
  newer_event: { en: "{n} events of a newer version of skillrun were skipped.", one: "1 event of a newer version of skillrun was skipped.", zh: "跳过了 {n} 个由更新版本的 skillrun 写入的事件。" },
  damaged_log: { en: "The Log is damaged, and was read up to the damage.", zh: "日志已损坏，只读取到损坏处。" },
} satisfies Record<NoticeKind, Word>);
