// One file of bytes that is looked at: its size, and the part of it that is here. It may be large, and may still grow.
import { ProblemError } from "@skillrun/client";
import { isProblem, sentence, service } from "../../service/service.ts";
import { BLOCK, Blocks, SHOWN, type Window, fromLine, slid, windowAround } from "./blocks.ts";
import type { Part } from "./bytes.ts";
import type { StreamName } from "./spans.ts";

/** `removed`: it existed once. `absent`: there is none. `away`: the server does not respond. */
export type Trouble = { kind: "removed" } | { kind: "absent" } | { kind: "away" } | { kind: "failed"; sentence: string };

export class ByteFile {
  size = $state(0);
  part = $state.raw<Part>({ base: 0, bytes: new Uint8Array() });
  trouble = $state.raw<Trouble | undefined>();
  isLoading = $state(false);
  /** Whether the service has reported anything about the file. */
  isKnown = $state(false);

  private window = $state.raw<Window>({ from: 0, to: 0 });
  private readonly blocks = new Blocks();
  private readonly stop = new AbortController();
  /** Only what was asked for last is shown. */
  private asked = 0;

  constructor(readonly run: string, readonly attempt: number, readonly stream: StreamName, size: number) {
    this.size = size;
  }

  get hasBefore(): boolean {
    return this.window.from > 0;
  }

  get hasAfter(): boolean {
    return this.window.to < this.size;
  }

  has(offset: number): boolean {
    return offset >= this.part.base && offset < this.part.base + this.part.bytes.length;
  }

  /** Brings the part around a byte here. */
  go(offset: number): Promise<void> {
    return this.show(windowAround(offset, this.size));
  }

  slide(direction: 1 | -1): Promise<void> {
    const next = slid(this.window, direction, this.size);
    return next.from === this.window.from && next.to === this.window.to ? Promise.resolve() : this.show(next);
  }

  /** Checks whether the file has grown. An empty file cannot be checked; a notification says when it is no longer empty. */
  async grow(): Promise<void> {
    if (this.isLoading || this.size === 0 || this.trouble?.kind === "removed" || this.trouble?.kind === "absent") return;
    try {
      const { total } = await this.ask({ from: this.size - 1, to: this.size + 1 });
      await this.reach(total);
    } catch (error) {
      // While the server does not respond, the loaded bytes stay; the next check updates them.
      if (error instanceof ProblemError) this.tell(error);
    }
  }

  /** The file is known to be so large. What is shown grows with it until it is a whole window. */
  async reach(size: number): Promise<void> {
    const before = this.size;
    this.size = Math.max(before, size);
    const isShort = this.size > before && this.window.to === before;
    if (this.trouble?.kind === "failed" || this.trouble?.kind === "away" || isShort) {
      await this.show({ from: this.window.from, to: Math.min(this.size, this.window.from + SHOWN * BLOCK) });
    }
  }

  close(): void {
    this.stop.abort();
  }

  private async show(window: Window): Promise<void> {
    const asked = (this.asked += 1);
    this.isLoading = true;
    const lead = window.from > 0 ? BLOCK : 0;
    const whole = { from: window.from - lead, to: window.to };
    try {
      for (const range of this.blocks.missing(whole)) {
        const { bytes, total } = await this.ask(range);
        this.blocks.put(range.from, bytes);
        if (asked !== this.asked) return;
        this.size = Math.max(this.size, total);
      }
      this.window = window;
      this.part = fromLine(this.blocks.part(whole), lead);
      this.trouble = undefined;
      this.isKnown = true;
    } catch (error) {
      if (asked === this.asked) this.tell(error);
    } finally {
      if (asked === this.asked) this.isLoading = false;
    }
  }

  private ask(range: Window): ReturnType<typeof service.raw> {
    const { attempt, stream } = this;
    return service.raw(this.run, { attempt, stream, ...range }, { signal: this.stop.signal });
  }

  private tell(error: unknown): void {
    if (this.stop.signal.aborted) return;
    this.isKnown = true;
    if (isProblem(error, "RANGE_NOT_SATISFIABLE")) return;
    if (isProblem(error, "EVIDENCE_REMOVED", "RUN_REMOVED")) this.trouble = { kind: "removed" };
    else if (isProblem(error, "NOT_FOUND", "RUN_NOT_FOUND")) this.trouble = { kind: "absent" };
    else if (error instanceof ProblemError) this.trouble = { kind: "failed", sentence: sentence(error) };
    else this.trouble = { kind: "away" };
  }
}
