// Looking at something again and again: one look at a time, so that an answer that was slow never comes after a newer
// one, and whoever asks during a look gets another one after it.
import type { Run } from "@skillrun/client";

/** As much of a run as is needed to tell which of two answers is the later one. */
export type Dated = Pick<Run, "status" | "updated_at">;

export class Looks {
  private working: Promise<void> | undefined;
  private isWanted = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private due = Infinity;
  private isClosed = false;

  constructor(
    private readonly work: () => Promise<void>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Looks, and ends after a look that began no earlier than this call. What the work throws is its own affair. */
  again(): Promise<void> {
    this.isWanted = true;
    return (this.working ??= this.all());
  }

  /** After so long, or earlier if that was asked for already; once, however often it is said. */
  soon(after: number): void {
    const due = this.now() + after;
    if (this.isClosed || this.due <= due) return;
    clearTimeout(this.timer);
    this.due = due;
    this.timer = setTimeout(() => {
      this.due = Infinity;
      void this.again();
    }, after);
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private async all(): Promise<void> {
    try {
      while (this.isWanted && !this.isClosed) {
        this.isWanted = false;
        await this.work();
      }
    } finally {
      this.working = undefined;
    }
  }
}

function isEnd(status: Dated["status"]): boolean {
  switch (status) {
    case "succeeded":
    case "failed":
    case "canceled":
      return true;
    case "queued":
    case "running":
    case "waiting_user":
    case null:
      return false;
  }
}

/** Which of two answers about one run holds: an end is never taken back, and else the one that is not older. */
export function later<Some extends Dated>(held: Some | undefined, fresh: Some): Some {
  if (!held || isEnd(fresh.status)) return fresh;
  if (isEnd(held.status)) return held;
  const [before, after] = [Date.parse(held.updated_at ?? ""), Date.parse(fresh.updated_at ?? "")];
  return after < before ? held : fresh;
}
