// Times, sizes and counts as people read them.
import { expect, test } from "vitest";
import { fromNow, lasting, short, size } from "./time.ts";

test.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [1_000, "1.0 s"],
  [9_999, "9.9 s"],
  [10_000, "10 s"],
  [59_999, "59 s"],
  [60_000, "1 min"],
  [61_000, "1 min 1 s"],
  [3_600_000, "1 h"],
  [90_061_000, "1 d 1 h"],
])("%i ms last %s", (ms, words) => {
  expect(lasting("en", ms)).toBe(words);
});

test("before and after now, and in Chinese", () => {
  expect(fromNow("en", 1_000, 61_000)).toBe("1 min ago");
  expect(fromNow("en", 61_000, 1_000)).toBe("in 1 min");
  expect(fromNow("en", 1_000, 1_500)).toBe("now");
  expect(fromNow("zh", 0, 7_200_000)).toBe("2 小时前");
});

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1_000, "1.0 kB"],
  [99_999, "99.9 kB"],
  [999_999, "999 kB"],
  [1_000_000, "1.0 MB"],
  [2_500_000_000_000_000, "2500 TB"],
])("%i bytes are %s", (bytes, words) => {
  expect(size(bytes)).toBe(words);
});

test("counts of tokens are short", () => {
  expect([950, 12_345, 4_100_000].map(short)).toEqual(["950", "12.3 k", "4.1 M"]);
});
