// What the page says of the box of a run. Names that are not here are shown as the service has them.
import type { BoxPart } from "@skillrun/client";
import { type Word, defineWords } from "../../words/words.ts";

export const partWords = defineWords({
  files: { en: "files", zh: "文件" },
  processes: { en: "processes", zh: "进程" },
  network: { en: "network", zh: "网络" },
  memory: { en: "memory", zh: "内存" },
  process_count: { en: "number of processes", zh: "进程数" },
  cpu: { en: "processor time", zh: "处理器时间" },
  disk: { en: "disk", zh: "磁盘" },
} satisfies Partial<Record<BoxPart["part"], Word>>);

export const mechanismWords = defineWords({
  namespaces: { en: "namespaces", zh: "命名空间" },
  landlock: { en: "Landlock", zh: "Landlock 规则" },
  cgroup: { en: "a control group", zh: "控制组" },
  watched: { en: "watching", zh: "监视" },
} satisfies Partial<Record<NonNullable<BoxPart["mechanism"]>, Word>>);

export const boxLineWords = defineWords({
  enforced: { en: "{parts} enforced by {mechanism}", zh: "{parts}由{mechanism}强制执行" },
  notEnforced: { en: "{parts} not enforced", zh: "{parts}未强制执行" },
  open: { en: "network open", zh: "网络开放" },
  steps: { en: "in each step", zh: "用于每个步骤" },
  and: { en: ", ", zh: "、" },
  then: { en: "; ", zh: "；" },
});

export const boxWords = defineWords({
  title: { en: "Box", zh: "隔离" },
  by: { en: "enforced by {mechanism}", zh: "由{mechanism}强制执行" },
  open: { en: "not enforced", zh: "未强制执行" },
  off: { en: "None: only the engine's own sandbox holds it, if it has one.", zh: "无：只有引擎自带的沙箱（如有）限制它。" },
  steps: { en: "Each step has the box, with a report in its own run.", zh: "每个步骤都在隔离中运行，报告见各步骤的运行。" },
});
