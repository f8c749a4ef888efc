// What the page says when the service itself does not get a word in.
import { defineWords } from "../words/words.ts";

export const words = defineWords({
  away: { en: "The server does not respond.", zh: "服务器没有响应。" },
});
