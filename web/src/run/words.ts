// What the frame around one run says.
import { defineWords } from "../words/words.ts";

export const words = defineWords({
  panes: { en: "Views of the run", zh: "运行视图" },
  steps: { en: "Steps", zh: "步骤" },
  conversation: { en: "Conversation", zh: "对话" },
  timeline: { en: "Timeline", zh: "时间线" },
  evidence: { en: "Evidence", zh: "证据" },
  links: { en: "Links", zh: "关联" },
  files: { en: "Files", zh: "文件" },
  replay: { en: "Model's view", zh: "模型视角" },
  gone: { en: "This run cannot be shown", zh: "无法显示此运行" },
  back: { en: "Back to all runs", zh: "返回全部运行" },
});
