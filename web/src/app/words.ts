// What the frame around all screens says.
import { defineWords } from "../words/words.ts";

export const words = defineWords({
  skip: { en: "Skip to the content", zh: "跳到内容" },
  screens: { en: "Screens", zh: "页面" },
  inbox: { en: "Inbox", zh: "待回答" },
  runs: { en: "Runs", zh: "运行" },
  skills: { en: "Skills", zh: "技能" },
  engines: { en: "Engines", zh: "引擎" },
  start: { en: "Start a run", zh: "新建运行" },
  waiting: { en: "{n} questions wait", one: "1 question waits", zh: "{n} 个问题在等待回答" },
  settings: { en: "Language, colours and more", zh: "语言、配色等设置" },
  language: { en: "Language", zh: "语言" },
  theme: { en: "Colours", zh: "配色" },
  themeAuto: { en: "As the system", zh: "跟随系统" },
  themeLight: { en: "Light", zh: "浅色" },
  themeDark: { en: "Dark", zh: "深色" },
  api: { en: "API", zh: "接口文档" },
  logOut: { en: "Log out", zh: "退出登录" },
  away: { en: "The server does not answer. What you see is from before; this page goes on by itself as soon as it is back.", zh: "服务器没有响应。这里显示的是之前的内容；恢复后页面会自动继续。" },
  refusedTitle: { en: "This browser is not let in yet", zh: "此浏览器还没有获得许可" },
  refusedHow: { en: "Runs belong to whoever started the server. On its machine, type this and follow the link it prints:", zh: "运行属于启动服务器的人。请在那台机器上输入以下命令，并打开它给出的链接：" },
  refusedPaste: { en: "Or paste the link here", zh: "或者把链接粘贴到这里" },
  refusedGo: { en: "Let me in", zh: "进入" },
  refusedBad: { en: "This is no link of skillrun open. It has #code= in it.", zh: "这不是 skillrun open 给出的链接。链接里应包含 #code=。" },
  broken: { en: "The service refuses to talk to this page", zh: "服务拒绝与此页面通信" },
  again: { en: "Try again", zh: "重试" },
});
