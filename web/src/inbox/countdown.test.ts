// What happens when no user answers, and how long that takes.
import { expect, test } from "vitest";
import { type Waiting, countdown, outcome, secondsLeft } from "./countdown.ts";

const birds = { value: "birds", label: "Birds", default: true };
const rivers = { value: "rivers", label: "Rivers" };

function question(change: Partial<Waiting>): Waiting {
  return {
    kind: "choose_one",
    options: [rivers, birds],
    deadline: "2026-01-01T00:00:42Z",
    on_deadline: "auto_reply",
    default_decision_policy: "safe_default",
    policy_source: "skill",
    ...change,
  };
}

const begin = Date.parse("2026-01-01T00:00:00Z");

test.each<[string, Partial<Waiting>, ReturnType<typeof outcome>]>([
  ["the marked option is sent", {}, { is: "sends", option: birds, source: "skill" }],
  ["no option is marked", { options: [rivers] }, { is: "judges_without_default" }],
  ["the agent decides", { default_decision_policy: "engine_judgement", policy_source: "request" }, { is: "judges", source: "request" }],
  ["the request ends the run", { default_decision_policy: "abort", policy_source: "request" }, { is: "aborts", source: "request" }],
  ["the skill ends the run", { default_decision_policy: "abort" }, { is: "aborts", source: "skill" }],
  ["a model cannot end a run", { default_decision_policy: "abort", policy_source: "model" }, { is: "judges", source: "default" }],
  ["a risk is never acknowledged by itself", { kind: "risk_ack" }, { is: "not_acknowledged" }],
  ["not even by the wish of the agent", { kind: "risk_ack", default_decision_policy: "abort", policy_source: "model" }, { is: "not_acknowledged" }],
  ["a request may end the run for a risk", { kind: "risk_ack", default_decision_policy: "abort", policy_source: "request" }, { is: "aborts", source: "request" }],
  ["a step of a workflow", { on_deadline: "hold_step" }, { is: "undecided" }],
  ["the process cannot wait", { on_deadline: "fail_run" }, { is: "fails" }],
  ["it waits", { on_deadline: "wait", deadline: null }, { is: "waits" }],
])("%s", (_, change, expected) => {
  expect(outcome(question(change))).toEqual(expected);
});

test("it counts down to the deadline, and then it is due", () => {
  const asked = question({});
  expect(countdown(asked, begin)).toMatchObject({ is: "running", left: 42_000 });
  expect(countdown(asked, begin + 41_999)).toMatchObject({ is: "running", left: 1 });
  expect(countdown(asked, begin + 42_000)).toMatchObject({ is: "due" });
  expect(countdown(asked, begin + 90_000)).toMatchObject({ is: "due" });
});

test.each<Partial<Waiting>>([{ deadline: null }, { deadline: "soon" }, { on_deadline: "wait" }])("without an end it is endless: %o", (change) => {
  expect(countdown(question(change), begin)).toEqual({ is: "endless" });
});

test("seconds are whole, and not none while there is time", () => {
  expect([42_000, 41_600, 41_400, 999, 1].map(secondsLeft)).toEqual([42, 42, 41, 1, 1]);
});
