// Fields as agents describe them, well or badly, and the answer that is made from them.
import { expect, test } from "vitest";
import { answerOf, fieldsOf } from "./fields.ts";

function names(ui_hints: unknown, context: unknown = null, options: { value: string; label: string }[] = []): string[] {
  return fieldsOf({ ui_hints, context, options }).map(({ name }) => name);
}

test("fields are found wherever an agent puts them", () => {
  expect(names({ fields: ["host", { name: "port", type: "integer" }] })).toEqual(["host", "port"]);
  expect(names([{ id: "a" }, { key: "b" }])).toEqual(["a", "b"]);
  expect(names({ properties: { host: { type: "string" }, port: { type: "number" } } })).toEqual(["host", "port"]);
  expect(names(null, { fields: [{ label: "City" }] })).toEqual(["City"]);
  expect(names(null, null, [{ value: "city", label: "Your city" }])).toEqual(["city"]);
});

test("what is said about a field is used", () => {
  const [port, tls, notes, size] = fieldsOf({
    ui_hints: { fields: [
      { name: "port", label: "Port", type: "integer", description: "of the service", default: 8080 },
      { name: "tls", type: "boolean" },
      { name: "notes", type: "textarea" },
      { name: "size", options: [{ value: "s", label: "Small" }, "m", 3, null] },
    ] },
    context: null,
    options: [],
  });
  expect(port).toEqual({ name: "port", label: "Port", hint: "of the service", kind: "number", choices: [], begin: "8080" });
  expect(tls).toMatchObject({ kind: "yes_no", choices: ["yes", "no"], begin: "" });
  expect(notes?.kind).toBe("lines");
  expect(size?.choices).toEqual(["s", "m", "3"]);
});

test.each([
  [{ type: "boolean", default: true }, "yes"],
  [{ type: "boolean", default: "no" }, "no"],
  [{ type: "boolean", default: "perhaps" }, ""],
  [{ enum: ["s", "m"], default: "m" }, "m"],
  [{ enum: ["s", "m"], default: "xl" }, ""],
  [{ default: "anything" }, "anything"],
])("nothing is chosen beforehand that cannot be seen: %j", (said, begin) => {
  expect(fieldsOf({ ui_hints: { fields: [{ name: "a", ...said }] }, context: null, options: [] })[0]?.begin).toBe(begin);
});

test.each([undefined, null, 7, "fields", { colour: "red" }, { fields: 3 }, { fields: [null, 4, [], {}] }, [[]]])("a value that is not a field is passed over: %o", (hints) => {
  expect(names(hints)).toEqual([]);
});

test("hostile fields do no harm", () => {
  const many = Array.from({ length: 10_000 }, (_, index) => `f${index}`);
  expect(names({ fields: many })).toHaveLength(40);
  const [long] = fieldsOf({ ui_hints: { fields: [{ name: "x".repeat(1e6), label: "y".repeat(1e6) }] }, context: null, options: [] });
  expect(long?.name).toHaveLength(300);
  expect(names({ fields: ["a", "a", "two\nlines", " "] })).toEqual(["a", "two lines"]);
  expect(names(JSON.parse('{"fields": {"__proto__": {"type": "string"}, "constructor": {}}}'))).toEqual(["__proto__", "constructor"]);
});

test("an answer is lines that people and agents can read", () => {
  const fields = fieldsOf({ ui_hints: { fields: ["host", "port", "notes", "empty"] }, context: null, options: [] });
  const values = new Map([["host", " example.org "], ["port", "80"], ["notes", "one\ntwo"], ["empty", "  "]]);
  expect(answerOf(fields, values, " and hurry ")).toBe("host: example.org\nport: 80\nnotes:\n  one\n  two\n\nand hurry");
  expect(answerOf(fields, new Map(), "only this")).toBe("only this");
  expect(answerOf([], new Map(), " ")).toBe("");
});
