// The view of the evidence: which file, in which form, and where the mark and the cursor are.
import type { RaspEvent } from "@skillrun/client";
import { sentence, service } from "../../service/service.ts";
import type { RunPage } from "../run-page.svelte.ts";
import { ByteFile } from "./byte-file.svelte.ts";
import { find } from "./bytes.ts";
import type { Range, View } from "./pieces.ts";
import { STREAMS, type Span, type StreamName, bySpecificity, spansOf } from "./spans.ts";

export type Shown = View | "terminal";

/** What came of looking for the event of a byte. */
export type Finding =
  | { kind: "looking" }
  | { kind: "none"; offset: number }
  | { kind: "elsewhere" }
  | { kind: "found"; events: readonly RaspEvent[]; isCut: boolean }
  | { kind: "failed"; sentence: string };

export class Evidence {
  shown = $state<Shown>("rendered");
  isWrapped = $state(true);
  file = $state.raw<ByteFile | undefined>();
  /** The byte the cursor is on. */
  cursor = $state(0);
  /** Where the view should go next; each wish is a new object. */
  wish = $state.raw<Range | undefined>();
  finding = $state.raw<Finding | undefined>();
  /** What a search has found. */
  hit = $state.raw<Range | undefined>();
  isMissed = $state(false);

  readonly spans = $derived.by(() => (this.page.selectedEvent ? spansOf(this.page.selectedEvent) : []));
  /** Pieces of the selected event in the file that is shown, or the bytes that were asked for where no event is selected. */
  readonly marks = $derived.by(() => {
    const asked = this.page.selected === undefined && this.page.wanted ? [this.page.wanted] : this.spans;
    return asked.filter((span) => span.attempt === this.file?.attempt && span.stream === this.file.stream);
  });
  readonly isMade = $derived.by(() => this.page.selectedEvent !== undefined && this.spans.length === 0);
  /** Which of the pieces is named. */
  pieceNumber = $state(0);
  readonly piece = $derived<Span | undefined>(this.marks[this.pieceNumber] ?? this.marks[0]);

  /** The event that was found by its byte: the view is already there. */
  private foundHere: number | undefined;
  /** The event that was selected, but not loaded, when the user went to a byte instead. */
  private leftBehind: number | undefined;

  constructor(readonly page: RunPage) {}

  /** The streams that an attempt has, with their sizes. */
  streamsOf(attempt: number): { name: StreamName; size: number }[] {
    const sizes = this.page.attempts.find(({ number }) => number === attempt)?.streams;
    return STREAMS.flatMap((name) => {
      const size = sizes?.[name];
      return size === null || size === undefined ? [] : [{ name, size }];
    });
  }

  /** Looks at another file. */
  open(attempt: number, stream: StreamName, place: Range = { from: 0, to: 1 }): void {
    const { file } = this;
    if (file?.attempt === attempt && file.stream === stream) {
      this.wish = place;
      return;
    }
    file?.close();
    const size = this.streamsOf(attempt).find(({ name }) => name === stream)?.size ?? 0;
    this.file = new ByteFile(this.page.id, attempt, stream, size);
    this.hit = undefined;
    this.finding = undefined;
    this.cursor = place.from;
    this.wish = place;
  }

  /** The other attempt, and of it the same stream if it has that. */
  openAttempt(attempt: number): void {
    const streams = this.streamsOf(attempt);
    const same = streams.find(({ name }) => name === this.file?.stream) ?? streams.find(({ size }) => size > 0) ?? streams[0];
    this.open(attempt, same?.name ?? "stdout");
  }

  /** Shows what was looked at last if nothing else is asked for: the last attempt. */
  openSomething(): void {
    const last = this.page.attempts.at(-1);
    if (!this.file && last && this.page.selectedEvent === undefined) this.openAttempt(last.number);
  }

  /** Goes to bytes that were asked for, and shows them as bytes. */
  show({ attempt, stream, from, to }: Span): void {
    if (this.shown === "terminal") this.shown = "rendered";
    this.finding = undefined;
    this.cursor = from;
    this.open(attempt, stream, { from, to });
  }

  /** Goes to the bytes of the selected event, in whatever file they are. */
  follow(event: RaspEvent): void {
    this.pieceNumber = 0;
    if (this.leftBehind === event.seq) return;
    this.leftBehind = undefined;
    const spans = spansOf(event);
    const here = spans.find((span) => span.attempt === this.file?.attempt && span.stream === this.file.stream);
    const target = here ?? spans[0];
    if (!target) {
      if (!this.file) this.openAttempt(event.attempt_number || (this.page.attempts.at(-1)?.number ?? 1));
      return;
    }
    if (this.foundHere === event.seq && here) return;
    this.finding = undefined;
    this.cursor = target.from;
    this.open(target.attempt, target.stream, { from: target.from, to: target.to });
  }

  stepPiece(step: 1 | -1): void {
    const count = this.marks.length;
    if (count === 0) return;
    this.pieceNumber = (this.pieceNumber + step + count) % count;
    const { from = 0, to = 1 } = this.piece ?? {};
    this.goTo(from, to);
  }

  goTo(offset: number, to = offset + 1): void {
    const last = Math.max(0, (this.file?.size ?? 0) - 1);
    this.cursor = Math.min(Math.max(0, Math.floor(offset)), last);
    this.wish = { from: this.cursor, to };
  }

  /** Finds the event that a byte went into, and selects the most specific. */
  async findEvent(offset: number): Promise<void> {
    const { file, page } = this;
    if (!file) return;
    const { attempt, stream } = file;
    this.cursor = offset;
    this.leftBehind = page.selectedEvent ? undefined : page.selected;
    if (stream === "pty" || stream === "stdin") {
      this.finding = { kind: "elsewhere" };
      return;
    }
    this.finding = { kind: "looking" };
    try {
      const { events, cut } = await service.eventsAt(page.id, { attempt, stream, offset });
      if (file !== this.file || offset !== this.cursor) return;
      const sorted = bySpecificity(events, stream);
      this.finding = sorted.length === 0 ? { kind: "none", offset } : { kind: "found", events: sorted, isCut: cut };
      if (sorted[0]) this.choose(sorted[0].seq);
    } catch (error) {
      if (file === this.file) this.finding = { kind: "failed", sentence: sentence(error) };
    }
  }

  choose(seq: number): void {
    this.foundHere = seq;
    this.page.select(seq);
  }

  /** Looks for a text in the part of the file that is here, around its end if need be. */
  search(text: string, direction: 1 | -1): void {
    const part = this.file?.part;
    const needle = new TextEncoder().encode(text);
    if (!part || needle.length === 0) return;
    const start = this.hit ? this.hit.from - part.base + direction : this.cursor - part.base;
    const edge = direction === 1 ? 0 : part.bytes.length - needle.length;
    const next = find(part.bytes, needle, Math.min(Math.max(start, 0), part.bytes.length), direction);
    const at = next < 0 ? find(part.bytes, needle, edge, direction) : next;
    this.isMissed = at < 0;
    this.hit = at < 0 ? undefined : { from: part.base + at, to: part.base + at + needle.length };
    if (this.hit) this.goTo(this.hit.from);
  }

  close(): void {
    this.file?.close();
  }
}
