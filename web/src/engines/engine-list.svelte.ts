// The engines of the service: a quick answer first, then one with versions, for which every program is started once.
import type { EngineList } from "@skillrun/client";
import { sentence, service } from "../service/service.ts";

export class Engines {
  list = $state.raw<EngineList | undefined>();
  /** Programs are being asked for their versions. */
  isAsking = $state(false);
  trouble = $state<string | undefined>();
  private stop = new AbortController();

  async look(): Promise<void> {
    this.stop.abort();
    const { signal } = (this.stop = new AbortController());
    this.isAsking = true;
    try {
      if (!this.list) this.list = await service.engines({ signal });
      this.list = await service.engines({ probe: true, signal });
      this.trouble = undefined;
    } catch (error) {
      if (!signal.aborted) this.trouble = sentence(error);
    } finally {
      // A later look is not over because an earlier one is.
      if (!signal.aborted) this.isAsking = false;
    }
  }

  close(): void {
    this.stop.abort();
  }
}
