// A large file as a window of blocks that are fetched when they are looked at.
import { expect, test } from "vitest";
import { BLOCK, Blocks, SHOWN, fromLine, slid, windowAround } from "./blocks.ts";
import { encoded } from "./testing.ts";

const GIGA = 1_000_000_000;
const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

test("a small file is shown as a whole", () => {
  expect(windowAround(0, 970)).toEqual({ from: 0, to: 970 });
  expect(windowAround(300_000, 400_000)).toEqual({ from: 0, to: 400_000 });
  expect(windowAround(0, 0)).toEqual({ from: 0, to: 0 });
});

test("of a large one, a window around the byte", () => {
  const window = windowAround(GIGA / 2, GIGA);
  expect(window.to - window.from).toBe(SHOWN * BLOCK);
  expect(window.from % BLOCK).toBe(0);
  expect(GIGA / 2 - window.from).toBeGreaterThan(BLOCK);
  expect(windowAround(GIGA - 1, GIGA).to).toBe(GIGA);
});

test("sliding reaches both ends and stays there", () => {
  let window = windowAround(0, GIGA);
  expect(slid(window, -1, GIGA)).toEqual(window);
  for (let count = 0; count < 10_000; count += 1) {
    const next = slid(window, 1, GIGA);
    expect(next.from).toBeLessThanOrEqual(window.to);
    window = next;
  }
  expect(window.to).toBe(GIGA);
});

test("what is not here is asked for, neighbours at once; what is here is not", () => {
  const blocks = new Blocks();
  const window = { from: 0, to: 4 * BLOCK };
  expect(blocks.missing(window)).toEqual([window]);
  blocks.put(BLOCK, filled(BLOCK, 1));
  expect(blocks.missing(window)).toEqual([{ from: 0, to: BLOCK }, { from: 2 * BLOCK, to: 4 * BLOCK }]);
  blocks.put(0, filled(BLOCK, 0));
  blocks.put(2 * BLOCK, filled(2 * BLOCK, 2));
  expect(blocks.missing(window)).toEqual([]);
  expect(blocks.part(window).bytes.length).toBe(4 * BLOCK);
  expect([0, BLOCK, 3 * BLOCK].map((at) => blocks.part(window).bytes[at])).toEqual([0, 1, 2]);
});

test("a last block that has grown is asked for again", () => {
  const blocks = new Blocks();
  blocks.put(0, filled(10, 1));
  expect(blocks.missing({ from: 0, to: 10 })).toEqual([]);
  expect(blocks.missing({ from: 0, to: 20 })).toEqual([{ from: 0, to: 20 }]);
  expect(blocks.part({ from: 0, to: 20 }).bytes.length).toBe(10);
});

test("a bounded number of blocks is kept, those that were looked at last", () => {
  const blocks = new Blocks();
  for (let number = 0; number < 100; number += 1) blocks.put(number * BLOCK, filled(BLOCK, 1));
  expect(blocks.missing({ from: 0, to: BLOCK })).toHaveLength(1);
  expect(blocks.missing({ from: 36 * BLOCK, to: 100 * BLOCK })).toHaveLength(0);
  blocks.part({ from: 36 * BLOCK, to: 37 * BLOCK });
  blocks.put(100 * BLOCK, filled(BLOCK, 1));
  expect(blocks.missing({ from: 36 * BLOCK, to: 37 * BLOCK })).toHaveLength(0);
  expect(blocks.missing({ from: 37 * BLOCK, to: 38 * BLOCK })).toHaveLength(1);
});

test("a window begins with a line where one begins before it, else with a whole character", () => {
  expect(fromLine({ base: 100, bytes: encoded("end\nbegin next\n") }, 8)).toEqual({ base: 104, bytes: encoded("begin next\n") });
  const cut = fromLine({ base: 100, bytes: encoded("aaa😀b") }, 4);
  expect(cut).toEqual({ base: 107, bytes: encoded("b") });
  expect(fromLine({ base: 0, bytes: encoded("abc") }, 0).base).toBe(0);
});
