// Recordings of a terminal are read, and tied to the time of the events.
import { expect, test } from "vitest";
import { type Cast, anchorsOf, castOf, countUntil, parseCast, realOf, unhidden } from "./cast.ts";
import { Player } from "./player.ts";
import { random } from "./testing.ts";

const HEAD = '{"version":3,"term":{"cols":80,"rows":24},"timestamp":1000,"title":"count on scripted"}';

function cast(...lines: string[]): Cast {
  const read = parseCast([HEAD, ...lines, ""].join("\n"));
  if (!read) throw new Error("no recording");
  return read;
}

test("a recording is read: what was written, and the markers of events", () => {
  const read = cast('[0.000000,"m","1 run.started"]', '[0.250000,"o","hello\\r\\n"]', '[1.5,"m","2 agent.message.final"]', '[0.000000,"x","0"]');
  expect(read).toEqual({
    columns: 80, rows: 24, begin: 1_000_000, length: 1_750,
    outputs: [{ at: 250, text: "hello\r\n" }],
    markers: [{ at: 0, seq: 1, type: "run.started" }, { at: 1_750, seq: 2, type: "agent.message.final" }],
    odd: 0, isCut: false,
  });
});

test.each(["", "no", "[]", "null", '{"version":2}', "<html>"])("what is none is none: %s", (text) => {
  expect(parseCast(text)).toBeUndefined();
});

test("odd lines are counted and change nothing", () => {
  const read = cast("nonsense", "{}", '[-1,"o","x"]', '["1","o","x"]', "[1]", '[1e999,"o","far"]', '[0.1,"o",{"a":1}]', '[0.1,"m","<img onerror=x>"]', '[0.1,"o","ok"]', '[0.1,"o');
  expect(read.outputs.map(({ text }) => text)).toEqual(["far", "ok"]);
  expect(read.markers).toEqual([]);
  expect(read.odd).toBe(7);
  expect(read.length).toBeLessThanOrEqual(86_400_000 + 300);
});

test("sizes of terminals that no one has are not taken", () => {
  for (const term of ['{"cols":0,"rows":-1}', '{"cols":1e9,"rows":1e9}', "null", '"x"', '{"cols":80.5,"rows":"24"}']) {
    expect(parseCast(`{"version":3,"term":${term}}\n`)).toMatchObject({ columns: 80, rows: 24, begin: 0 });
  }
});

test("more lines than are held are not held, and it says so", () => {
  const read = parseCast(`${HEAD}\n${'[0,"i",""]\n'.repeat(1_000_001)}`);
  expect(read?.isCut).toBe(true);
});

test("recording and real time are tied by the events, pauses and all", () => {
  const read = cast('[0,"m","1 run.started"]', '[2,"m","2 attempt.ended"]', '[5,"m","3 attempt.started"]', '[1,"o","x"]');
  const times = [10_000, 12_000, 3_612_000];
  const anchors = anchorsOf(read, (seq) => times[seq - 1]);
  expect([0, 1_000, 2_000, 7_000, 8_000].map((at) => realOf(anchors, at))).toEqual([10_000, 11_000, 12_000, 3_612_000, 3_613_000]);
  expect([10_000, 12_000, 3_612_000, 3_613_000].map((real) => castOf(anchors, real))).toEqual([0, 2_000, 7_000, 8_000]);
  expect(castOf(anchors, 5_000)).toBe(0);
});

test("without any event that is known, it is as late as it says", () => {
  const anchors = anchorsOf(cast('[1,"o","x"]'), () => undefined);
  expect(realOf(anchors, 1_000)).toBe(1_001_000);
  expect(castOf(anchors, 1_001_000)).toBe(1_000);
});

test("time never goes back, whatever the events say", () => {
  const next = random(5);
  for (let round = 0; round < 50; round += 1) {
    const lines = Array.from({ length: 30 }, (_, index) => `[${(next() * 3).toFixed(2)},"m","${index + 1} run.status"]`);
    const times = lines.map(() => Math.floor(next() * 100_000));
    const anchors = anchorsOf(cast(...lines), (seq) => times[seq - 1]);
    let last = -Infinity;
    for (let at = 0; at < 100_000; at += 777) {
      const real = realOf(anchors, at);
      expect(real).toBeGreaterThanOrEqual(last);
      expect(Number.isFinite(castOf(anchors, real))).toBe(true);
      last = real;
    }
  }
});

test("entries up to a moment are counted", () => {
  const list = [{ at: 1 }, { at: 2 }, { at: 2 }, { at: 5 }];
  expect([0, 1, 2, 4, 5, 9].map((at) => countUntil(list, at))).toEqual([0, 1, 3, 3, 4, 4]);
});

test("a terminal is given nothing that hides or turns around, and all else as it was", () => {
  expect(unhidden("a\u202eb\u200bc\ufeff")).toBe("a⟨U+202E⟩b⟨U+200B⟩c⟨U+FEFF⟩");
  expect(unhidden("\u001b[31mred\r\n👩‍👧 שלום")).toBe("\u001b[31mred\r\n👩‍👧 שלום");
});

/** A screen that finishes on command. */
class Paper {
  text = "";
  resets = 0;
  private done: (() => void)[] = [];
  reset(): void {
    this.text = "";
    this.resets += 1;
  }
  write(text: string, done: () => void): void {
    this.text += text;
    this.done.push(done);
  }
  finish(): void {
    for (let next = this.done.shift(); next; next = this.done.shift()) next();
  }
}

const letters = cast('[1,"o","a"]', '[1,"o","b"]', '[1,"o","c"]');

test("playing writes what comes, going back rewrites the screen", () => {
  const paper = new Paper();
  const player = new Player(letters, paper);
  player.seek(0);
  player.advance(1_000);
  paper.finish();
  player.advance(1_500);
  paper.finish();
  expect([paper.text, paper.resets, player.at]).toEqual(["ab", 0, 2_500]);
  player.seek(1_200);
  paper.finish();
  expect([paper.text, paper.resets]).toEqual(["a", 1]);
  player.seek(99_999);
  paper.finish();
  expect([paper.text, player.isAtEnd]).toEqual(["abc", true]);
});

test("a busy screen is waited for, and then shows where one has gone meanwhile", () => {
  const paper = new Paper();
  const player = new Player(letters, paper);
  player.seek(3_000);
  player.advance(500);
  player.seek(1_000);
  expect(paper.text).toBe("abc");
  paper.finish();
  expect([paper.text, player.at]).toEqual(["a", 1_000]);
});

test("a jump in a large recording writes a bounded part of it again", () => {
  const line = `[0.1,"o","${"x".repeat(100_000)}"]`;
  const paper = new Paper();
  const player = new Player(cast(...Array.from({ length: 200 }, () => line), '[0.1,"o","end"]'), paper);
  player.seek(player.cast.length);
  paper.finish();
  expect(paper.text.length).toBeLessThan(4_000_000);
  expect(paper.text.endsWith("end")).toBe(true);
});
