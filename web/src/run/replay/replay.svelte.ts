// The replay of a run as it is loaded: once for each dialect that is chosen, and again when a turn has ended.
import type { Replay } from "@skillrun/client";
import { sentence, service } from "../../service/service.ts";
import type { Dialect } from "./replay.ts";

export class ReplayView {
  replay = $state.raw<Replay | undefined>();
  /** The dialect of `replay`. */
  shown = $state<Dialect | undefined>();
  trouble = $state<string | undefined>();
  private stop: AbortController | undefined;

  constructor(private readonly run: string) {}

  /** Loads a dialect; a request that is under way is given up. What was there stays until the answer is. */
  async load(dialect: Dialect): Promise<void> {
    this.stop?.abort();
    const { signal } = (this.stop = new AbortController());
    try {
      const replay = await service.replay(this.run, { ...(dialect === "items" ? {} : { dialect }), signal });
      if (signal.aborted) return;
      this.replay = replay;
      this.shown = dialect;
      this.trouble = undefined;
    } catch (error) {
      if (!signal.aborted) this.trouble = sentence(error);
    }
  }

  close(): void {
    this.stop?.abort();
  }
}
