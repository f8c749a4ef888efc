// The inbox as it is kept: asked for at the beginning and whenever the live list says that something changed.
import type { WaitingRun } from "@skillrun/client";
import { asks, live } from "../service/live.svelte.ts";
import { sentence, service } from "../service/service.ts";
import { asked } from "./answer.svelte.ts";
import { drafts } from "./drafts.ts";
import { type Entry, type Surroundings, changed, keyOf, merged, pruned, without } from "./inbox.ts";
import { lateness } from "./late.ts";

/** Several runs often change at once. */
const SOON_MS = 120;
const AGAIN_MS = 2_000;

/** Forms are large; more of them come when asked for. */
const PAGE = 40;
/** The most that the service reports at once. */
const LIMIT = 500;

export class Inbox {
  entries = $state.raw<readonly Entry[]>([]);
  isKnown = $state(false);
  trouble = $state<string | undefined>();
  /** How many questions are asked for, and how many wait besides. */
  private most = $state(PAGE);
  private beyond = $state(0);

  /** Questions with something written for them, and the one where the focus is. */
  private typed = $state.raw<ReadonlySet<string>>(new Set());
  private focused: string | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isAsking = false;
  private isWanted = false;
  private isClosed = false;

  /** Which questions wait, as the live list says it: when this changes, it is time to look. */
  readonly signature = $derived(
    live.runs
      .filter(asks)
      .map((run) => keyOf(run.run_id, run.question?.interaction_id ?? 0))
      .join(" "),
  );
  readonly open = $derived(this.entries.filter((entry) => entry.goneAt === undefined).length + this.beyond);
  readonly shown = $derived(this.entries.slice(0, this.most));
  readonly hidden = $derived(this.entries.length - this.shown.length + this.beyond);

  isTyped(key: string): boolean {
    return this.typed.has(key);
  }

  wrote(key: string, isSomething: boolean): void {
    if (this.typed.has(key) === isSomething) return;
    const typed = new Set(this.typed);
    if (isSomething) typed.add(key);
    else typed.delete(key);
    this.typed = typed;
  }

  focus(key: string | undefined): void {
    this.focused = key;
  }

  /** An answer of ours was taken. */
  answered(key: string): void {
    this.wrote(key, false);
    this.entries = changed(this.entries, key, { isMine: true });
    this.lookSoon(0);
  }

  dismiss({ key, waiting }: Entry): void {
    this.wrote(key, false);
    drafts.drop(waiting.run_id, waiting.question.interaction_id);
    this.entries = without(this.entries, key);
  }

  showMore(): void {
    this.most += PAGE;
    this.lookSoon(0);
  }

  tick(now: number): void {
    this.entries = pruned(this.entries, { now, held: this.typed });
  }

  lookSoon(after = SOON_MS): void {
    if (this.isClosed) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.look(), after);
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private async look(): Promise<void> {
    if (this.isAsking) {
      this.isWanted = true;
      return;
    }
    this.isAsking = true;
    try {
      const { waiting, total } = await this.reported();
      this.entries = merged(this.entries, waiting, this.around(total > waiting.length));
      this.beyond = Math.max(0, total - waiting.length);
      this.isKnown = true;
      this.trouble = undefined;
      await this.tellGone();
    } catch (error) {
      if (!this.isKnown) this.trouble = sentence(error);
      this.lookSoon(AGAIN_MS);
    } finally {
      this.isAsking = false;
      if (this.isWanted) {
        this.isWanted = false;
        this.lookSoon(0);
      }
    }
  }

  /** The most urgent questions, page by page. */
  private async reported(): Promise<{ waiting: WaitingRun[]; total: number }> {
    const waiting: WaitingRun[] = [];
    for (let next = {}; ; ) {
      const limit = Math.min(this.most - waiting.length, LIMIT);
      const page = await service.openInteractions({ ...next, limit });
      waiting.push(...page.interactions);
      if (page.next_cursor === null || waiting.length >= this.most) return { waiting, total: page.next_cursor === null ? waiting.length : page.total };
      next = { cursor: page.next_cursor };
    }
  }

  private around(hasMore: boolean): Surroundings {
    const held = new Set(this.typed);
    if (this.focused !== undefined) held.add(this.focused);
    const askedAt = (run: string): number | undefined => {
      const at = Date.parse(live.run(run)?.updated_at ?? "");
      return Number.isNaN(at) ? undefined : at;
    };
    return { now: Date.now(), held, askedAt, hasMore };
  }

  private async tellGone(): Promise<void> {
    for (const { key, waiting } of this.entries.filter((entry) => entry.goneAt !== undefined && !entry.late)) {
      const history = await asked(waiting.run_id, waiting.question.interaction_id);
      const late = lateness(history, { status: live.run(waiting.run_id)?.status ?? undefined });
      this.entries = changed(this.entries, key, { late });
    }
  }
}
