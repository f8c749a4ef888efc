// Events linked to an event, and events that only seem to be.
import type { RaspEvent, RaspType } from "@skillrun/client";
import { expect, test } from "vitest";
import { type Made, fold } from "../timeline/made.ts";
import { type Known, MOST, MOST_OF_A_SORT } from "./builder.ts";
import { graphOf, wanted } from "./graph.ts";

const story: Made[] = [
  { at: 0, type: "run.started" }, // 1
  { at: 1, type: "attempt.started", attempt: 1 }, // 2
  { at: 2, type: "tool.call.started", attempt: 1, tool: "item_1" }, // 3
  { at: 3, type: "agent.message.delta", attempt: 1 }, // 4
  { at: 4, type: "tool.call.completed", attempt: 1, tool: "item_1" }, // 5
  { at: 5, type: "agent.message.final", attempt: 1 }, // 6
  { at: 6, type: "attempt.ended", attempt: 1 }, // 7
  { at: 6, type: "interaction.requested", attempt: 1, question: 1 }, // 8
  { at: 7, type: "interaction.timeout", attempt: 1, question: 1 }, // 9
  { at: 7, type: "interaction.auto_decision", attempt: 1, question: 1 }, // 10
  { at: 7, type: "interaction.replied", attempt: 1, question: 1 }, // 11
  { at: 8, type: "attempt.started", attempt: 2 }, // 12
  { at: 9, type: "tool.call.started", attempt: 2, tool: "item_1" }, // 13
  { at: 10, type: "tool.call.failed", attempt: 2, tool: "item_1" }, // 14
  { at: 11, type: "artifact.created", attempt: 2, file: "out/a.md" }, // 15
  { at: 12, type: "artifact.indexed", attempt: 2, file: "out/a.md" }, // 16
  { at: 13, type: "attempt.ended", attempt: 2 }, // 17
  { at: 13, type: "run.failed", attempt: 2 }, // 18
];

function event(seq: number, type: RaspType, data: object, correlation: object = {}): RaspEvent {
  return { seq, attempt_number: story[seq - 1]?.attempt ?? 0, event: { type }, data, correlation } as unknown as RaspEvent;
}

function known(selected: number, parts: Partial<Known> = {}): Known {
  return { outline: fold(story), selected, events: new Map(), retryOf: undefined, requestId: undefined, ...parts };
}

/** Edges as `3 result 5`. */
function edges(of: Known): string[] {
  return graphOf(of).edges.map(({ from, label, to }) => `${from} ${label} ${to}`.replaceAll("event ", ""));
}

test("a call stands between its attempt and its result, and a later call of the same id is not it", () => {
  const first = ["1 began 2", "2 judged 7", "2 called 3", "3 result 5"];
  expect(edges(known(3))).toEqual(first);
  expect(edges(known(5))).toEqual(first);
  expect(edges(known(14))).toEqual(["1 began 12", "12 judged 17", "17 ended 18", "12 called 13", "13 failed 14"]);
});

test("an id that comes again in one attempt is another call", () => {
  const outline = fold([
    { at: 0, type: "run.started" },
    { at: 1, type: "attempt.started", attempt: 1 },
    { at: 2, type: "tool.call.started", attempt: 1, tool: "a" },
    { at: 3, type: "tool.call.completed", attempt: 1, tool: "a" },
    { at: 4, type: "tool.call.started", attempt: 1, tool: "a" },
    { at: 5, type: "tool.call.failed", attempt: 1, tool: "a" },
  ]);
  expect(edges(known(6, { outline }))).toEqual(["1 began 2", "2 called 5", "5 failed 6"]);
  expect(edges(known(4, { outline }))).toEqual(["1 began 2", "2 called 3", "3 result 4"]);
});

