// A form made from a schema: what it shows, what it sends, what it finds wrong.
import { expect, test } from "vitest";
import { type Drafts, begun, collected, pathsOf, placed } from "./form.ts";
import { type Field, type Json, fieldsOf } from "./schema.ts";

function fields(properties: object, rest: object = {}): readonly Field[] {
  return fieldsOf({ type: "object", properties, ...rest }, "input");
}

function control(schema: unknown): Field["control"] | undefined {
  return fields({ x: schema })[0]?.control;
}

function drafts(texts: Record<string, string>): Drafts {
  return new Map(Object.entries(texts));
}

/** What is sent when this is typed. */
function sent(schema: unknown, draft: string): Json | undefined {
  const { value, wrong } = collected(fields({ x: schema }), drafts({ "input.x": draft }), "input");
  return wrong.size > 0 ? `wrong: ${wrong.get("input.x")?.is}` : value["x"];
}

test.each<[unknown, string, Json | undefined]>([
  [{ type: "string" }, "007", "007"],
  [{ type: "string" }, "", undefined],
  [{ type: "string", minLength: 3 }, "ab", "wrong: too_short"],
  [{ type: "string", maxLength: 2 }, "👍👍", "👍👍"],
  [{ type: "string", maxLength: 2 }, "abc", "wrong: too_long"],
  [{ type: "integer" }, " 12 ", 12],
  [{ type: "integer" }, "1.5", "wrong: not_whole"],
  [{ type: "integer" }, "99999999999999999999", "wrong: not_whole"],
  [{ type: "number" }, "1.5e3", 1500],
  [{ type: "number" }, "0x10", "wrong: no_number"],
  [{ type: "number" }, "1,5", "wrong: no_number"],
  [{ type: "number" }, "1e999", "wrong: no_number"],
  [{ type: "number", minimum: 1 }, "0", "wrong: too_small"],
  [{ type: "number", maximum: 1 }, "2", "wrong: too_large"],
  [{ type: "number", minimum: 0 }, "0", 0],
  [{ type: "boolean" }, "false", false],
  [{ type: "boolean" }, "", undefined],
  [{ enum: ["de", "en", 3] }, "2", 3],
  [{ enum: ["de", "en"] }, "", undefined],
  [{ enum: ["de", "en"] }, "9", undefined],
  [{ const: "v1" }, "", "v1"],
  [{ type: "array", items: { type: "string" } }, "a\n\n b ", ["a", "b"]],
  [{ type: "array", items: { enum: ["x", "y", "z"] } }, "2\n0", ["x", "z"]],
  [{ type: "array", items: { type: "integer" } }, "[1, 2]", [1, 2]],
  [{ type: "array", items: { type: "integer" } }, "[1,", "wrong: no_json"],
  [{ type: ["string", "null"] }, "x", "x"],
  [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "4", 4],
  [{ anyOf: [{ type: "integer" }, { type: "string" }] }, '"4"', "4"],
  [{}, "{\"a\": 1}", { a: 1 }],
])("%o with %j sends %j", (schema, draft, expected) => {
  expect(sent(schema, draft)).toEqual(expected);
});

test("formats choose how a text is typed", () => {
  const look = (schema: object) => { const found = control({ type: "string", ...schema }); return found?.is === "text" ? found.look : found?.is; };
  expect(look({ format: "date" })).toBe("date");
  expect(look({ format: "email" })).toBe("email");
  expect(look({ format: "uri" })).toBe("uri");
  expect(look({ format: "colour" })).toBe("lines");
  expect(look({ maxLength: 40 })).toBe("line");
});

test("what a schema says about a field is shown", () => {
  const [field] = fields({ n: { type: "integer", title: "Count", description: "How many", default: 3, examples: [5], minimum: 1 } }, { required: ["n"] });
  expect(field).toEqual({ path: "input.n", name: "n", title: "Count", description: "How many", isRequired: true, begin: 3, example: "5", control: { is: "number", isWhole: true, minimum: 1, maximum: undefined } });
});

test("an object inside is a group, one deeper is JSON", () => {
  const nested = fields({ server: { type: "object", required: ["host"], properties: { host: { type: "string" }, tls: { type: "object", properties: { on: { type: "boolean" } } } } } });
  const group = nested[0]?.control;
  expect(group?.is === "group" && group.fields.map((inner) => [inner.path, inner.control.is])).toEqual([["input.server.host", "text"], ["input.server.tls", "json"]]);
  expect(collected(nested, new Map(), "input")).toEqual({ value: {}, wrong: new Map() });
  expect(collected(nested, drafts({ "input.server.tls": '{"on":true}' }), "input").wrong).toEqual(new Map([["input.server.host", { is: "missing" }]]));
  expect(collected(nested, drafts({ "input.server.host": "a" }), "input").value).toEqual({ server: { host: "a" } });
});

