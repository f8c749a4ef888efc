// Polling: one request at a time, so that a slow response never arrives after a newer one; a poll that is asked for
// during a request follows after it.
import type { Run } from "@skillrun/client";

/** The part of a run that is needed to decide which of two responses is the later one. */
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

  /** After this time, or earlier if that was already requested; once, however often it is called. */
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
    case "closed":
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
