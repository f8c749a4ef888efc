// Which question has a form below the conversation, and how long it stays.
import type { Interaction } from "@skillrun/client";
import { expect, test } from "vitest";
import { type Form, MOST_KEPT, formsAfter, openOf, toldOf } from "./asked.ts";

const question = (id: number): Interaction => ({ interaction_id: id, prompt: "What?" }) as Interaction;
const shape = (forms: readonly Form[]): string[] => forms.map(({ question: { interaction_id: id }, closed }) => `${id} ${closed?.is ?? "open"}`);
const none = (): boolean => false;
const all = (): boolean => true;

test("a question is open only while the run waits", () => {
  expect(openOf({ status: "waiting_user", interaction: question(1) })?.interaction_id).toBe(1);
  expect(openOf({ status: "running", interaction: question(1) })).toBeUndefined();
  expect(openOf(undefined)).toBeUndefined();
});

test("a form with nothing in it goes with its question", () => {
  expect(shape(formsAfter(formsAfter([], question(1), none), undefined, none))).toEqual([]);
  expect(shape(formsAfter(formsAfter([], question(1), none), question(2), none))).toEqual(["2 open"]);
});

test("a draft stays when another user was quicker, and says so", () => {
  const kept = formsAfter(formsAfter([], question(1), all), undefined, all);
  expect(shape(kept)).toEqual(["1 closed"]);
  const told = toldOf(kept, 1, { is: "answered", reply: "yes" });
  expect(shape(formsAfter(told, question(2), all))).toEqual(["1 answered", "2 open"]);
  expect(shape(formsAfter(told, question(2), none))).toEqual(["2 open"]);
});

test("a report about a question that is still open changes nothing", () => {
  expect(shape(toldOf(formsAfter([], question(1), all), 1, { is: "timed_out" }))).toEqual(["1 open"]);
});

test("a limited number of forms is kept", () => {
  let forms: readonly Form[] = [];
  for (let id = 1; id <= MOST_KEPT + 3; id += 1) forms = formsAfter(forms, question(id), all);
  expect(shape(forms)).toEqual(["3 closed", "4 closed", "5 closed", "6 open"]);
});
