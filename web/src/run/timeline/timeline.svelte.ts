// What the timeline of a run shows now: what was made from the outline, what is filtered, and which piece is in view.
import { clock } from "../../parts/clock.svelte.ts";
import type { RunPage } from "../run-page.svelte.ts";
import { barsOf } from "./bars.ts";
import { ALL, type Filter, shownOf } from "./filter.ts";
import { lanesOf } from "./lanes.ts";
import type { Waits } from "./notes.ts";
import { type View, panned, showing, wholeOf, within, zoomed } from "./scale.ts";
import { bandsOf, nextsOf, spansOf } from "./spans.ts";

export class Timeline {
  filter = $state.raw<Filter>(ALL);
  /** Whether the axis shows the time of day instead of the time since the start. */
  isClock = $state(false);
  /** The visible piece; undefined shows the whole run. */
  private chosen = $state.raw<View | undefined>();

  constructor(readonly page: RunPage) {}

  /** Read in everything that is made from the outline, which is one object that grows. */
  private readonly version = $derived.by(() => this.page.outlineVersion);
  readonly count = $derived.by(() => this.since(() => this.page.outline.length));
  readonly lanes = $derived.by(() => this.since(() => lanesOf(this.page.outline)));
  readonly shown = $derived.by(() => this.since(() => shownOf(this.page.outline, this.filter)));
  readonly bars = $derived.by(() => this.since(() => barsOf(this.page.outline)));
  readonly spans = $derived.by(() => this.since(() => spansOf(this.page.outline, this.page.attempts)));
  readonly nexts = $derived(nextsOf(this.spans, this.bars));
  readonly levels = $derived.by(() => this.since(() => this.levelCounts()));

  readonly start = $derived.by(() => this.since(() => this.page.outline.at[0] ?? 0));
  private readonly last = $derived.by(() => this.since(() => this.lastMoment()));
  /** More may come, and nothing that has come is missing: only then is a silence until now one. */
  readonly isLive = $derived.by(() => this.since(() => this.page.run !== undefined && !this.page.isOver && this.page.outline.isWhole));
  /** The end of the picture: the last event, or now while more may come. */
  readonly end = $derived(this.isLive ? Math.max(this.last, clock.now) : this.last);
  readonly bands = $derived.by(() => this.since(() => bandsOf(this.page.outline, this.spans, this.bars, this.end)));

  readonly waits = $derived.by(() => this.waiting());

  readonly whole = $derived(wholeOf(this.start, this.end));
  readonly view = $derived(this.chosen ? within(this.chosen, this.whole) : this.whole);
  readonly isWhole = $derived(this.chosen === undefined);

  look(view: View): void {
    const next = within(view, this.whole);
    this.chosen = next.to - next.from >= this.whole.to - this.whole.from ? undefined : next;
  }

  zoom(factor: number, at = (this.view.from + this.view.to) / 2): void {
    this.look(zoomed(this.view, this.whole, factor, at));
  }

  pan(ms: number): void {
    if (this.chosen) this.look(panned(this.view, this.whole, ms));
  }

  /** Makes sure that a moment can be seen. */
  reach(at: number): void {
    if (this.chosen) this.look(showing(this.view, this.whole, at));
  }

  lookAtAll(): void {
    this.chosen = undefined;
  }

  /** One attempt alone, and as large as it can be. */
  chooseAttempt(number: number | undefined): void {
    this.filter = { ...this.filter, attempt: number };
    const span = this.spans.find((one) => one.number === number);
    if (!span) this.lookAtAll();
    else this.look(wholeOf(span.from, span.to ?? this.end));
  }

  private since<Made>(make: () => Made): Made {
    void this.version;
    return make();
  }

  private waiting(): readonly Waits[] {
    if (!this.isLive) return [];
    return this.bars.filter((bar) => bar.kind === "question" && bar.to === undefined).map((bar) => ({ kind: "waits", from: bar.from, to: this.end }));
  }

  private lastMoment(): number {
    const { at, length } = this.page.outline;
    let last = at[0] ?? 0;
    for (let index = 1; index < length; index += 1) last = Math.max(last, at[index] ?? 0);
    return last;
  }

  private levelCounts(): readonly [number, number, number] {
    const counts: [number, number, number] = [0, 0, 0];
    const { levels, length } = this.page.outline;
    for (let index = 0; index < length; index += 1) counts[levels[index] === 2 ? 2 : levels[index] === 1 ? 1 : 0] += 1;
    return counts;
  }
}
