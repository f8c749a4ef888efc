// The status events that are in view, and what they say: asked for when the list has come to rest, and kept.
import type { RaspEvent } from "@skillrun/client";
import { type Said, saidOf, stretchesOf } from "./status.ts";

/** Requests are sent after this time without a new one. */
export const REST_MS = 120;
/** Events between two status events that are asked for along with them; their texts may be long. */
const BETWEEN = 2;
/** Requests at a time; the rows after that say less until the list moves. */
const MOST_STRETCHES = 12;
/** The number kept; beyond that all of them are dropped. */
const MOST_KEPT = 1_000;

export type Ask = (from: number, to: number, signal: AbortSignal) => Promise<readonly RaspEvent[]>;

export class Statuses {
  said = $state.raw<ReadonlyMap<number, Said>>(new Map());
  /** Asked for already. */
  private readonly asked = new Set<number>();
  private readonly stop = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ask: Ask) {}

  /** These are in view now. */
  want(seqs: readonly number[]): void {
    clearTimeout(this.timer);
    const fresh = seqs.filter((seq) => !this.asked.has(seq));
    if (fresh.length > 0) this.timer = setTimeout(() => void this.fetch(fresh), REST_MS);
  }

  /** The Log is another one: nothing that was said holds. */
  forget(): void {
    this.asked.clear();
    this.said = new Map();
  }

  close(): void {
    clearTimeout(this.timer);
    this.stop.abort();
  }

  private async fetch(seqs: readonly number[]): Promise<void> {
    if (this.asked.size + seqs.length > MOST_KEPT) this.forget();
    for (const { from, to } of stretchesOf(seqs, BETWEEN, MOST_STRETCHES)) {
      const inside = seqs.filter((seq) => seq >= from && seq <= to);
      for (const seq of inside) this.asked.add(seq);
      try {
        const events = await this.ask(from, to, this.stop.signal);
        const said = new Map(this.said);
        for (const event of events) {
          const one = saidOf(event);
          if (one) said.set(event.seq, one);
        }
        this.said = said;
      } catch {
        // It is asked for again when it comes into view again; until then the row says less.
        for (const seq of inside) this.asked.delete(seq);
      }
    }
  }
}
