// The outline of all events, put together from pages.
import type { Outline as OutlinePage } from "@skillrun/client";
import { expect, test } from "vitest";
import { CATEGORIES, Outline, categoryOf } from "./outline.ts";
import { fold } from "./timeline/made.ts";

function page(first: number, last: number, parts: Partial<OutlinePage> = {}): OutlinePage {
  const count = last - first + 1;
  return {
    epoch: 1,
    last_seq: 100,
    first_seq: first,
    names: ["tool.call.started", "raw.stderr"],
    groups: [{ kind: "tool_call", id: "a" }],
    ts: Array.from({ length: count }, (_, index) => 1_000 + first + index),
    types: Array.from({ length: count }, (_, index) => index % 2),
    levels: Array.from({ length: count }, () => 1),
    attempts: Array.from({ length: count }, () => 3),
    groups_of: Array.from({ length: count }, (_, index) => (index % 2 === 0 ? 0 : null)),
    ...parts,
  };
}

test("an entry says what the page said of it", () => {
  const outline = new Outline();
  expect(outline.add(page(1, 2))).toBe(true);
  expect(outline.entry(1)).toEqual({ seq: 1, at: 1_001, type: "tool.call.started", category: "tool", level: 1, attempt: 3, group: { kind: "tool_call", id: "a" } });
  expect(outline.entry(2)).toMatchObject({ type: "raw.stderr", category: "raw", group: undefined });
  expect(outline.entry(0)).toBeUndefined();
  expect(outline.entry(3)).toBeUndefined();
});

test("pages number their names and groups for themselves", () => {
  const outline = new Outline();
  outline.add(page(1, 2));
  outline.add(page(3, 4, { names: ["raw.stderr", "tool.call.started"], groups: [{ kind: "interaction", id: "a" }, { kind: "tool_call", id: "a" }], groups_of: [1, 0] }));
  expect(outline.entry(3)).toMatchObject({ type: "raw.stderr", group: { kind: "tool_call" } });
  expect(outline.entry(4)).toMatchObject({ type: "tool.call.started", group: { kind: "interaction" } });
  expect(outline.groupOf[0]).toBe(outline.groupOf[2]);
});

test("what is there already changes nothing, and after a gap nothing is taken", () => {
  const outline = new Outline();
  outline.add(page(1, 10));
  expect(outline.add(page(5, 12))).toBe(true);
  expect(outline.length).toBe(12);
  expect(outline.entry(12)?.at).toBe(1_012);
  expect(outline.add(page(14, 15))).toBe(false);
  expect(outline.length).toBe(12);
  expect(outline.add(page(14, 13))).toBe(true);
});

test("a Log that lost events begins again", () => {
  const outline = new Outline();
  outline.add(page(1, 10));
  expect(outline.add(page(11, 12, { epoch: 2 }))).toBe(false);
  expect(outline.length).toBe(0);
  expect(outline.add(page(1, 4, { epoch: 2 }))).toBe(true);
  expect(outline.length).toBe(4);
});

test("it is complete when it has everything that was reported", () => {
  const outline = new Outline();
  expect(outline.isWhole).toBe(false);
  outline.add(page(1, 10, { last_seq: 12 }));
  expect(outline.isWhole).toBe(false);
  outline.add(page(11, 12, { last_seq: 12 }));
  expect(outline.isWhole).toBe(true);
  outline.clear();
  expect(outline.isWhole).toBe(false);
});

test("it grows beyond what was reserved", () => {
  const outline = fold(Array.from({ length: 5_000 }, (_, index) => ({ at: index, type: "raw.stdout" as const, attempt: 1 })));
  expect(outline.length).toBe(5_000);
  expect(outline.entry(4_999)).toMatchObject({ at: 4_998, attempt: 1 });
});

test.each([
  ["run.status", "lifecycle"],
  ["agent.message.delta", "agent"],
  ["interaction.timeout", "interaction"],
  ["tool.call.failed", "tool"],
  ["artifact.indexed", "artifact"],
  ["parser.error", "diagnostic"],
  ["engine.error", "diagnostic"],
  ["raw.stdout", "raw"],
  ["turn.usage", "runtime"],
  ["attempt.ended", "runtime"],
] as const)("%s is about %s", (type, category) => {
  expect(categoryOf(type)).toBe(category);
  expect(CATEGORIES).toContain(category);
});
