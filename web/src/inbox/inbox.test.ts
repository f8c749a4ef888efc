// The order of the questions, and what stays when they come and go.
import type { WaitingRun } from "@skillrun/client";
import { expect, test } from "vitest";
import { type Entry, begun, changed, keyOf, merged, pruned, without } from "./inbox.ts";

function waiting(run: string, deadline: string | null = null, interaction_id = 1): WaitingRun {
  const question = { interaction_id, deadline, on_deadline: deadline ? "auto_reply" : "wait" } as WaitingRun["question"];
  return { run_id: run, skill: "s", engine: "e", question };
}

const soon = "2026-01-01T00:01:00Z";
const later = "2026-01-01T00:02:00Z";
// Not in the order of their names.
const asked = new Map([["a", 1], ["b", 2], ["c", 3], ["d", 4], ["z", 0]]);

function around(held: string[] = [], now = 0, hasMore = false) {
  return { now, held: new Set(held), askedAt: (run: string) => asked.get(run), hasMore };
}

function runs(entries: readonly Entry[]): string {
  return entries.map((entry) => entry.waiting.run_id + (entry.goneAt === undefined ? "" : "!")).join(" ");
}

test("the nearest deadline is first, then those without one, the oldest first", () => {
  const list = merged([], [waiting("c"), waiting("b", later), waiting("a"), waiting("d", soon)], around());
  expect(runs(list)).toBe("d b a c");
  expect(runs(merged([], [waiting("a"), waiting("z"), waiting("b", soon), waiting("c", soon)], around()))).toBe("b c z a");
});

test("a run that the page has not heard of is as old as its id", () => {
  const [one, other] = ["019b76da-a800-7000-8000-000000000000", "019b76da-a801-7000-8000-000000000000"];
  expect(runs(merged([], [waiting(other), waiting(one), waiting("a")], around()))).toBe(`a ${one} ${other}`);
});

test("a more urgent question goes above the others, unless the user is writing there", () => {
  const first = merged([], [waiting("b"), waiting("c")], around());
  const fresh = [waiting("b"), waiting("c"), waiting("a", soon)];
  expect(runs(merged(first, fresh, around()))).toBe("a b c");
  expect(runs(merged(first, fresh, around([keyOf("b", 1)])))).toBe("b a c");
  expect(runs(merged(first, fresh, around([keyOf("c", 1)])))).toBe("b c a");
});

test("one that is gone leaves a line in its place, for a while", () => {
  const first = merged([], [waiting("a"), waiting("b"), waiting("c")], around());
  const second = merged(first, [waiting("a"), waiting("c")], around([], 1_000));
  expect(runs(second)).toBe("a b! c");
  expect(runs(pruned(second, around([], 60_999)))).toBe("a b! c");
  expect(runs(pruned(second, around([], 61_000)))).toBe("a c");
});

test("one that is not among the most urgent any more is not taken for gone", () => {
  const first = merged([], [waiting("a", soon), waiting("b", later), waiting("c")], around());
  const fresh = [waiting("d", soon), waiting("b", later)];
  expect(runs(merged(first, fresh, around([], 1_000, true)))).toBe("a! d b");
  expect(runs(merged(first, fresh, around([], 1_000, false)))).toBe("a! d b c!");
  expect(runs(merged(first, fresh, around([keyOf("c", 1)], 1_000, true)))).toBe("a! b c d");
});

test("the line does not last longer because others come", () => {
  const first = merged(merged([], [waiting("a")], around()), [], around([], 1_000));
  const second = merged(first, [waiting("b")], around([], 50_000));
  expect(second.find((entry) => entry.waiting.run_id === "a")?.goneAt).toBe(1_000);
});

test("a draft stays, however long ago the question went", () => {
  const held = [keyOf("a", 1)];
  const gone = merged(merged([], [waiting("a")], around(held)), [], around(held, 1_000));
  expect(runs(pruned(gone, around(held, 1e9)))).toBe("a!");
  expect(runs(pruned(gone, around([], 1e9)))).toBe("");
});

test("the next question of the same run is another one", () => {
  const first = merged([], [waiting("a", null, 1)], around());
  const second = merged(first, [waiting("a", null, 2)], around());
  expect(second.map((entry) => [entry.key, entry.goneAt])).toEqual([["a/1", 0], ["a/2", undefined]]);
});

test("nothing is there twice, and a list that says the same changes nothing", () => {
  const fresh = [waiting("a"), waiting("b")];
  const first = merged([], fresh, around());
  expect(merged(first, fresh, around())).toEqual(first);
  expect(runs(merged([], [...fresh, waiting("a")], around()))).toBe("a b");
});

test("one that waits after all is open again", () => {
  const gone = merged(merged([], [waiting("a")], around()), [], around());
  expect(runs(merged(changed(gone, "a/1", { late: { is: "closed" } }), [waiting("a")], around()))).toBe("a");
});

test("lines are bounded; the oldest go", () => {
  const many = Array.from({ length: 50 }, (_, index) => waiting(`r${index + 10}`));
  let list = merged([], many, around());
  for (let left = 49; left >= 0; left -= 1) list = merged(list, many.slice(0, left), around([], 100 - left));
  expect(list).toHaveLength(20);
  expect(runs(list)).toContain("r10!");
  expect(runs(list)).not.toContain("r59!");
});

test("entries are changed and taken away by key", () => {
  const list = merged([], [waiting("a"), waiting("b")], around());
  expect(changed(list, "b/1", { isMine: true }).map((entry) => entry.isMine)).toEqual([false, true]);
  expect(runs(without(list, "a/1"))).toBe("b");
});

test("an id says when its run began", () => {
  expect(new Date(begun("019b76da-a800-7000-8000-000000000000")).toISOString()).toBe("2026-01-01T00:00:00.000Z");
  expect(begun("no id")).toBe(0);
});
