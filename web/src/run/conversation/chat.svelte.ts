// The conversation of a run as it grows: its end first, earlier parts on request, and live after that.
import type { FcmpEvent } from "@skillrun/client";
import { sentence, service } from "../../service/service.ts";
import { placeOf } from "./find.ts";
import { type ChatWindow, NOTHING, PAGE, end, first, hasEarlier, hasLater, opened, withEarlier, withLater } from "./window.ts";

/** Live events are shown together, at this interval. */
const TOGETHER_MS = 60;

export class Chat {
  window = $state.raw<ChatWindow>(NOTHING);
  isLoaded = $state(false);
  isLoading = $state(false);
  trouble = $state<string | undefined>();

  readonly hasEarlier = $derived(hasEarlier(this.window));
  readonly hasLater = $derived(hasLater(this.window));

  private readonly stop = new AbortController();
  private fresh: FcmpEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private following: AbortController | undefined;
  private cursor: string | undefined;
  private isOver = false;
  /** What was asked for last and did not come. */
  private failed: (() => Promise<void>) | undefined;

  constructor(
    private readonly run: string,
    /** Called with live events, after they are in the window. */
    private readonly heard: (events: readonly FcmpEvent[]) => void,
  ) {}

  /** Loads the end and follows from there on. */
  async begin(): Promise<void> {
    await this.guarded(() => this.toEnd());
    document.addEventListener("visibilitychange", this.seen, { signal: this.stop.signal });
    this.seen();
  }

  close(): void {
    this.stop.abort();
    this.following?.abort();
    clearTimeout(this.timer);
  }

  earlier(): Promise<void> {
    return this.guarded(async () => {
      const to = first(this.window) - 1;
      if (to < 1) return;
      const page = await this.page(Math.max(1, to - PAGE + 1), to);
      this.window = withEarlier(this.window, page);
    });
  }

  later(): Promise<void> {
    return this.guarded(async () => {
      const from = end(this.window) + 1;
      const page = await this.page(from, from + PAGE - 1);
      // Only now: what came live meanwhile was counted.
      this.window = withLater(this.window, page);
    });
  }

  latest(): Promise<void> {
    return this.guarded(() => this.toEnd());
  }

  /** Asks once more for what did not come, and follows again if that has ended. */
  async again(): Promise<void> {
    this.trouble = undefined;
    if (this.failed) await this.guarded(this.failed);
    this.seen();
  }

  /** The server is available again. */
  reconnected(): void {
    if (this.trouble !== undefined) void this.again();
  }

  /** Makes sure that what was made from this event of the Log is held, if anything was. */
  around(raspSeq: number): Promise<void> {
    return this.guarded(async () => {
      const held = this.window.events;
      const [from, to] = [held[0]?.meta.rasp_seq ?? Infinity, held.at(-1)?.meta.rasp_seq ?? 0];
      if (raspSeq >= from && raspSeq <= to) return;
      const at = async (seq: number): Promise<number | undefined> => (await this.page(seq, seq))[0]?.meta.rasp_seq;
      const middle = await placeOf(raspSeq, this.window.last, PAGE / 4, at);
      const begin = Math.max(1, middle - PAGE / 2);
      const page = await this.page(begin, begin + PAGE - 1);
      this.window = opened(page, this.window.last);
    });
  }

  private async toEnd(): Promise<void> {
    let page = await service.chatHistory(this.run, { limit: PAGE }, { signal: this.stop.signal });
    if (page.next_cursor !== null) {
      const from = Math.max(1, page.last_seq - PAGE + 1);
      page = await service.chatHistory(this.run, { from_seq: from, limit: PAGE * 2 }, { signal: this.stop.signal });
    }
    this.window = opened(page.events, Math.max(page.last_seq, this.window.last));
    this.cursor = page.cursor;
    this.isLoaded = true;
  }

  private async page(from: number, to: number): Promise<FcmpEvent[]> {
    const query = { from_seq: from, to_seq: to, limit: PAGE };
    return (await service.chatHistory(this.run, query, { signal: this.stop.signal })).events;
  }

  private async guarded(work: () => Promise<void>): Promise<void> {
    if (this.isLoading) return;
    this.isLoading = true;
    try {
      await work();
      this.trouble = this.failed = undefined;
    } catch (error) {
      if (this.stop.signal.aborted) return;
      this.failed = work;
      this.trouble = sentence(error);
    } finally {
      this.isLoading = false;
    }
  }

  /** A browser has few connections: a hidden page releases its own, and resumes later where it was. */
  private readonly seen = (): void => {
    if (document.hidden) {
      this.following?.abort();
      this.following = undefined;
    } else if (!this.following && !this.isOver && !this.stop.signal.aborted) {
      void this.follow((this.following = new AbortController()));
    }
  };

  private async follow(until: AbortController): Promise<void> {
    try {
      for await (const item of service.followChat(this.run, { cursor: this.cursor, signal: until.signal })) {
        this.cursor = item.id;
        if (item.type === "reset") {
          this.fresh = [];
          this.window = NOTHING;
        } else {
          this.fresh.push(item.event);
          this.timer ??= setTimeout(() => this.show(), TOGETHER_MS);
        }
      }
      this.isOver ||= !until.signal.aborted;
    } catch (error) {
      if (until.signal.aborted) return;
      this.trouble = sentence(error);
      // So that it can be begun again.
      this.following = undefined;
    }
  }

  private show(): void {
    this.timer = undefined;
    const fresh = this.fresh;
    this.fresh = [];
    // A run whose beginning could not be loaded is whole all the same once it has been followed.
    this.window = withLater(this.window, fresh);
    this.isLoaded = true;
    this.heard(fresh);
  }
}
