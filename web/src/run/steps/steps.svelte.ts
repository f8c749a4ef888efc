// The steps of one workflow, loaded again when its run, or one of its children, has changed.
import type { WorkflowView } from "@skillrun/client";
import { sentence, service } from "../../service/service.ts";
import { Looks } from "../looks.ts";

/** What did not come is asked for again after this long. */
const TRY_AGAIN_MS = 2_000;
/** A large workflow is asked for less often: this many times as long as the last answer took. */
const REST = 4;

export class Steps {
  view = $state.raw<WorkflowView | undefined>();
  /** Why there is nothing to show. */
  trouble = $state<string | undefined>();

  private took = 0;
  private readonly stop = new AbortController();
  private readonly looks = new Looks(() => this.load());

  constructor(private readonly run: string) {}

  soon(after: number): void {
    this.looks.soon(Math.max(after, this.took * REST));
  }

  close(): void {
    this.stop.abort();
    this.looks.close();
  }

  private async load(): Promise<void> {
    const began = performance.now();
    try {
      this.view = await service.workflow(this.run, { signal: this.stop.signal });
      this.trouble = undefined;
    } catch (error) {
      if (this.stop.signal.aborted) return;
      this.trouble = sentence(error);
      this.soon(TRY_AGAIN_MS);
    }
    this.took = performance.now() - began;
  }
}
