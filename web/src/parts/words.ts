// What small parts used on many screens say.
import { defineWords } from "../words/words.ts";

export const words = defineWords({
  copy: { en: "Copy", zh: "复制" },
  copied: { en: "Copied", zh: "已复制" },
  usage: { en: "{input} in, {output} out", zh: "输入 {input}，输出 {output}" },
  usageIn: { en: "{input} in", zh: "输入 {input}" },
  usageOut: { en: "{output} out", zh: "输出 {output}" },
  costTiny: { en: "less than $0.0001", zh: "低于 $0.0001" },
});