test("an end in another attempt is not the end of this call", () => {
  const outline = fold([
    { at: 0, type: "run.started" },
    { at: 1, type: "attempt.started", attempt: 1 },
    { at: 2, type: "tool.call.started", attempt: 1, tool: "a" },
    { at: 3, type: "attempt.started", attempt: 2 },
    { at: 4, type: "tool.call.completed", attempt: 2, tool: "a" },
  ]);
  expect(edges(known(3, { outline }))).toEqual(["1 began 2", "2 called 3"]);
  expect(edges(known(5, { outline }))).toEqual(["1 began 4", "4 result 5"]);
});

test("a question leads over what became of it to the attempt it began", () => {
  expect(edges(known(10))).toEqual(["1 began 2", "2 judged 7", "2 asked 8", "8 expired 9", "9 decided 10", "10 answered 11", "11 next 12"]);
});

test("an answer inside a turn begins no attempt", () => {
  const events = new Map([[8, event(8, "interaction.requested", { scope: "call", prompt: "May I?" })]]);
  expect(edges(known(11, { events }))).not.toContain("11 next 12");
});

test("a file leads from its attempt to the file itself", () => {
  expect(edges(known(16))).toEqual(["1 began 12", "12 judged 17", "17 ended 18", "12 made 15", "15 kept 16", "16 file file"]);
  expect(graphOf(known(15)).nodes.at(-1)?.what).toEqual({ kind: "file", path: "out/a.md" });
});

test("a file that a call made hangs on the call", () => {
  const events = new Map([[15, event(15, "artifact.created", { path: "out/a.md", change: "created" }, { tool_call_id: "item_1", artifact_id: "out/a.md" })]]);
  expect(edges(known(15, { events }))).toEqual(expect.arrayContaining(["12 called 13", "13 made 15"]));
});

test("a part belongs to the message of the same id, and to no other", () => {
  const events = new Map([[4, event(4, "agent.message.delta", { message_id: "m1", text: "Hel" })], [6, event(6, "agent.message.final", { message_id: "m1", text: "Hello", partial: false })]]);
  expect(edges(known(4, { events }))).toEqual(["1 began 2", "2 judged 7", "2 said 4", "4 whole 6"]);
  expect(edges(known(6, { events }))).toEqual(edges(known(4, { events })));
  events.set(6, event(6, "agent.message.final", { message_id: "m2", text: "Bye", partial: false }));
  expect(edges(known(4, { events }))).toEqual(["1 began 2", "2 judged 7", "2 said 4"]);
});

test("an attempt shows what began it, what it did, and the message that is its answer", () => {
  const events = new Map([[7, event(7, "attempt.ended", { verdict: { answer_message_id: "m1", reason_code: "X" } })], [6, event(6, "agent.message.final", { message_id: "m1", text: "Hello", partial: false })]]);
  expect(edges(known(7, { events }))).toEqual(["1 began 2", "2 judged 7", "2 said 6", "6 answer 7", "2 asked 8", "2 called 3"]);
  expect(edges(known(12))).toEqual(["1 began 12", "12 judged 17", "17 ended 18", "8 answered 11", "11 next 12", "12 made 15", "12 called 13"]);
});

test("the run leads over its attempts to its end", () => {
  const chain = ["1 began 2", "2 judged 7", "7 next 12", "12 judged 17", "17 ended 18"];
  expect(edges(known(1))).toEqual(chain);
  expect(edges(known(18))).toEqual(chain);
});

test("where the run comes from stands before it", () => {
  const all = edges(known(1, { retryOf: "run-0", requestId: "r-7" }));
  expect(all.slice(0, 2)).toEqual(["run run-0 retried 1", "request accepted 1"]);
  const events = new Map([[1, event(1, "run.started", { retry_of: "run-9", skill: null }, { parent_run_id: "run-8" })]]);
  expect(edges(known(1, { events })).slice(0, 2)).toEqual(["run run-9 retried 1", "run run-8 child 1"]);
});

test("every event of a run has a graph with itself in it, and its edges lead to nodes", () => {
  for (let seq = 1; seq <= story.length; seq += 1) {
    const graph = graphOf(known(seq));
    const ids = new Set(graph.nodes.map((node) => node.id));
    expect(ids).toContain(`event ${seq}`);
    expect(graph.edges.every(({ from, to }) => ids.has(from) && ids.has(to))).toBe(true);
  }
});

