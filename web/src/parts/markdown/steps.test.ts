// A long message is shown step by step, and none of it is left out in the end.
import { expect, test } from "vitest";
import { parse } from "./parse.ts";
import { shown } from "./steps.ts";
import type { Tree } from "./tree.ts";

function asked(tree: Tree): number {
  let times = 0;
  while (!shown(tree, times).isAll) times += 1;
  return times;
}

test("a short message is there at once", () => {
  expect(shown(parse("Hello.\n\nAgain."), 0)).toMatchObject({ isAll: true, left: 0 });
});

test("a long one comes in steps, each with more than the one before, until all of it is there", () => {
  const tree = parse(Array.from({ length: 6_000 }, (_, index) => `**line** ${index}`).join("\n\n"));
  const times = asked(tree);
  expect(times).toBeGreaterThan(3);
  for (let time = 1; time <= times; time += 1) {
    const [before, now] = [shown(tree, time - 1), shown(tree, time)];
    expect(now.blocks.length + now.rest.length).toBeGreaterThan(before.blocks.length + before.rest.length);
  }
  const all = shown(tree, times);
  expect([all.blocks.length, all.rest]).toEqual([tree.blocks.length, tree.rest]);
  expect(shown(tree, 0).blocks.length).toBeLessThan(200);
});

test("one block that is too large is shown all the same", () => {
  expect(shown({ blocks: [{ is: "rule" }], weights: [5_000], rest: "" }, 0).blocks.length).toBe(1);
});
