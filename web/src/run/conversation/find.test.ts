// The way from an event of the Log to its place in the conversation.
import { expect, test } from "vitest";
import { placeOf } from "./find.ts";

/** Of three events of the Log one is in the conversation. */
const log = Array.from({ length: 30_000 }, (_, index) => (index + 1) * 3);

test.each([3, 4, 299, 45_000, 89_999, 90_000, 1_000_000])("event %i of the Log is found nearby, in few steps", async (raspSeq) => {
  let asked = 0;
  const place = await placeOf(raspSeq, log.length, 100, (seq) => {
    asked += 1;
    return Promise.resolve(log[seq - 1]);
  });
  const really = Math.min(log.length, Math.max(1, Math.floor(raspSeq / 3)));
  expect(Math.abs(place - really)).toBeLessThanOrEqual(100);
  expect(asked).toBeLessThan(12);
});

test("a short conversation needs no question", async () => {
  await expect(placeOf(5, 8, 100, () => Promise.reject(new Error("asked")))).resolves.toBeLessThan(9);
});

test("what is not there any more ends the search", async () => {
  await expect(placeOf(50_000, 30_000, 10, () => Promise.resolve(undefined))).resolves.toBeLessThan(20);
});
