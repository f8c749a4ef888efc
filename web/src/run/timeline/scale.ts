// From time to pixels and back, and the piece of time that is looked at.

/** A piece of time, in milliseconds since 1970. */
export interface View {
  readonly from: number;
  readonly to: number;
}

/** Times are known to the millisecond: nothing is gained by coming nearer. */
export const SHORTEST = 40;
/** What is left free at each end, so that the first and the last event are not cut. */
const MARGIN = 0.015;

/** All of a run, from its first event to its last or to now. */
export function wholeOf(first: number, last: number): View {
  const length = Math.max(SHORTEST, last - first);
  return { from: first - length * MARGIN, to: first + length * (1 + MARGIN) };
}

export function xOf(view: View, width: number, at: number): number {
  return ((at - view.from) / (view.to - view.from)) * width;
}

export function atOf(view: View, width: number, x: number): number {
  return view.from + (x / Math.max(1, width)) * (view.to - view.from);
}

/** The view inside the whole: never longer than it, never shorter than can be distinguished. */
export function within(view: View, whole: View): View {
  const all = whole.to - whole.from;
  const length = Math.min(all, Math.max(Math.min(SHORTEST, all), view.to - view.from));
  const middle = (view.from + view.to) / 2;
  const from = Math.min(Math.max(whole.from, middle - length / 2), whole.to - length);
  return { from, to: from + length };
}

/** Comes nearer (a factor above one) or goes away; the moment `at` stays where it is. */
export function zoomed(view: View, whole: View, factor: number, at: number): View {
  const all = whole.to - whole.from;
  const length = Math.min(all, Math.max(Math.min(SHORTEST, all), (view.to - view.from) / factor));
  const part = (at - view.from) / (view.to - view.from);
  return within({ from: at - part * length, to: at - part * length + length }, whole);
}

export function panned(view: View, whole: View, ms: number): View {
  return within({ from: view.from + ms, to: view.to + ms }, whole);
}

/** Moves the view as little as is needed for a moment to be in it. */
export function showing(view: View, whole: View, at: number): View {
  if (at >= view.from && at <= view.to) return view;
  const half = (view.to - view.from) / 2;
  return within({ from: at - half, to: at + half }, whole);
}
