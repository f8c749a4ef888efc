// The files that a run created and changed, loaded again whenever the run has made progress, and never twice at the
// same time.
import type { ArtifactList, Diff } from "@skillrun/client";
import { sentence, service } from "../../service/service.ts";

/** The interval between two checks of a run in progress. */
const PAUSE_MS = 1_000;

export class Files {
  diff = $state.raw<Diff | undefined>();
  artifacts = $state.raw<ArtifactList["artifacts"] | undefined>();
  /** Snapshots were turned off in the request. */
  isOff = $state(false);
  trouble = $state<string | undefined>();

  private readonly stop = new AbortController();
  private isLooking = false;
  private isWanted = false;

  constructor(private readonly run: string) {}

  close(): void {
    this.stop.abort();
  }

  async look(): Promise<void> {
    this.isWanted = true;
    if (this.isLooking) return;
    this.isLooking = true;
    while (this.isWanted && !this.stop.signal.aborted) {
      this.isWanted = false;
      await this.lookOnce();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    this.isLooking = false;
  }

  private async lookOnce(): Promise<void> {
    const { signal } = this.stop;
    try {
      const [diff, artifacts] = await Promise.all([service.diff(this.run, { signal }), service.artifacts(this.run, { signal })]);
      const isOff = diff.attempts.length === 0 && (await this.wasOff(signal));
      this.diff = diff;
      this.artifacts = artifacts.artifacts;
      this.isOff = isOff;
      this.trouble = undefined;
    } catch (error) {
      // What was there stays; the frame says that the server is away.
      if (!signal.aborted && !this.diff) this.trouble = sentence(error);
    }
  }

  /** Only to say why there is no list, so a missing answer is not a reason to show nothing. */
  private async wasOff(signal: AbortSignal): Promise<boolean> {
    try {
      return (await service.request(this.run, { signal })).options.snapshot === "off";
    } catch {
      return false;
    }
  }
}
