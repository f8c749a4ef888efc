// What became of a question is always stated; how a quicker answer is worded is up to the caller.
import { expect, test } from "vitest";
import type { Late } from "./late.ts";
import { told } from "./told.ts";
import { words } from "./words.ts";

const says = { answered: words.doneYou, decided: words.doneDecided };

test.each<[Late, string]>([
  [{ is: "answered", reply: "rivers" }, "You answered:"],
  [{ is: "decided", reply: "rivers" }, "Decided automatically:"],
  [{ is: "permitted", reply: "deny" }, "The permissions of the run decided:"],
  [{ is: "timed_out" }, "No user answered in time, and the run failed."],
  [{ is: "over", status: "canceled" }, "The run is over: canceled."],
  [{ is: "closed" }, "The question is no longer open."],
])("%j is stated", (late, text) => {
  expect(told("en", late, says)).toBe(text);
});
