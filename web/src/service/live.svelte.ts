// The runs of the service, kept up to date by one stream. The newest are here, and those that wait; older ones are asked
// for page by page.
import type { RunSummary } from "@skillrun/client";
import { isProblem, sentence, service } from "./service.ts";
import { type RunTable, applied, empty } from "./run-table.ts";
import { forgetSession, onSessionElsewhere } from "./session.ts";

/** `away`: there was a connection, and it is being looked for. */
export type Connection = "connecting" | "connected" | "away" | "refused";

/** The interval at which a hidden page asks how many questions wait. */
const UNSEEN_MS = 30_000;

/** Whether a run waits for the answer to a question. One that waits for the next prompt asks nothing. */
export function asks(run: Pick<RunSummary, "status" | "question">): boolean {
  return run.status === "waiting_user" && run.question?.scope !== "prompt";
}

class Live {
  table = $state.raw<RunTable>(empty());
  connection = $state<Connection>("connecting");
  /** Why the service does not let us in, or does not talk to us. */
  refusal = $state<string | undefined>();

  /** How many questions wait, while the page is hidden. */
  private unseen = $state<number | undefined>();

  /** Newest first. */
  readonly runs = $derived([...this.table.runs.values()]);
  readonly waiting = $derived(this.unseen ?? this.runs.filter(asks).length);

  private cursor: string | undefined;
  private following: AbortController | undefined;
  private timer: ReturnType<typeof setInterval> | undefined;
  private readonly stop = new AbortController();

  run(id: string): RunSummary | undefined {
    return this.table.runs.get(id);
  }

  /** Called once, when the page is shown. */
  begin(): void {
    document.addEventListener("visibilitychange", this.seen, { signal: this.stop.signal });
    onSessionElsewhere(() => this.again(), this.stop.signal);
    this.seen();
  }

  end(): void {
    this.stop.abort();
    this.following?.abort();
    clearInterval(this.timer);
  }

  /** Starts from scratch: a user signed in, or wants to try again. */
  async follow(): Promise<void> {
    this.following?.abort();
    const following = (this.following = new AbortController());
    if (this.connection === "refused") this.connection = "connecting";
    const connected = (is: boolean): void => {
      if (this.following !== following) return;
      if (is) this.connection = "connected";
      else if (this.connection === "connected" && !following.signal.aborted) this.connection = "away";
    };
    try {
      for await (const item of service.followRuns({ cursor: this.cursor, signal: following.signal, connected })) {
        this.cursor = item.id;
        this.table = applied(this.table, item);
      }
    } catch (error) {
      this.connection = "refused";
      this.refusal = isProblem(error, "UNAUTHORIZED") ? undefined : sentence(error);
    }
  }

  /** Logs out: the server refuses the token from now on, in every tab, and nothing of before is shown. */
  async logOut(): Promise<void> {
    try {
      await service.endSession();
    } catch (error) {
      // One that the server does not know is logged out already.
      if (!isProblem(error, "UNAUTHORIZED")) throw error;
    }
    forgetSession();
    this.again();
  }

  /** Another user may be signed in now. */
  private again(): void {
    this.table = empty();
    this.cursor = undefined;
    this.unseen = undefined;
    void this.follow();
  }

  /**
   * A browser has six connections to one server for all its tabs. A hidden page releases its own, asks now and then how
   * many questions wait, and resumes later where it was.
   */
  private readonly seen = (): void => {
    clearInterval(this.timer);
    if (document.hidden) {
      this.following?.abort();
      this.following = undefined;
      this.timer = setInterval(() => void this.count(), UNSEEN_MS);
    } else {
      this.unseen = undefined;
      if (!this.following) void this.follow();
    }
  };

  private async count(): Promise<void> {
    try {
      const { total } = await service.openInteractions({ limit: 1 }, { signal: this.stop.signal });
      if (document.hidden) this.unseen = total;
    } catch {
      // It is asked again.
    }
  }
}

export const live = new Live();
