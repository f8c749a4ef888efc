// What the steps of a workflow say.
import type { StepView } from "@skillrun/client";
import { type Word, defineWords } from "../../words/words.ts";

export const words = defineWords({
  title: { en: "Steps of the workflow", zh: "工作流的步骤" },
  loading: { en: "Loading the steps…", zh: "正在加载步骤…" },
  failed: { en: "Failed to load the steps. Retrying.", zh: "未能加载步骤，正在重试。" },
  ready: { en: "{ready} of {n} steps ready", zh: "{n} 个步骤中 {ready} 个已就绪" },
  deadline: { en: "Its time is over at {moment} ({time}).", zh: "期限：{moment}（{time}）。" },
  looks: { en: "How the steps are shown", zh: "步骤的显示方式" },
  graph: { en: "Graph", zh: "图" },
  list: { en: "List", zh: "列表" },
  tooMany: { en: "A graph of {n} steps is too large to draw. The list has all of them.", zh: "{n} 个步骤太多，无法绘图；列表中有全部步骤。" },
  tries: { en: "{n} tries", one: "1 try", zh: "尝试 {n} 次" },
  optional: { en: "not required", zh: "非必需" },
  reused: { en: "taken over", zh: "沿用" },
  reusedFrom: { en: "Taken over from an earlier run of the workflow:", zh: "沿用自此工作流先前的运行：" },
  needs: { en: "Needs", zh: "依赖" },
  needsOf: { en: "needs {steps}", zh: "依赖 {steps}" },
  engine: { en: "Engine", zh: "引擎" },
  began: { en: "Began", zh: "开始" },
  took: { en: "Time", zh: "用时" },
  onFailure: { en: "If it fails", zh: "失败时" },
  until: { en: "until {moment}", zh: "至 {moment}" },
  items: { en: "{ready} of {n} items ready", zh: "{n} 项中 {ready} 项已就绪" },
  item: { en: "Item {n}: {state}", zh: "第 {n} 项：{state}" },
  moreItems: { en: "{n} more items are not shown.", one: "1 more item is not shown.", zh: "另有 {n} 项未显示。" },
  open: { en: "Open the child run", zh: "查看子运行" },
  openOf: { en: "Open the child run of {step}", zh: "查看 {step} 的子运行" },
  close: { en: "Close", zh: "关闭" },
  asksThere: { en: "The child run asks a question. Answer it there.", zh: "子运行正在提问，请到那里回答。" },
  step: { en: "Step {step}", zh: "步骤 {step}" },
});

/** What a step that was held waits for. */
export const heldWords = defineWords({
  before: { en: "It asks before it begins.", zh: "开始之前需要决定。" },
  after: { en: "It asks before its result counts.", zh: "结果生效之前需要决定。" },
  failure: { en: "It failed, and you decide what follows.", zh: "它失败了，由您决定下一步。" },
} satisfies Record<NonNullable<StepView["held"]>, Word>);

export const failureWords = defineWords({
  stop: { en: "no other step begins", zh: "不再开始其他步骤" },
  continue: { en: "steps that do not need it continue", zh: "不依赖它的步骤继续" },
  hold: { en: "the user decides", zh: "由用户决定" },
} satisfies Record<StepView["on_failure"], Word>);
