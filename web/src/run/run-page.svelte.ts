// One run as the page knows it: what all its panes show, and the one event that is selected in all of them.
import type { Attempt, Diagnosis, FcmpEvent, RaspEvent, Run } from "@skillrun/client";
import { isProblem, sentence, service } from "../service/service.ts";
import { Chat } from "./conversation/chat.svelte.ts";
import { Outline } from "./outline.ts";

const OUTLINE_PAGE = 20_000;
/** The run is looked at again so long after something was heard of it. */
const LOOK_AGAIN_MS = 250;

export class RunPage {
  run = $state.raw<Run | undefined>();
  private told = $state.raw<Diagnosis | undefined>();
  /** Why the run is as it is; not there while it tells of another state than the run is in. */
  readonly diagnosis = $derived(this.told?.status === this.run?.status ? this.told : undefined);
  attempts = $state.raw<readonly Attempt[]>([]);
  /** Why the run cannot be shown. */
  trouble = $state<string | undefined>();
  /** There is no such run, or no longer. */
  isGone = $state(false);

  readonly chat: Chat;

  /** Changes whenever `outline` has grown; read it before the outline. */
  outlineVersion = $state(0);
  readonly outline = new Outline();

  /** The seq of the event that is selected, and the event once it is loaded. */
  selected = $state<number | undefined>();
  selectedEvent = $state.raw<RaspEvent | undefined>();

  /** Where the timeline and the terminal stand, in milliseconds since 1970. */
  moment = $state<number | undefined>();

  readonly isOver = $derived(["succeeded", "failed", "canceled"].includes(this.run?.status ?? ""));

  private readonly stop = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isFetching = false;
  private hasBegun = false;
  private wantsOutline = false;
  private wantedSeq = 0;

  constructor(readonly id: string) {
    this.chat = new Chat(id, (events) => this.heard(events));
  }

  /** What somebody wants to see first comes first: the state, the end of the conversation, and then the reasons. */
  async begin(): Promise<void> {
    const run = this.lookAtRun();
    await this.chat.begin();
    await run;
    if (!this.isGone) await this.lookAtReasons();
    this.hasBegun = true;
    void this.fetchOutline();
  }

  close(): void {
    this.stop.abort();
    this.chat.close();
    clearTimeout(this.timer);
  }

  /** Selects an event everywhere; `undefined` selects nothing. */
  select(seq: number | undefined): void {
    if (seq === this.selected) return;
    this.selected = seq;
    this.selectedEvent = undefined;
    if (seq !== undefined) void this.loadSelected(seq);
  }

  /** Looks at the run again: its state, its verdict, its attempts. */
  async look(): Promise<void> {
    await this.lookAtRun();
    if (!this.isGone) await this.lookAtReasons();
  }

  private lookAtRun(): Promise<void> {
    return this.tried(async (signal) => {
      this.run = await service.getRun(this.id, { signal });
    });
  }

  private lookAtReasons(): Promise<void> {
    return this.tried(async (signal) => {
      const [diagnosis, attempts] = await Promise.all([service.diagnosis(this.id, { signal }), service.attempts(this.id, { signal })]);
      this.told = diagnosis;
      this.attempts = attempts.attempts;
    });
  }

  private async tried(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.stop;
    try {
      await work(signal);
      this.trouble = undefined;
    } catch (error) {
      if (signal.aborted) return;
      this.isGone = isProblem(error, "RUN_NOT_FOUND", "RUN_REMOVED", "INVALID_REQUEST");
      // While the server is away, what was there stays; the banner says so.
      if (this.isGone || !this.run) this.trouble = sentence(error);
      if (!this.isGone) this.lookSoon(2_000);
    }
  }

  /** From now on the outline is kept up to date: somebody looks at what is made from it. */
  needOutline(): void {
    if (this.wantsOutline) return;
    this.wantsOutline = true;
    if (this.hasBegun) void this.fetchOutline();
  }

  private heard(events: readonly FcmpEvent[]): void {
    this.wantedSeq = Math.max(this.wantedSeq, events.at(-1)?.meta.rasp_seq ?? 0);
    this.lookSoon(LOOK_AGAIN_MS);
    if (this.hasBegun) void this.fetchOutline();
  }

  /** Soon, and only once however much is heard in between. */
  lookSoon(after: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.look();
    }, after);
  }

  private async loadSelected(seq: number): Promise<void> {
    try {
      const page = await service.eventsHistory(this.id, { from_seq: seq, to_seq: seq, limit: 1 }, { signal: this.stop.signal });
      if (this.selected === seq) this.selectedEvent = page.events[0];
    } catch (error) {
      if (!this.stop.signal.aborted) this.trouble = sentence(error);
    }
  }

  private async fetchOutline(): Promise<void> {
    if (this.isFetching || !this.wantsOutline) return;
    this.isFetching = true;
    try {
      for (;;) {
        const query = { from_seq: this.outline.length + 1, limit: OUTLINE_PAGE };
        const page = await service.outline(this.id, query, { signal: this.stop.signal });
        if (page.last_seq < this.outline.length) this.outline.clear();
        this.outline.add(page);
        this.outlineVersion += 1;
        if (this.outline.length >= Math.max(page.last_seq, this.wantedSeq)) return;
        if (page.ts.length === 0) return;
      }
    } catch {
      // What is missing comes with the next event that is heard.
    } finally {
      this.isFetching = false;
    }
  }
}
