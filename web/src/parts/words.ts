// What small parts used on many screens say.
import { defineWords } from "../words/words.ts";

export const words = defineWords({
  copy: { en: "Copy", zh: "复制" },
  copied: { en: "Copied", zh: "已复制" },
  command: { en: "Command: {command}", zh: "命令：{command}" },
  loading: { en: "Loading…", zh: "加载中…" },
});
