// Which bytes an event was made from, and which event a byte is about most.
import type { RaspEvent, RawQuery } from "@skillrun/client";

export const STREAMS = ["stdout", "stderr", "pty", "stdin"] as const satisfies readonly RawQuery["stream"][];
export type StreamName = (typeof STREAMS)[number];

/** Some bytes of one file of one attempt. */
export interface Span {
  readonly attempt: number;
  readonly stream: StreamName;
  readonly from: number;
  readonly to: number;
}

/** More pieces than these are represented by the range around them. */
const PIECES_MOST = 1_000;

/** The bytes of an event, first by stream, then in order; none for what skillrun says by itself. */
export function spansOf(event: RaspEvent): Span[] {
  const attempt = event.attempt_number;
  const pieces = piecesOf(event.data).slice(0, PIECES_MOST).map((piece) => ({ attempt, ...piece }));
  const raw = event.raw_ref;
  const hulls: Span[] = [
    { attempt, stream: "stdout", from: raw.stdout_from, to: raw.stdout_to },
    { attempt, stream: "stderr", from: raw.stderr_from, to: raw.stderr_to },
  ];
  // If there are pieces of a stream, the range around them adds no information.
  const whole = hulls.filter((hull) => hull.to > hull.from && !pieces.some((piece) => piece.stream === hull.stream));
  const place = (span: Span): number => STREAMS.indexOf(span.stream);
  return [...whole, ...pieces].sort((one, other) => place(one) - place(other) || one.from - other.from);
}

/** The events that a byte went into, the one with the fewest bytes of that stream first. */
export function bySpecificity(events: readonly RaspEvent[], stream: StreamName): RaspEvent[] {
  const size = (event: RaspEvent): number =>
    spansOf(event).filter((span) => span.stream === stream).reduce((sum, span) => sum + span.to - span.from, 0);
  return [...events].sort((one, other) => size(one) - size(other) || one.seq - other.seq);
}

function piecesOf(data: unknown): Omit<Span, "attempt">[] {
  const spans = typeof data === "object" && data !== null && "spans" in data ? data.spans : undefined;
  if (!Array.isArray(spans)) return [];
  return spans.flatMap((span: unknown) => {
    if (typeof span !== "object" || span === null) return [];
    const { stream, from, to } = span as Record<string, unknown>;
    const known = STREAMS.find((name) => name === stream);
    const isRange = typeof from === "number" && typeof to === "number" && from >= 0 && to > from;
    return known && isRange ? [{ stream: known, from, to }] : [];
  });
}
