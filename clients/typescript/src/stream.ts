// Streams that resume where they were: after a lost connection, after a restart of the server, and never with an event
// twice.
import { ProblemError } from "./problem.js";
import { type SseEvent, SseParser } from "./sse.js";
import type { FcmpEvent, RaspEvent, RunSummary } from "./types.js";

export interface FollowOptions {
  /** The `id` of the last item you have; everything after it comes. */
  cursor?: string | undefined;
  /** Ends the stream at once, without an error. */
  signal?: AbortSignal | undefined;
  /** Called whenever the stream connects, and whenever it disconnects. */
  connected?: ((is: boolean) => void) | undefined;
}

/** An item of a stream of a run. `id` is the cursor to resume after it. */
export type StreamItem<Event> =
  | { type: "event"; id: string; event: Event }
  /** Forget all events you have: they come again from the first one. */
  | { type: "reset"; id: string };

/** Something the stream of all runs gives. */
export type RunsItem =
  | { type: "run"; id: string; run: RunSummary }
  | { type: "removed"; id: string; run_id: string }
  /** Forget all runs you have; these are the newest ones. */
  | { type: "reset"; id: string; runs: RunSummary[] };

/** Opens the stream after a cursor. */
export type Open = (cursor: string | undefined, signal: AbortSignal) => Promise<Response>;

const SHORTEST_WAIT = 250;
const LONGEST_WAIT = 10_000;

/** The server says something every 15 seconds. After this long without a byte the connection is taken for dead. */
const SILENCE = 45_000;

const RASP_ENDS = new Set<string>(["run.completed", "run.failed", "run.canceled"]);
const FCMP_ENDS = new Set<string>(["conversation.completed", "conversation.failed", "conversation.canceled"]);

export function followEvents(open: Open, options: FollowOptions): AsyncGenerator<StreamItem<RaspEvent>, void, undefined> {
  return follow(open, item<RaspEvent>, (item) => item.type === "event" && RASP_ENDS.has(item.event.event.type), options);
}

export function followChat(open: Open, options: FollowOptions): AsyncGenerator<StreamItem<FcmpEvent>, void, undefined> {
  return follow(open, item<FcmpEvent>, (item) => item.type === "event" && FCMP_ENDS.has(item.event.type), options);
}

export function followRuns(open: Open, options: FollowOptions): AsyncGenerator<RunsItem, void, undefined> {
  return follow(open, runsItem, () => false, options);
}

function item<Event>({ id, event, data }: SseEvent): StreamItem<Event> | undefined {
  if (event === "reset") return { type: "reset", id };
  const isOurs = event === "run_event" || event === "chat_event";
  return isOurs ? { type: "event", id, event: JSON.parse(data) as Event } : undefined;
}

function runsItem({ id, event, data }: SseEvent): RunsItem | undefined {
  switch (event) {
    case "run":
      return { type: "run", id, run: JSON.parse(data) as RunSummary };
    case "removed":
      return { type: "removed", id, ...(JSON.parse(data) as { run_id: string }) };
    case "reset":
      return { type: "reset", id, ...(JSON.parse(data) as { runs: RunSummary[] }) };
    default:
      return undefined;
  }
}

async function* follow<Item extends { type: string }>(
  open: Open,
  read: (event: SseEvent) => Item | undefined,
  isLast: (item: Item) => boolean,
  { cursor, signal, connected }: FollowOptions,
): AsyncGenerator<Item, void, undefined> {
  let last = cursor;
  let failures = 0;
  while (!signal?.aborted) {
    const connection = new Connection(signal);
    let shortest = SHORTEST_WAIT;
    try {
      const response = await connection.answer(open(last, connection.signal));
      if (response?.status === 204) return;
      if (response && !response.ok) {
        const error = await ProblemError.from(response);
        if (!mayPass(error.status)) throw error;
        shortest = (error.retryAfter ?? 0) * 1000;
      } else if (response) {
        const parser = new SseParser();
        connected?.(true);
        for await (const event of connection.events(response, parser)) {
          if (signal?.aborted) return;
          if (event.event !== "reset" && isKnown(event.id, last)) continue;
          const item = read(event);
          last = event.id;
          failures = 0;
          if (item) yield item;
          if (item && isLast(item)) return;
        }
        shortest = parser.retry ?? shortest;
      }
    } finally {
      connection.close();
      connected?.(false);
    }
    await pause(backoff(failures, shortest, Math.random()), signal);
    failures += 1;
  }
}

/** Doubles from the shortest wait on, between its half and its whole, so that clients do not come back all at once. */
export function backoff(failures: number, shortest: number, random: number): number {
  const floor = Math.min(Math.max(shortest, SHORTEST_WAIT), LONGEST_WAIT);
  const whole = Math.min(floor * 2 ** Math.min(failures, 10), LONGEST_WAIT);
  return Math.max(SHORTEST_WAIT, whole / 2 + (whole / 2) * random);
}

/** Whether an answer may be another one later. */
function mayPass(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

/** `42` and `42.3` are a number and an epoch of a run; `9f…-42` an epoch and a number of the list of runs. */
function place(id: string): { epoch: string; number: number } | undefined {
  const ofRun = /^(\d+)(?:\.(\d+))?$/.exec(id);
  if (ofRun) return { epoch: ofRun[2] ?? "1", number: Number(ofRun[1]) };
  const ofList = /^([0-9a-f]+)-(\d+)$/.exec(id);
  return ofList ? { epoch: ofList[1] ?? "", number: Number(ofList[2]) } : undefined;
}

/** Whether a client that has everything up to a cursor has this event. */
export function isKnown(id: string, cursor: string | undefined): boolean {
  const [one, other] = [place(id), cursor === undefined ? undefined : place(cursor)];
  return !!one && !!other && one.epoch === other.epoch && one.number <= other.number;
}

/** One connection: ends when the caller says so, when it is silent, and when it is closed. */
class Connection {
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly outer: AbortSignal | undefined) {
    outer?.addEventListener("abort", this.end, { once: true });
    this.heard();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The answer, or nothing where no connection came about. */
  async answer(opening: Promise<Response>): Promise<Response | undefined> {
    return opening.catch(() => undefined);
  }

  /** Events until the stream ends or breaks; both are the same for a client that reconnects with a cursor. */
  async *events(response: Response, parser: SseParser): AsyncGenerator<SseEvent, void, undefined> {
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream") || !response.body) throw await ProblemError.from(response);
    const reader = response.body.getReader();
    for (;;) {
      this.heard();
      const piece = await reader.read().catch(() => undefined);
      if (!piece || piece.done) return;
      // While the caller is busy nothing is read, and that does not count as silence of the server.
      clearTimeout(this.timer);
      yield* parser.push(piece.value);
    }
  }

  close(): void {
    clearTimeout(this.timer);
    this.outer?.removeEventListener("abort", this.end);
    this.controller.abort();
  }

  private readonly end = (): void => this.controller.abort();

  private heard(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.end, SILENCE);
  }
}

/** Waits, unless it is aborted. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done, { once: true });
  });
}
