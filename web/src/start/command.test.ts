// The command that does what the form does, and the engines it can choose from.
import type { Engine } from "@skillrun/client";
import { expect, test } from "vitest";
import { fitting, modesFor, obvious, searched } from "./choices.ts";
import { command } from "./command.ts";

const none = new Map<string, string>();

test("a command says what the form says", () => {
  const request = { skill: "s", engine: "e", mode: "interactive", model: "m 1", input: { version: "2.0", n: 3, list: ["a"], text: "it's" }, parameter: { lang: "de" } } as const;
  expect(command({ ...request, input: { ...request.input, list: ["a"] }, options: { hard_timeout_sec: 60, default_decision_policy: "abort", interactive_require_user_reply: false, snapshot: "off" } }, new Map([["table", "my table.csv"]]))).toBe(
    `skillrun run s --engine e --mode interactive --model 'm 1' --input 'version="2.0"' --input n=3 --input 'list=["a"]' --input 'text=it'\\''s' --param lang=de --file 'table=my table.csv' --timeout 60 --no-reply-needed --decide abort --no-snapshot`,
  );
  expect(command({ skill: "s" }, none)).toBe("skillrun run s");
  expect(command({ skill: "s", options: { require_marker: true } }, none)).toBe("skillrun run s --require-marker=true");
  expect(command({ skill: "s", options: { require_marker: false } }, none)).toBe("skillrun run s --require-marker=false");
});

test("a prompt in auto mode is one command", () => {
  const request = { prompt: "Why is it blue?", engine: "e", mode: "auto", model: "m" } as const;
  expect(command({ ...request, options: { permission: "read_only", stall_timeout_sec: 5 } }, new Map([["table", "a b.csv"]]))).toBe("skillrun ask 'Why is it blue?' --engine e --model m --file 'a b.csv' --permission read_only --stall 5");
  expect(command({ prompt: "Why?" }, none)).toBe("skillrun ask 'Why?'");
});

test("a box is said for a skill and for a prompt", () => {
  const options = { box: "required", network: "none" } as const;
  expect(command({ prompt: "Why?", options }, none)).toBe("skillrun ask 'Why?' --box required --network none");
  expect(command({ skill: "s", options }, none)).toBe("skillrun run s --box required --network none");
});

test.each([
  [{ mode: "interactive" }],
  [{ mode: "conversation" }],
  [{ prompt: "" }],
  [{ prompt: "-" }],
  [{ prompt: "two\nlines" }],
  [{ options: { snapshot: "off" } }],
] as const)("what cannot be asked in one command is not: %o", (change) => {
  expect(command({ prompt: "Why?", ...change }, none)).toBeUndefined();
});

test("nothing in it is hidden", () => {
  expect(command({ skill: "s", input: { t: "a\nb", u: "\u202ex" } }, none)).toBe(`skillrun run s --input 't="a\\nb"' --input 'u="\\u202ex"'`);
  expect(command({ skill: "s\u202e" }, none)).toBeUndefined();
});

test.each([
  [{ input: { "a=b": 1 } }],
  [{ input: { "": 1 } }],
  [{ input: { "--data": "x" } }],
  [{ model: "-x" }],
  [{ input: { long: "x".repeat(3_000) } }],
  [{ options: { auto_decision_limit: 3 } }],
  [{ options: { interactive_require_user_reply: true } }],
])("what cannot be said is not said: %o", (change) => {
  expect(command({ skill: "s", ...change }, none)).toBeUndefined();
});

function engine(name: string, change: Partial<Engine> = {}): Engine {
  return { name, program: `/bin/${name}`, continuation: "resumable", ...change } as Engine;
}

test("engines that fit, the installed ones first", () => {
  const engines = [engine("a", { program: null }), engine("b"), engine("c"), engine("d")];
  const names = (list: readonly Engine[]) => list.map(({ name }) => name);
  expect(names(fitting(engines, { engines: [], unsupported_engines: ["c"] }))).toEqual(["b", "d", "a"]);
  expect(names(fitting(engines, { engines: ["a", "d"], unsupported_engines: [] }))).toEqual(["d", "a"]);
  expect(obvious(fitting(engines, { engines: ["a", "d"], unsupported_engines: [] }))).toBe("d");
  expect(obvious(engines)).toBe("");
  expect(obvious([engine("a", { program: null })])).toBe("");
});

test("an engine that cannot go on is not asked to ask", () => {
  expect(modesFor(["interactive", "auto"], engine("a", { continuation: "none" }))).toEqual(["auto"]);
  expect(modesFor(["interactive", "auto"], engine("a"))).toEqual(["interactive", "auto"]);
  expect(modesFor(["interactive"], undefined)).toEqual(["interactive"]);
});

test("a search finds all its words", () => {
  const skills = [{ name: "count-words", description: "Counts the words" }, { name: "name-it", description: "Finds a name" }];
  expect(searched(skills, "WORDS count").map(({ name }) => name)).toEqual(["count-words"]);
  expect(searched(skills, "  ")).toHaveLength(2);
});
