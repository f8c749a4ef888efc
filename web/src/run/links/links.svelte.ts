// The events around the selected one, as far as they are needed to draw its links.
import type { RaspEvent } from "@skillrun/client";
import { service } from "../../service/service.ts";
import type { RunPage } from "../run-page.svelte.ts";
import type { Graph, Known } from "./builder.ts";
import { graphOf, wanted } from "./graph.ts";

/** Events before and after the selected one: parts of a message stand close together. */
const AROUND = 30;
/** Events that are asked for one by one, and how often more are found to be wanted. */
const SINGLY = 16;
const ROUNDS = 3;
/** The number of events kept; beyond that all but those around the selected one are dropped. */
const KEPT = 600;

export class Links {
  private events = $state.raw<ReadonlyMap<number, RaspEvent>>(new Map());
  private retryOf = $state<string | undefined>();
  private requestId = $state<string | undefined>();
  private readonly stop = new AbortController();

  constructor(private readonly page: RunPage) {}

  readonly graph: Graph = $derived.by(() => graphOf(this.known()));

  close(): void {
    this.stop.abort();
  }

  /** What was asked for, once. Without it the graph lacks only where the run comes from. */
  async loadRequest(): Promise<void> {
    try {
      const request = await service.request(this.page.id, { signal: this.stop.signal });
      this.retryOf = request.retry_of ?? undefined;
      this.requestId = request.request_id ?? undefined;
    } catch {
      // The first event also records a retry.
    }
  }

  /** Loads what is near the selected event, then what the graph shows besides. */
  async load(seq: number): Promise<void> {
    try {
      if (!this.events.has(seq)) await this.fetch(Math.max(1, seq - AROUND), seq + AROUND, seq);
      for (let round = 0; round < ROUNDS && this.page.selected === seq; round += 1) {
        const known = this.known();
        const more = wanted(known, graphOf(known), SINGLY);
        if (more.length === 0) return;
        await Promise.all(more.map((one) => this.fetch(one, one, seq)));
      }
    } catch {
      // Then there are fewer words in the nodes; the outline knows the rest.
    }
  }

  private async fetch(from: number, to: number, around: number): Promise<void> {
    const query = { from_seq: from, to_seq: to, limit: to - from + 1 };
    const page = await service.eventsHistory(this.page.id, query, { signal: this.stop.signal });
    const before = this.events.size > KEPT ? [...this.events].filter(([seq]) => Math.abs(seq - around) <= AROUND) : [...this.events];
    this.events = new Map([...before, ...page.events.map((event): [number, RaspEvent] => [event.seq, event])]);
  }

  private known(): Known {
    // The outline is one object that grows; its version says when.
    void this.page.outlineVersion;
    return { outline: this.page.outline, selected: this.page.selected ?? 0, events: this.events, retryOf: this.retryOf, requestId: this.requestId };
  }
}
