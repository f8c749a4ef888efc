// What a stream does with a server that breaks off, repeats itself, resets and refuses. The server is a function here.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProblemError, SkillrunClient } from "../src/index.js";
import { backoff, isKnown } from "../src/stream.js";

const RUN = "0198d5a0-0000-7000-8000-000000000000";

type Answer = (cursor: string | null, signal: AbortSignal) => Response;

/** A client whose requests are answered by these, in order; and the cursors it asked with. */
function answeredBy(...answers: Answer[]): { client: SkillrunClient; cursors: (string | null)[] } {
  const cursors: (string | null)[] = [];
  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const cursor = new URL(String(input)).searchParams.get("cursor");
    const answer = answers[cursors.length];
    cursors.push(cursor);
    assert.ok(answer, "one request too many");
    assert.ok(init?.signal);
    return answer(cursor, init.signal);
  };
  return { client: new SkillrunClient({ baseUrl: "http://127.0.0.1:1/", fetch }), cursors };
}

function event(id: string, type: string): string {
  return `id: ${id}\nevent: chat_event\ndata: ${JSON.stringify({ type, seq: Number.parseInt(id, 10) })}\n\n`;
}

const sse = (...parts: string[]): Answer => () =>
  new Response(parts.join(""), { headers: { "content-type": "text/event-stream" } });

/** Sends something and then nothing more, until it is stopped. */
const hanging = (...parts: string[]): Answer => (_, signal) => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(parts.join("")));
      signal.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
};

function problem(status: number, code: string, headers: Record<string, string> = {}): Answer {
  const body = { type: "about:blank", title: "", status, detail: "", code, retryable: false, next_action: "" };
  return () => new Response(JSON.stringify(body), { status, headers });
}

async function ids(client: SkillrunClient, cursor?: string): Promise<string[]> {
  const got: string[] = [];
  for await (const item of client.followChat(RUN, { cursor })) got.push(`${item.type} ${item.id}`);
  return got;
}

test("it resumes after a break, discards duplicates, and ends with the run", async () => {
  const { client, cursors } = answeredBy(
    sse(event("1", "assistant.message.final"), event("2", "assistant.message.final"), "id: 3\ndata: cut"),
    () => {
      throw new TypeError("connection refused");
    },
    problem(503, "STOPPING"),
    sse(event("2", "assistant.message.final"), event("3", "conversation.completed"), event("4", "never")),
  );
  assert.deepEqual(await ids(client), ["event 1", "event 2", "event 3"]);
  assert.deepEqual(cursors, [null, "2", "2", "2"]);
});

test("an event of a type that the client does not know is passed on, and ends nothing", async () => {
  const unknown = 'id: 3\nevent: later_event\ndata: not even JSON\n\n';
  const { client } = answeredBy(sse(event("1", "turn.paused"), event("2", "assistant.message.final"), unknown, event("4", "conversation.completed")));
  assert.deepEqual(await ids(client), ["event 1", "event 2", "event 4"]);
});

test("204 is the end", async () => {
  const { client, cursors } = answeredBy(() => new Response(null, { status: 204 }));
  assert.deepEqual(await ids(client, "7"), []);
  assert.deepEqual(cursors, ["7"]);
});

test("after a reset everything comes again", async () => {
  const reset = 'id: 0\nevent: reset\ndata: {"epoch":2,"last_seq":1}\n\n';
  const { client, cursors } = answeredBy(
    sse(reset, event("1.2", "assistant.message.final")),
    sse(event("2.2", "conversation.failed")),
  );
  assert.deepEqual(await ids(client, "9"), ["reset 0", "event 1.2", "event 2.2"]);
  assert.deepEqual(cursors, ["9", "1.2"]);
});

test("a refusal ends it with the problem", async () => {
  for (const [status, code] of [[401, "UNAUTHORIZED"], [403, "FORBIDDEN"], [404, "RUN_NOT_FOUND"], [410, "RUN_REMOVED"]] as const) {
    const { client } = answeredBy(problem(status, code));
    await assert.rejects(ids(client), (error) => error instanceof ProblemError && error.code === code && error.status === status);
  }
});

test("a page of a proxy is not a stream", async () => {
  const { client } = answeredBy(() => new Response("<html>", { headers: { "content-type": "text/html" } }));
  await assert.rejects(ids(client), ProblemError);
});

test("abort ends it at once, without an error", async () => {
  const controller = new AbortController();
  const { client, cursors } = answeredBy(hanging(event("1", "assistant.message.final")));
  const got: string[] = [];
  for await (const item of client.followChat(RUN, { signal: controller.signal })) {
    got.push(item.id);
    // While the next one is waited for.
    setImmediate(() => controller.abort());
  }
  assert.deepEqual([got, cursors.length], [["1"], 1]);
});

test("leaving the loop closes the connection", async () => {
  let connection: AbortSignal | undefined;
  const { client } = answeredBy((cursor, signal) => {
    connection = signal;
    return hanging(event("1", "assistant.message.final"))(cursor, signal);
  });
  for await (const _ of client.followChat(RUN)) break;
  assert.equal(connection?.aborted, true);
});

test("what is known is known by epoch and number", () => {
  assert.ok(isKnown("4", "4") && isKnown("3", "4.1") && isKnown("00ff-3", "00ff-3"));
  assert.ok(!isKnown("5", "4") && !isKnown("3.2", "4") && !isKnown("00fe-3", "00ff-3") && !isKnown("1", undefined));
});

test("waits grow, stay within their bounds, and are not all the same", () => {
  for (const random of [0, 0.5, 0.999]) {
    let before = 0;
    for (let failures = 0; failures < 40; failures += 1) {
      const wait = backoff(failures, 0, random);
      assert.ok(wait >= 250 && wait <= 10_000 && wait >= before);
      before = wait;
    }
    assert.ok(before >= 5000);
  }
  assert.notEqual(backoff(3, 0, 0), backoff(3, 0, 0.9));
  assert.ok(backoff(0, 1_000_000, 0.5) <= 10_000);
});