test("a group that only has its defaults asks for nothing", () => {
  const made = fields({ server: { type: "object", required: ["host"], properties: { host: { type: "string" }, port: { type: "integer", default: 443 } } } });
  expect(collected(made, begun(made), "input")).toEqual({ value: {}, wrong: new Map() });
  expect(collected(made, new Map([...begun(made), ["input.server.host", "a"]]), "input").value).toEqual({ server: { host: "a", port: 443 } });
});

test("a missing required field is reported", () => {
  const needed = fields({ a: { type: "string" }, b: { type: "integer" } }, { required: ["a", "b"] });
  expect([...collected(needed, drafts({ "input.b": "1" }), "input").wrong]).toEqual([["input.a", { is: "missing" }]]);
});

test("references are followed inside the document only, and not for ever", () => {
  const root = {
    $defs: { size: { enum: ["s", "m"] }, loop: { $ref: "#/$defs/loop" }, "a/b": { type: "boolean" } },
    type: "object",
    properties: {
      size: { $ref: "#/$defs/size", description: "own words" },
      wrapped: { allOf: [{ $ref: "#/$defs/size" }] },
      escaped: { $ref: "#/$defs/a~1b" },
      loop: { $ref: "#/$defs/loop" },
      far: { $ref: "https://example.org/schema.json" },
      beside: { $ref: "x/$defs/size" },
      none: { $ref: "#/$defs/none" },
    },
  };
  const made = fieldsOf(root, "input");
  expect(made.map(({ name, control }) => [name, control.is])).toEqual([["size", "choice"], ["wrapped", "choice"], ["escaped", "boolean"], ["loop", "json"], ["far", "json"], ["beside", "json"], ["none", "json"]]);
  expect(made[0]?.description).toBe("own words");
});

test.each([undefined, null, true, [], { oneOf: [{}] }, { type: "object" }, { type: "array" }, { type: "object", properties: { a: {} }, anyOf: [{}] }, { $ref: "#" }])("what no fields can be made of is typed as JSON: %o", (schema) => {
  const [only, ...more] = fieldsOf(schema, "input");
  expect([only?.path, only?.control.is, more.length]).toEqual(["input", "json", 0]);
});

test("JSON for everything must be an object", () => {
  const one = fieldsOf(undefined, "input");
  expect(collected(one, drafts({ input: '{"a":[1]}' }), "input").value).toEqual({ a: [1] });
  expect(collected(one, drafts({ input: "" }), "input")).toEqual({ value: {}, wrong: new Map() });
  expect(collected(one, drafts({ input: "[1]" }), "input").wrong.get("input")).toEqual({ is: "no_object" });
  expect(collected(one, drafts({ input: "{" }), "input").wrong.get("input")?.is).toBe("no_json");
});

test("defaults stand in their fields, and are sent as they are", () => {
  const made = fields({
    text: { type: "string", default: "hi" }, n: { type: "integer", default: 0 }, on: { type: "boolean", default: false },
    pick: { enum: ["a", "b"], default: "b" }, some: { type: "array", items: { enum: ["x", "y"] }, default: ["y"] },
    lines: { type: "array", items: { type: "string" }, default: ["p", "q"] }, deep: { type: "object", default: { k: 1 } },
    odd: { type: "integer", default: "three" },
    group: { type: "object", properties: { inner: { type: "string", default: "in" } } },
  }, { required: ["group"] });
  expect(collected(made, begun(made), "input").value).toEqual({ text: "hi", n: 0, on: false, pick: "b", some: ["y"], lines: ["p", "q"], deep: { k: 1 }, group: { inner: "in" } });
});

test("hostile schemas do no harm", () => {
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`f${index}`, {}]));
  expect(fields(many)).toHaveLength(200);
  expect(control({ enum: Array.from({ length: 100_000 }, (_, index) => index) })?.is).toBe("json");
  const own = fieldsOf(JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'), "input");
  const { value } = collected(own, drafts({ "input.__proto__": "x" }), "input");
  expect(JSON.stringify(value)).toBe('{"__proto__":"x"}');
  // It would never end if it were run.
  expect(sent({ type: "string", pattern: "^(a+)+$" }, `${"a".repeat(40)}!`)).toBe(`${"a".repeat(40)}!`);
});

test("errors of the service stand at their fields, or as near as can be", () => {
  const paths = ["input.a", "input.a.b", "input", "engine"];
  const errors = [{ field: "input.a.b.0", message: "one" }, { field: "input.ab", message: "two" }, { field: "engine", message: "three" }, { field: "engine", message: "four" }, { field: "webhooks", message: "five" }];
  expect(Object.fromEntries(placed(errors, paths))).toEqual({ "input.a.b": "one", input: "two", engine: "three; four", "": "webhooks: five" });
});

test("paths of groups and of what is in them", () => {
  expect(pathsOf(fields({ a: {}, g: { type: "object", properties: { b: {} } } }))).toEqual(["input.a", "input.g", "input.g.b"]);
});
