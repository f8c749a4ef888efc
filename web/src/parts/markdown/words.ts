// What is said around a text in Markdown.
import { defineWords } from "../../words/words.ts";

export const words = defineWords({
  code: { en: "Code", zh: "代码" },
  more: { en: "Show more", zh: "显示更多" },
  moreOf: { en: "Show more ({n} characters are left)", one: "Show more (1 character is left)", zh: "显示更多（还有 {n} 个字符）" },
  question: { en: "Machine-readable: a question in the agreed format", zh: "供程序读取：按约定格式写的问题" },
  output: { en: "Machine-readable: the output", zh: "供程序读取：输出" },
});
