// A form that is made again finds its answer; what was written outlives what was not.
import type { Interaction } from "@skillrun/client";
import { expect, test } from "vitest";
import { Drafts, MOST_DRAFTS } from "./drafts.ts";

const asked = (interaction_id: number): Interaction => ({ interaction_id }) as Interaction;

test("a question has one answer, however often its form is made", () => {
  const drafts = new Drafts();
  const answer = drafts.of("r", asked(1));
  answer.text = "rivers";
  expect(drafts.of("r", asked(1))).toBe(answer);
  expect(drafts.of("r", asked(2)).text).toBe("");
  expect(drafts.of("q", asked(1)).text).toBe("");
});

test("one that was taken or given up is forgotten", () => {
  const drafts = new Drafts();
  drafts.of("r", asked(1)).text = "rivers";
  drafts.drop("r", 1);
  expect(drafts.of("r", asked(1)).text).toBe("");
});

/** As many as there may be, the one of question 1 the oldest of them. */
function full(): { drafts: Drafts; write: (id: number) => void; isKept: (id: number) => boolean } {
  const drafts = new Drafts();
  const write = (id: number): void => void (drafts.of("r", asked(id)).text = `about ${id}`);
  // A look makes it the newest, so each test looks once at each.
  const isKept = (id: number): boolean => drafts.of("r", asked(id)).text === `about ${id}`;
  for (let id = 1; id <= MOST_DRAFTS; id += 1) write(id);
  return { drafts, write, isKept };
}

test("at the bound the oldest goes", () => {
  const { write, isKept } = full();
  write(100);
  expect([isKept(2), isKept(100), isKept(1)]).toEqual([true, true, false]);
});

test("one that is looked at again is not old", () => {
  const { write, isKept } = full();
  expect(isKept(1)).toBe(true);
  write(100);
  expect([isKept(1), isKept(2)]).toEqual([true, false]);
});

test("an empty one goes before all that were written", () => {
  const { drafts, write, isKept } = full();
  drafts.drop("r", 2);
  const empty = drafts.of("r", asked(200));
  write(100);
  expect(isKept(1)).toBe(true);
  expect(drafts.of("r", asked(200))).not.toBe(empty);
});

test("one that went while it was empty is kept once something is written", () => {
  const drafts = new Drafts();
  const answer = drafts.of("r", asked(0));
  for (let id = 1; id <= MOST_DRAFTS; id += 1) drafts.of("r", asked(id));
  answer.text = "rivers";
  drafts.keep(answer);
  expect(drafts.of("r", asked(0))).toBe(answer);
});
