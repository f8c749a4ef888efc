// What the strip of the selected event says.
import { defineWords } from "../../words/words.ts";

export const words = defineWords({
  title: { en: "Selected event", zh: "选中的事件" },
  number: { en: "Event {seq}", zh: "事件 {seq}" },
  previous: { en: "Previous event", zh: "上一个事件" },
  next: { en: "Next event", zh: "下一个事件" },
  close: { en: "Clear the selection", zh: "取消选中" },
  loading: { en: "Loading…", zh: "加载中…" },
  missing: { en: "There is no event {seq} yet.", zh: "还没有事件 {seq}。" },
  none: { en: "There is no event {seq} in this run.", zh: "此运行中没有事件 {seq}。" },
  failed: { en: "Failed to load the event. Retrying.", zh: "未能加载此事件，正在重试。" },
  bytes: { en: "Show bytes", zh: "查看字节" },
  timeline: { en: "Show in timeline", zh: "在时间线中查看" },
  conversation: { en: "Show in conversation", zh: "在对话中查看" },
  links: { en: "Show links", zh: "查看关联" },
  whole: { en: "Full content", zh: "完整内容" },
  time: { en: "Time", zh: "时间" },
  attempt: { en: "Attempt", zh: "尝试" },
  before: { en: "before the first", zh: "首次尝试之前" },
  source: { en: "From", zh: "来源" },
  itself: { en: "skillrun itself", zh: "skillrun 自身" },
  readBy: { en: "Parsed by", zh: "解析器" },
  ranges: { en: "Bytes", zh: "字节" },
  noBytes: { en: "none", zh: "无" },
  morePieces: { en: "and {n} more", zh: "另有 {n} 段" },
});

/** How sure the reading is. */
export const sureWords = defineWords({
  exact: { en: "exact", zh: "精确" },
  likely: { en: "likely, {n} of 1", zh: "较可信，{n}/1" },
  guess: { en: "a guess, {n} of 1", zh: "猜测，{n}/1" },
});
