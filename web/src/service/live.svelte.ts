// The runs of the service, kept up to date by one stream. The newest are here; older ones are asked for page by page.
import type { RunSummary } from "@skillrun/client";
import { isProblem, sentence, service } from "./service.ts";
import { type RunTable, applied, empty } from "./run-table.ts";

/** `away`: there was a connection, and it is being looked for. */
export type Connection = "connecting" | "connected" | "away" | "refused";

class Live {
  table = $state.raw<RunTable>(empty());
  connection = $state<Connection>("connecting");
  /** Why the service does not let us in, or does not talk to us. */
  refusal = $state<string | undefined>();

  /** Newest first. */
  readonly runs = $derived([...this.table.runs.values()]);
  readonly waiting = $derived(this.runs.filter((run) => run.status === "waiting_user").length);

  private stop: AbortController | undefined;

  run(id: string): RunSummary | undefined {
    return this.table.runs.get(id);
  }

  /** Follows until it is told to end; called once, when the page is shown. */
  async follow(): Promise<void> {
    this.stop?.abort();
    const stop = (this.stop = new AbortController());
    this.connection = "connecting";
    const connected = (is: boolean): void => {
      if (is) this.connection = "connected";
      else if (this.connection === "connected") this.connection = "away";
    };
    try {
      for await (const item of service.followRuns({ signal: stop.signal, connected })) {
        this.table = applied(this.table, item);
      }
    } catch (error) {
      this.connection = "refused";
      this.refusal = isProblem(error, "UNAUTHORIZED") ? undefined : sentence(error);
    }
  }

  end(): void {
    this.stop?.abort();
  }
}

export const live = new Live();