test("what does not exist has no graph", () => {
  expect(graphOf(known(0)).nodes).toEqual([]);
  expect(graphOf(known(99)).nodes).toEqual([]);
});

test("of very many calls some are shown and the rest is counted", () => {
  const calls = Array.from({ length: 500 }, (_, index): Made => ({ at: index, type: "tool.call.started", attempt: 1, tool: `t${index}` }));
  const outline = fold([{ at: 0, type: "run.started" }, { at: 0, type: "attempt.started", attempt: 1 }, ...calls, { at: 999, type: "attempt.ended", attempt: 1 }]);
  const graph = graphOf(known(503, { outline }));
  expect(graph.nodes.filter(({ what }) => what.kind === "event" && what.type === "tool.call.started")).toHaveLength(MOST_OF_A_SORT);
  expect(graph.nodes.at(-1)?.what).toEqual({ kind: "more", count: 500 - MOST_OF_A_SORT });
  expect(graph.edges.at(-1)).toEqual({ from: "event 2", to: "more", label: "more" });
});

test("of very many attempts no more are shown than can be looked at, and the selected event is among them", () => {
  const attempts = Array.from({ length: 100 }, (_, index): Made[] => [{ at: index, type: "attempt.started", attempt: index + 1 }, { at: index, type: "attempt.ended", attempt: index + 1 }]).flat();
  const outline = fold([{ at: 0, type: "run.started" }, ...attempts, { at: 999, type: "run.failed", attempt: 100 }]);
  const graph = graphOf(known(202, { outline }));
  expect(graph.nodes).toHaveLength(MOST);
  expect(graph.nodes.map((node) => node.id)).toContain("event 202");
  expect(graph.nodes.at(-1)?.what).toEqual({ kind: "more", count: 202 - (MOST - 1) });
});

test("of a message in very many parts the selected one is shown", () => {
  const outline = fold([{ at: 0, type: "run.started" }, { at: 0, type: "attempt.started", attempt: 1 }, ...Array.from({ length: 30 }, (_, index): Made => ({ at: index, type: "agent.message.delta", attempt: 1 }))]);
  const events = new Map(Array.from({ length: 30 }, (_, index) => [index + 3, { ...event(index + 3, "agent.message.delta", { message_id: "m", text: "" }), attempt_number: 1 }]));
  const graph = graphOf(known(25, { outline, events }));
  expect(graph.edges).toContainEqual({ from: "event 2", to: "event 25", label: "said" });
  expect(graph.nodes.at(-1)?.what).toEqual({ kind: "more", count: 30 - MOST_OF_A_SORT });
});

test("what is not loaded is wanted, within bounds, and what is loaded is not", () => {
  const of = known(10);
  expect(wanted(of, graphOf(of), 99)).toEqual([10, 1, 2, 7, 8, 9, 11, 12]);
  expect(wanted(of, graphOf(of), 3)).toEqual([10, 1, 2]);
  const part = known(4, { events: new Map([[4, event(4, "agent.message.delta", { message_id: "m1", text: "" })]]) });
  expect(wanted(part, graphOf(part), 99)).toContain(6);
});

test("an event about a child leads to the child, or comes from it", () => {
  const outline = fold([{ at: 0, type: "run.started" }, { at: 1, type: "attempt.started", attempt: 1 }, { at: 2, type: "subagent.requested", attempt: 1 }, { at: 3, type: "subagent.ended", attempt: 1 }]);
  const events = new Map([[3, event(3, "subagent.requested", { child_run_id: "c" })], [4, event(4, "subagent.ended", { child_run_id: "c" })]]);
  expect(edges(known(3, { outline, events }))).toEqual(["1 began 2", "2 then 3", "3 child run c"]);
  expect(edges(known(4, { outline, events }))).toEqual(["1 began 2", "2 then 4", "run c ended 4"]);
});
