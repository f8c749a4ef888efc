// The parser of server-sent events: the same events however the bytes are cut.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type SseEvent, SseParser } from "../src/index.js";

const STREAM =
  "\uFEFFretry: 1500\n\n: a comment\n\nid: 1\nevent: run_event\ndata: {\"a\":\"ä€😀\"}\n\n" +
  "id: 2\r\nevent: run_event\r\ndata: one\r\ndata:two\r\ndata\r\n\r\n" +
  "data: without a name\r\r" +
  "event: nothing\n\n" +
  "id: 3\ndata:  two spaces\nunknown: field\nretry: soon\n\nid\ndata: no id\n\n" +
  "id: 4\ndata: never finished\n";

const EVENTS: SseEvent[] = [
  { id: "1", event: "run_event", data: '{"a":"ä€😀"}' },
  { id: "2", event: "run_event", data: "one\ntwo\n" },
  { id: "2", event: "message", data: "without a name" },
  { id: "3", event: "message", data: " two spaces" },
  { id: "", event: "message", data: "no id" },
];

function parse(pieces: Iterable<Uint8Array>): SseEvent[] {
  const parser = new SseParser();
  const events = [...pieces].flatMap((piece) => parser.push(piece));
  assert.equal(parser.retry, 1500);
  return events;
}

/** The same numbers in every run of the test. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
}

function* cut(bytes: Uint8Array, longest: number, random: () => number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + Math.floor(random() * longest);
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

const bytes = new TextEncoder().encode(STREAM);

test("all at once", () => {
  assert.deepEqual(parse([bytes]), EVENTS);
});

test("byte by byte", () => {
  assert.deepEqual(parse([...bytes].map((byte) => Uint8Array.of(byte))), EVENTS);
});

test("in pieces of any length, with empty ones between", () => {
  for (let seed = 1; seed <= 500; seed += 1) {
    const random = numbers(seed);
    const pieces = [...cut(bytes, 1 + (seed % 17), random)].flatMap((piece) => [piece, new Uint8Array()]);
    assert.deepEqual(parse(pieces), EVENTS, `seed ${seed}`);
  }
});

test("a line that never ends is given up", () => {
  const parser = new SseParser();
  const piece = new Uint8Array(8 * 1024 * 1024).fill(97);
  assert.throws(() => {
    for (let times = 0; times < 10; times += 1) parser.push(piece);
  }, /too long/);
});
