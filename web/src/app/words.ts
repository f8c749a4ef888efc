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
  waiting: { en: "{n} questions are waiting", one: "1 question is waiting", zh: "{n} 个问题在等待回答" },
  settings: { en: "Language, colours and more", zh: "语言、配色等设置" },
  language: { en: "Language", zh: "语言" },
  theme: { en: "Colours", zh: "配色" },
  themeAuto: { en: "Same as the system", zh: "跟随系统" },
  themeLight: { en: "Light", zh: "浅色" },
  themeDark: { en: "Dark", zh: "深色" },
  api: { en: "API", zh: "接口文档" },
  logOut: { en: "Log out", zh: "退出登录" },
  away: { en: "The server does not respond. The content shown may be outdated; the page continues automatically when the server is back.", zh: "服务器没有响应。这里显示的是之前的内容；恢复后页面会自动继续。" },
  refusedTitle: { en: "This browser is not authorised yet", zh: "此浏览器还没有获得许可" },
  refusedHow: { en: "Runs belong to the user who started the server. On that machine, run this command and open the link it prints:", zh: "运行属于启动服务器的人。请在那台机器上输入以下命令，并打开它给出的链接：" },
  refusedPaste: { en: "Or paste the link here", zh: "或者把链接粘贴到这里" },
  refusedGo: { en: "Sign in", zh: "进入" },
  refusedBad: { en: "This is not a link printed by skillrun open. Such a link contains #code=.", zh: "这不是 skillrun open 给出的链接。链接里应包含 #code=。" },
  broken: { en: "The server refuses requests from this page", zh: "服务拒绝与此页面通信" },
  again: { en: "Try again", zh: "重试" },
});
