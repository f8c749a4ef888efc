// One run as the page knows it: what all its panes show, and the one event that is selected in all of them.
import type { Attempt, Diagnosis, FcmpEvent, RaspEvent, Run, RunRequest } from "@skillrun/client";
import { isProblem, sentence, service } from "../service/service.ts";
import { CONDUCTOR } from "../words/states.ts";
import { Asking } from "./conversation/asked.svelte.ts";
import { Chat } from "./conversation/chat.svelte.ts";
import type { Span } from "./evidence/spans.ts";
import { Looks, later } from "./looks.ts";
import { Outline } from "./outline.ts";
import { Steps } from "./steps/steps.svelte.ts";

const OUTLINE_PAGE = 20_000;
/** The delay between a notification about the run and loading it again. */
const RUN_RELOAD_DELAY_MS = 250;
/** What did not come is asked for again after this long. */
const TRY_AGAIN_MS = 2_000;

/** How far something that was asked for has come. `missing`: the service has no such thing. */
export type Arrival = "loading" | "here" | "missing" | "failed";

export class RunPage {
  run = $state.raw<Run | undefined>();
  private told = $state.raw<Diagnosis | undefined>();
  /** Why the run is in its state; undefined while it describes a state other than that of the run. */
  readonly diagnosis = $derived(this.told?.status === this.run?.status ? this.told : undefined);
  /** As it was accepted; loaded where it is shown. */
  request = $state.raw<RunRequest | undefined>();
  attempts = $state.raw<readonly Attempt[]>([]);
  /** Whether it is known which attempts there are. */
  hasAttempts = $state(false);
  /** Why the run cannot be shown. */
  trouble = $state<string | undefined>();
  /** The run does not exist, or no longer exists. */
  isGone = $state(false);

  readonly chat: Chat;
  readonly asking: Asking;
  /** Of a workflow. */
  readonly steps: Steps;
  /** Rows of the conversation that the user has unfolded, by key, for as long as the run is shown. */
  unfolded = $state.raw<ReadonlySet<string>>(new Set());

  /** Changes whenever `outline` has grown; read it before the outline. */
  outlineVersion = $state(0);
  readonly outline = new Outline();
  outlineIs = $state<Arrival>("loading");

  /** The seq of the event that is selected, and the event once it is loaded. */
  selected = $state<number | undefined>();
  selectedEvent = $state.raw<RaspEvent | undefined>();
  selectedIs = $state<Arrival>("loading");

  /** Bytes to show, whatever event they belong to; each request is a new object. */
  wanted = $state.raw<Span | undefined>();

  /** Where the timeline and the terminal stand, in milliseconds since 1970. */
  moment = $state<number | undefined>();

  readonly isWorkflow = $derived(this.run?.engine === CONDUCTOR);
  readonly isOver = $derived(["succeeded", "closed", "failed", "canceled"].includes(this.run?.status ?? ""));

  private readonly stop = new AbortController();
  private readonly looks = new Looks(() => this.lookOnce());
  private outlineTimer: ReturnType<typeof setTimeout> | undefined;
  private selectedTimer: ReturnType<typeof setTimeout> | undefined;
  private isFetching = false;
  private hasBegun = false;
  private wantsOutline = false;
  private wantedSeq = 0;

  constructor(readonly id: string) {
    this.chat = new Chat(id, (events) => this.heard(events));
    this.asking = new Asking(id);
    this.steps = new Steps(id);
  }

  /** Loaded in the order of interest: the state, the end of the conversation, and then the reasons. */
  async begin(): Promise<void> {
    const run = this.lookAtRun();
    await this.chat.begin();
    await run;
    // The run may have ended between the two responses; events already in the conversation are not reported again.
    if (!this.isGone) await this.look();
    this.hasBegun = true;
    void this.fetchOutline();
  }

  close(): void {
    this.stop.abort();
    this.chat.close();
    this.looks.close();
    this.steps.close();
    clearTimeout(this.outlineTimer);
    clearTimeout(this.selectedTimer);
  }

  /** Selects an event everywhere; `undefined` selects nothing. */
  select(seq: number | undefined): void {
    if (seq === this.selected) return;
    this.selected = seq;
    this.selectedEvent = undefined;
    if (seq !== undefined) this.wanted = undefined;
    this.selectedIs = "loading";
    clearTimeout(this.selectedTimer);
    if (seq !== undefined) void this.loadSelected(seq);
  }

