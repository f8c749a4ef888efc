// Where the marks of the time axis stand, and what stands beside them.
import type { Language } from "../../words/words.ts";
import type { View } from "./scale.ts";

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

const STEPS: readonly number[] = [
  5, 10, 20, 50, 100, 200, 500,
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
];

export interface Ticks {
  /** Between two marks, in milliseconds. */
  readonly step: number;
  readonly at: readonly number[];
}

/** Marks at round distances from `zero`, at least this many pixels apart. */
export function ticksOf(view: View, width: number, zero: number, apart: number): Ticks {
  const least = ((view.to - view.from) / Math.max(1, width)) * apart;
  const step = STEPS.find((one) => one >= least) ?? Math.ceil(least / DAY) * DAY;
  const at: number[] = [];
  for (let n = Math.ceil((view.from - zero) / step); zero + n * step <= view.to; n += 1) at.push(zero + n * step);
  return { step, at };
}

/** Time since the start as a clock shows it, as exact as the step: 0:05, 1:02:03, 0:00.25. */
export function sinceStart(ms: number, step: number): string {
  const sign = ms < 0 ? "−" : "";
  // As a whole number of milliseconds, so that nothing is rounded up to a sixtieth second.
  const whole = Math.round(Math.abs(ms));
  const [h, min, s] = [Math.floor(whole / HOUR), Math.floor((whole % HOUR) / MINUTE), Math.floor((whole % MINUTE) / SECOND)];
  const two = (n: number): string => String(n).padStart(2, "0");
  const digits = step >= SECOND ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
  const part = digits === 0 ? "" : `.${String(whole % SECOND).padStart(3, "0").slice(0, digits)}`;
  return `${sign}${h > 0 ? `${h}:${two(min)}` : min}:${two(s)}${part}`;
}

/** The time of day in the reader's zone; the day where the marks are days apart. */
export function timeOfDay(language: Language, at: number, step: number): string {
  const date = new Date(at);
  if (step >= DAY) return date.toLocaleDateString(language, { month: "short", day: "numeric" });
  const base = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  if (step >= MINUTE) return date.toLocaleTimeString(language, base);
  if (step >= SECOND) return date.toLocaleTimeString(language, { ...base, second: "2-digit" });
  return date.toLocaleTimeString(language, { ...base, second: "2-digit", fractionalSecondDigits: step >= 100 ? 1 : step >= 10 ? 2 : 3 });
}
