// The replay as the pane shows it.
import { expect, test } from "vitest";
import { type ReplayItem, type ReplayTurn, lastTurns, renderedText, textOf } from "./replay.ts";

const turn = (number: number, items: number): ReplayTurn =>
  ({ turn: number, state: "completed", end_seq: number, items: Array.from({ length: items }, () => ({ type: "user", text: "x", origin: "user" })), left_out: [], hash: "" }) as ReplayTurn;

test("the last turns are shown, at least one, and those before them are counted", () => {
  const turns = [turn(1, 3), turn(2, 3), turn(3, 3)];
  const shown = (most: number): unknown => {
    const last = lastTurns(turns, most);
    return [last.turns.map((one) => one.turn), last.before];
  };
  expect(shown(100)).toEqual([[1, 2, 3], 0]);
  expect(shown(9)).toEqual([[1, 2, 3], 0]);
  expect(shown(8)).toEqual([[2, 3], 1]);
  expect(shown(1)).toEqual([[3], 2]);
  expect(lastTurns([], 5)).toEqual({ turns: [], before: 0 });
});

test("a text stays a text, and a request is JSON", () => {
  expect(renderedText("User: hi\n")).toBe("User: hi\n");
  expect(JSON.parse(renderedText({ messages: [{ role: "user" }] }))).toEqual({ messages: [{ role: "user" }] });
  expect(renderedText(undefined)).toBe("");
});

test("every item has its text", () => {
  const items: ReplayItem[] = [
    { type: "user", text: "a", origin: "user" },
    { type: "agent", text: "b" },
    { type: "tool_call", id: "1", name: "shell", input: { command: "ls" } },
    { type: "tool_call", id: "2", name: "shell" },
    { type: "tool_result", id: "1", outcome: "ok", output: "c" },
  ];
  expect(items.map(textOf)).toEqual(["a", "b", '{\n  "command": "ls"\n}', "", "c"]);
});
