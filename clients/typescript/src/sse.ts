// Server-sent events from bytes, however they are cut.

/** One event of a stream. */
export interface SseEvent {
  /** The last id the stream has given, this event's or an earlier one's. */
  id: string;
  event: string;
  data: string;
}

/** Longest line and longest event, in characters. No event of the service comes near it. */
const LONGEST = 64 * 1024 * 1024;

/** Takes bytes in pieces and gives whole events. Lines end in LF, CR or CRLF; an event ends with an empty line. */
export class SseParser {
  /** What the stream wants a client to wait before it comes again, in milliseconds. */
  retry: number | undefined;

  private readonly decoder = new TextDecoder("utf-8");
  private rest: string[] = [];
  private restLength = 0;
  private endedInCr = false;
  private id = "";
  private event = "";
  private data: string[] = [];
  private dataLength = 0;

  /** Events that are complete with these bytes. Bytes after the last empty line of a stream are not an event. */
  push(bytes: Uint8Array): SseEvent[] {
    // The decoder drops a byte order mark at the beginning, and keeps a character that is cut.
    let text = this.decoder.decode(bytes, { stream: true });
    if (this.endedInCr && text.length > 0) {
      this.endedInCr = false;
      if (text.startsWith("\n")) text = text.slice(1);
    }
    const events: SseEvent[] = [];
    let start = 0;
    for (const end of text.matchAll(/\r\n|\r|\n/g)) {
      const line = this.rest.join("") + text.slice(start, end.index);
      this.rest = [];
      this.restLength = 0;
      start = end.index + end[0].length;
      const event = this.take(line);
      if (event) events.push(event);
    }
    this.endedInCr ||= text.endsWith("\r");
    this.keep(text.slice(start));
    return events;
  }

  private keep(piece: string): void {
    if (piece === "") return;
    this.rest.push(piece);
    this.restLength += piece.length;
    if (this.restLength > LONGEST) throw new Error("a line of the stream is too long to come from skillrun");
  }

  private take(line: string): SseEvent | undefined {
    if (line === "") return this.whole();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") {
      this.data.push(value);
      this.dataLength += value.length + 1;
      if (this.dataLength > LONGEST) throw new Error("an event of the stream is too long to come from skillrun");
    } else if (field === "event") {
      this.event = value;
    } else if (field === "id" && !value.includes("\0")) {
      this.id = value;
    } else if (field === "retry" && /^[0-9]{1,9}$/.test(value)) {
      this.retry = Number(value);
    }
    return undefined;
  }

  private whole(): SseEvent | undefined {
    const { id, event, data } = this;
    this.event = "";
    this.data = [];
    this.dataLength = 0;
    return data.length > 0 ? { id, event: event || "message", data: data.join("\n") } : undefined;
  }
}