  /** Looks at the run again: its state, its verdict, its attempts. */
  look(): Promise<void> {
    return this.looks.again();
  }

  lookSoon(after: number): void {
    this.looks.soon(after);
  }

  /** The server is available again: missing parts are requested at once. */
  reconnected(): void {
    this.lookSoon(0);
    this.chat.reconnected();
    if (this.outlineIs === "failed") void this.fetchOutline();
    if (this.selectedIs === "failed" && this.selected !== undefined) void this.loadSelected(this.selected);
  }

  private async lookOnce(): Promise<void> {
    await this.lookAtRun();
    if (!this.isGone) await this.lookAtReasons();
  }

  /** The request never changes, so it is loaded once. */
  async loadRequest(): Promise<void> {
    this.request ??= await service.request(this.id, { signal: this.stop.signal });
  }

  private lookAtRun(): Promise<void> {
    return this.tried(async (signal) => {
      this.run = later(this.run, await service.getRun(this.id, { signal }));
      this.asking.update(this.run);
      if (this.isWorkflow) this.steps.soon(0);
      // Only such a run can continue another one.
      if (this.run.skill === null && this.run.mode === "conversation") await this.loadRequest();
    });
  }

  private lookAtReasons(): Promise<void> {
    return this.tried(async (signal) => {
      const [diagnosis, attempts] = await Promise.all([service.diagnosis(this.id, { signal }), service.attempts(this.id, { signal })]);
      this.told = diagnosis;
      this.attempts = attempts.attempts;
      this.hasAttempts = true;
      // The verdict shows the box of the run; where the request does not arrive, it is asked for with the next look.
      await this.loadRequest().catch(() => undefined);
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
      if (!this.isGone) this.lookSoon(TRY_AGAIN_MS);
    }
  }

  /** From now on the outline is kept up to date: a view that is built from it is open. */
  needOutline(): void {
    if (this.wantsOutline) return;
    this.wantsOutline = true;
    if (this.hasBegun) void this.fetchOutline();
  }

  private heard(events: readonly FcmpEvent[]): void {
    this.wantedSeq = Math.max(this.wantedSeq, events.at(-1)?.meta.rasp_seq ?? 0);
    this.lookSoon(RUN_RELOAD_DELAY_MS);
    if (this.hasBegun) void this.fetchOutline();
    if (this.selectedIs === "missing" && this.selected !== undefined && this.selected <= this.wantedSeq) void this.loadSelected(this.selected);
  }

  private async loadSelected(seq: number): Promise<void> {
    clearTimeout(this.selectedTimer);
    try {
      const page = await service.eventsHistory(this.id, { from_seq: seq, to_seq: seq, limit: 1 }, { signal: this.stop.signal });
      if (this.selected !== seq) return;
      this.selectedEvent = page.events[0];
      this.selectedIs = this.selectedEvent ? "here" : "missing";
    } catch {
      if (this.stop.signal.aborted || this.selected !== seq) return;
      this.selectedIs = "failed";
      if (!this.isGone) this.selectedTimer = setTimeout(() => void this.loadSelected(seq), TRY_AGAIN_MS);
    }
  }

  private async fetchOutline(): Promise<void> {
    if (this.isFetching || !this.wantsOutline) return;
    this.isFetching = true;
    clearTimeout(this.outlineTimer);
    try {
      for (;;) {
        const query = { from_seq: this.outline.length + 1, limit: OUTLINE_PAGE };
        const page = await service.outline(this.id, query, { signal: this.stop.signal });
        if (page.last_seq < this.outline.length) this.outline.clear();
        this.outline.add(page);
        this.outlineVersion += 1;
        this.outlineIs = this.outline.length > 0 ? "here" : "missing";
        if (this.outline.length >= Math.max(page.last_seq, this.wantedSeq)) return;
        if (page.ts.length === 0) return;
      }
    } catch {
      if (this.stop.signal.aborted) return;
      this.outlineIs = "failed";
      if (!this.isGone) this.outlineTimer = setTimeout(() => void this.fetchOutline(), TRY_AGAIN_MS);
    } finally {
      this.isFetching = false;
    }
  }
}
