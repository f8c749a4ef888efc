// Plays a recording on a screen. Time comes from outside, so the speed is controlled by the caller.
import { type Cast, countUntil } from "./cast.ts";

/** Something that shows what a terminal would. `done` is called once the text is on it. */
export interface Screen {
  reset(): void;
  write(text: string, done: () => void): void;
}

/** After a jump, this much output before the position is written again: far more than a screen and its history hold. */
const AGAIN_MOST = 4_000_000;
/** The amount written to the screen at once. */
const ONCE_MOST = 256_000;

export class Player {
  /** Where it stands, in milliseconds of the recording. */
  at = 0;
  /** How many outputs are on the screen, or on their way to it. */
  private written = 0;
  private isBusy = false;

  constructor(readonly cast: Cast, private readonly screen: Screen) {}

  get isAtEnd(): boolean {
    return this.at >= this.cast.length;
  }

  /** Goes to a moment. Going back rewrites the screen. */
  seek(at: number): void {
    this.at = Math.min(Math.max(0, at), this.cast.length);
    this.catchUp();
  }

  /** Lets time pass. A screen that is still busy is waited for. */
  advance(ms: number): void {
    if (!this.isBusy) this.seek(this.at + ms);
  }

  private catchUp(): void {
    // When the screen is done, it comes here again, and finds where it should be by then.
    if (this.isBusy) return;
    const wanted = countUntil(this.cast.outputs, this.at);
    if (wanted < this.written || this.sizeOf(this.written, wanted) > AGAIN_MOST) {
      this.screen.reset();
      this.written = this.beginFor(wanted);
    }
    let text = "";
    while (this.written < wanted && text.length < ONCE_MOST) {
      text += this.cast.outputs[this.written]?.text ?? "";
      this.written += 1;
    }
    if (text === "") return;
    this.isBusy = true;
    this.screen.write(text, () => {
      this.isBusy = false;
      this.catchUp();
    });
  }

  private sizeOf(from: number, to: number): number {
    let size = 0;
    for (let index = from; index < to && size <= AGAIN_MOST; index += 1) size += this.cast.outputs[index]?.text.length ?? 0;
    return size;
  }

  /** The first output to write for the state of the screen after this many outputs. */
  private beginFor(count: number): number {
    let [index, size] = [count, 0];
    while (index > 0 && size < AGAIN_MOST / 2) {
      index -= 1;
      size += this.cast.outputs[index]?.text.length ?? 0;
    }
    return index;
  }
}
