// When an engine may be asked again, where its error says so. The words are an engine's or a service's behind it: they
// are looked through for a time, and what is no time soon after is none.

const SECOND = 1_000;
const UNITS = { s: SECOND, m: 60 * SECOND, h: 3_600 * SECOND } as const;
/** A time later than this is no time to wait for. */
const LATEST = 31 * 24 * UNITS.h;
/** So much of a message is looked through. */
const LONGEST = 2_000;

const MOMENT = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)/;
/** Seconds since 1970, behind a word or a sign that says what they are. */
const EPOCH = /(?:reset\w{0,3}|until|after|at|\|)["':= ]{0,4}(\d{10})\b/i;
const WAIT = /\b(?:again|retry|resets?|wait)[ -](in|after|for)["':= ]{1,4}(\d{1,6}(?:\.\d{1,3})?) ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)?\b/i;

/** The moment that an error names, counted from when it came where it names a while; nothing where it names none. */
export function resetOf(message: string, at: number): number | undefined {
  const text = message.slice(0, LONGEST);
  const named = [momentIn(text), epochIn(text), whileIn(text, at)];
  return named.find((moment) => moment !== undefined && moment > at && moment <= at + LATEST);
}

function momentIn(text: string): number | undefined {
  const found = MOMENT.exec(text)?.[0];
  const moment = found === undefined ? Number.NaN : Date.parse(found.replace(" ", "T"));
  return Number.isNaN(moment) ? undefined : moment;
}

function epochIn(text: string): number | undefined {
  const found = EPOCH.exec(text)?.[1];
  return found === undefined ? undefined : Number(found) * SECOND;
}

function whileIn(text: string, at: number): number | undefined {
  const found = WAIT.exec(text);
  if (!found) return undefined;
  const [, word, number, unitWord] = found;
  // Seconds go without saying in a header only.
  if (unitWord === undefined && word?.toLowerCase() !== "after") return undefined;
  const unit = unitWord?.[0]?.toLowerCase();
  return at + Number(number) * (unit === "m" ? UNITS.m : unit === "h" ? UNITS.h : UNITS.s);
}
