// Runs older than those of the stream, page by page, for the current filter.
import type { RunSummary } from "@skillrun/client";
import { live } from "../service/live.svelte.ts";
import { sentence, service } from "../service/service.ts";
import { type Filter, MOST_OLDER, isAll, paged, queryOf, withoutRemoved } from "./list.ts";

const PAGE = 200;

export class Older {
  runs = $state.raw<ReadonlyMap<string, RunSummary>>(new Map());
  /** What the service gave for this filter. */
  found = $state.raw<ReadonlySet<string>>(new Set());
  isEnd = $state(false);
  /** Every existing run was reported once; from then on the stream reports the new ones. */
  isComplete = $state(false);
  isLoading = $state(false);
  trouble = $state<string | undefined>();
  readonly isFull = $derived(this.runs.size >= MOST_OLDER);

  private filter: Filter | undefined;
  private cursor: string | undefined;
  private stop = new AbortController();

  /** From the newest on again, for another filter. */
  begin(filter: Filter): void {
    this.close();
    this.stop = new AbortController();
    this.filter = filter;
    this.cursor = undefined;
    this.found = new Set();
    // A search is for the service all the same: it looks through the whole of a question.
    this.isEnd = this.isComplete && filter.q.trim() === "";
    this.isLoading = false;
    this.trouble = undefined;
  }

  close(): void {
    this.stop.abort();
  }

  removed(before: ReadonlyMap<string, RunSummary>, after: ReadonlyMap<string, RunSummary>): void {
    this.runs = withoutRemoved(this.runs, before, after);
  }

  /** Pages until something new comes: the first ones repeat runs of the stream. */
  async more(): Promise<void> {
    if (!this.filter || this.isLoading || this.isEnd || this.isFull) return;
    const { signal } = this.stop;
    this.isLoading = true;
    this.trouble = undefined;
    try {
      for (let isNew = false; !isNew && !this.isEnd; ) {
        const cursor = this.cursor === undefined ? {} : { cursor: this.cursor };
        const page = await service.listRuns({ ...queryOf(this.filter), ...cursor, limit: PAGE }, { signal });
        isNew = page.runs.some((run) => !live.run(run.run_id) && !this.runs.has(run.run_id));
        this.runs = paged(this.runs, page.runs);
        this.found = new Set([...this.found, ...page.runs.map((run) => run.run_id)]);
        this.cursor = page.next_cursor ?? undefined;
        this.isEnd = page.next_cursor === null;
        this.isComplete ||= this.isEnd && isAll(this.filter) && !this.isFull;
      }
    } catch (error) {
      if (!signal.aborted) this.trouble = sentence(error);
    } finally {
      if (!signal.aborted) this.isLoading = false;
    }
  }
}
