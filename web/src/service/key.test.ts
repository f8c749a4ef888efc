// The same thing keeps its key, another thing has another one, and no more are remembered than the bound.
import { expect, test, vi } from "vitest";
import { Keys, fileMark, freshKey } from "./key.ts";

function counting(): Keys {
  let count = 0;
  return new Keys(() => `key ${(count += 1)}`);
}

test("each thing has a key of its own, and keeps it whatever was tried between", () => {
  const keys = counting();
  const yes = keys.of(["yes", []]);
  expect(keys.of(["no", []])).not.toBe(yes);
  expect(keys.of(["yes", []])).toBe(yes);
});

test("another file is another thing", () => {
  const file = (text: string, lastModified: number): File => new File([text], "a.txt", { lastModified });
  const keys = counting();
  const one = keys.of(["yes", fileMark(file("one", 1))]);
  expect(keys.of(["yes", fileMark(file("one", 1))])).toBe(one);
  expect(keys.of(["yes", fileMark(file("one", 2))])).not.toBe(one);
  expect(keys.of(["yes", fileMark(file("longer", 1))])).not.toBe(one);
});

test("the oldest are forgotten, those that are used stay", () => {
  const keys = counting();
  const [used, unused] = [keys.of("used"), keys.of("unused")];
  for (let index = 0; index < 100; index += 1) {
    keys.of(index);
    expect(keys.of("used")).toBe(used);
  }
  expect(keys.of("unused")).not.toBe(unused);
});

test("a key is made where a page has no secure context", () => {
  vi.stubGlobal("crypto", { getRandomValues: (bytes: Uint8Array) => bytes.fill(10) });
  expect(freshKey()).toBe("0a".repeat(16));
  vi.unstubAllGlobals();
});
