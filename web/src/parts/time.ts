// Times and sizes as people say them. `now` is always given, so that the same input gives the same words.
import { type Language, defineWords, say } from "../words/words.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const words = defineWords({
  ms: { en: "{n} ms", zh: "{n} 毫秒" },
  s: { en: "{n} s", zh: "{n} 秒" },
  min: { en: "{n} min", zh: "{n} 分钟" },
  h: { en: "{n} h", zh: "{n} 小时" },
  d: { en: "{n} d", zh: "{n} 天" },
  ago: { en: "{time} ago", zh: "{time}前" },
  in: { en: "in {time}", zh: "{time}后" },
  now: { en: "now", zh: "刚刚" },
});

/** How long something took. */
export function lasting(language: Language, ms: number): string {
  const unit = (word: keyof typeof words, n: number | string): string => say(language, words[word], { n });
  if (ms < SECOND) return unit("ms", Math.max(0, Math.round(ms)));
  if (ms < 10 * SECOND) return unit("s", (Math.floor(ms / 100) / 10).toFixed(1));
  if (ms < MINUTE) return unit("s", Math.floor(ms / SECOND));
  const [large, small] = ms < HOUR ? (["min", "s"] as const) : ms < DAY ? (["h", "min"] as const) : (["d", "h"] as const);
  const [whole, part] = ms < HOUR ? [MINUTE, SECOND] : ms < DAY ? [HOUR, MINUTE] : [DAY, HOUR];
  const rest = Math.floor((ms % whole) / part);
  const begin = unit(large, Math.floor(ms / whole));
  return rest === 0 ? begin : `${begin} ${unit(small, rest)}`;
}

/** About how long ago, or how long until, in one unit. */
export function fromNow(language: Language, moment: number, now: number): string {
  const ms = Math.abs(now - moment);
  if (ms < SECOND) return say(language, words.now);
  const [word, unit] = ms < MINUTE ? (["s", SECOND] as const) : ms < HOUR ? (["min", MINUTE] as const) : ms < DAY ? (["h", HOUR] as const) : (["d", DAY] as const);
  const time = say(language, words[word], { n: Math.floor(ms / unit) });
  return say(language, now > moment ? words.ago : words.in, { time });
}

/** To the second, in the reader's time zone. */
export function moment(language: Language, at: number): string {
  return new Date(at).toLocaleString(language, { dateStyle: "medium", timeStyle: "medium" });
}

export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"] as const;
  let [value, unit] = [bytes / 1_000, 0];
  while (value >= 1_000 && unit + 1 < units.length) [value, unit] = [value / 1_000, unit + 1];
  const floor = Math.floor(value * 10) / 10;
  return `${floor < 100 ? floor.toFixed(1) : Math.floor(value)} ${units[unit] ?? ""}`;
}

/** A count of tokens: 950, 12.3 k, 4.1 M. */
export function short(count: number): string {
  if (count < 1_000) return String(count);
  return count < 1_000_000 ? `${(count / 1_000).toFixed(1)} k` : `${(count / 1_000_000).toFixed(1)} M`;
}
