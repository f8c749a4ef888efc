// From what was typed to what is sent. Every field keeps its text as it was typed; only a whole form becomes JSON.
import type { Control, Field, Json, JsonObject } from "./schema.ts";

/** Texts by path. Chosen ones are numbers of choices, one per line. */
export type Drafts = ReadonlyMap<string, string>;

/** Why a field cannot be sent; the number it is about where there is one. */
export type Wrong =
  | { is: "missing" }
  | { is: "no_number" }
  | { is: "not_whole" }
  | { is: "too_small" | "too_large" | "too_short" | "too_long"; bound: number }
  | { is: "no_json"; message: string }
  | { is: "no_object" };

type Read = { is: "none" } | { is: "value"; value: Json } | { is: "wrong"; wrong: Wrong };

export interface Collected {
  readonly value: JsonObject;
  readonly wrong: ReadonlyMap<string, Wrong>;
}

const NONE: Read = { is: "none" };

/** What stands in the fields at the beginning. */
export function begun(fields: readonly Field[]): Drafts {
  const drafts = new Map<string, string>();
  for (const { path, control, begin, isRequired } of fields) {
    if (control.is === "group") begun(control.fields).forEach((text, inner) => drafts.set(inner, text));
    const text = begin === undefined ? (control.is === "choice" && isRequired && control.choices.length === 1 ? "0" : "") : draftOf(control, begin);
    if (text !== "") drafts.set(path, text);
  }
  return drafts;
}

function draftOf(control: Control, value: Json): string {
  switch (control.is) {
    case "text":
      return typeof value === "string" ? value : "";
    case "number":
      return typeof value === "number" ? String(value) : "";
    case "boolean":
      return typeof value === "boolean" ? String(value) : "";
    case "choice":
      return indexIn(control.choices, value);
    case "list":
      return Array.isArray(value) && value.every((item) => typeof item === "string") ? value.join("\n") : "";
    case "choices":
      return Array.isArray(value) ? value.map((item) => indexIn(control.choices, item)).filter((index) => index !== "").join("\n") : "";
    case "json":
      return JSON.stringify(value, undefined, 2);
    case "const":
    case "group":
      return "";
  }
}

function indexIn(choices: readonly Json[], value: Json): string {
  const index = choices.findIndex((choice) => JSON.stringify(choice) === JSON.stringify(value));
  return index < 0 ? "" : String(index);
}

/** The object the fields make. A single field for everything is the object itself. */
export function collected(fields: readonly Field[], drafts: Drafts, part: string): Collected {
  const wrong = new Map<string, Wrong>();
  const [only] = fields;
  if (fields.length === 1 && only?.path === part) {
    const read = jsonOf(drafts.get(part) ?? "");
    if (read.is === "value" && isObject(read.value)) return { value: read.value, wrong };
    if (read.is === "wrong") wrong.set(part, read.wrong);
    else if (read.is === "value") wrong.set(part, { is: "no_object" });
    return { value: {}, wrong };
  }
  return { value: gathered(fields, drafts, wrong), wrong };
}

function gathered(fields: readonly Field[], drafts: Drafts, wrong: Map<string, Wrong>): JsonObject {
  const entries: [string, Json][] = [];
  for (const field of fields) {
    const read = field.control.is === "group" ? group(field, field.control.fields, drafts, wrong) : single(field.control, drafts.get(field.path) ?? "");
    if (read.is === "value") entries.push([field.name, read.value]);
    else if (read.is === "wrong") wrong.set(field.path, read.wrong);
    else if (field.isRequired) wrong.set(field.path, { is: "missing" });
  }
  // This way a name such as `__proto__` is a name like any other.
  return Object.fromEntries(entries) as JsonObject;
}

/** A group in which nothing was changed is left out with all that it would need, unless it is needed itself. */
function group(field: Field, fields: readonly Field[], drafts: Drafts, wrong: Map<string, Wrong>): Read {
  const before = begun(fields);
  const isTouched = fields.some(({ path }) => (drafts.get(path) ?? "").trim() !== (before.get(path) ?? "").trim());
  if (!isTouched && !field.isRequired) return NONE;
  return { is: "value", value: gathered(fields, drafts, wrong) };
}

function single(control: Exclude<Control, { is: "group" }>, draft: string): Read {
  switch (control.is) {
    case "const":
      return { is: "value", value: control.value };
    case "text":
      return textOf(control, draft);
    case "number":
      return numberOf(control, draft.trim());
    case "boolean":
      return draft === "" ? NONE : { is: "value", value: draft === "true" };
    case "choice": {
      const choice = draft === "" ? undefined : control.choices[Number(draft)];
      return choice === undefined ? NONE : { is: "value", value: choice };
    }
    case "list": {
      const items = draft.split("\n").map((line) => line.trim()).filter((line) => line !== "");
      return items.length === 0 ? NONE : { is: "value", value: items };
    }
    case "choices": {
      const chosen = new Set(draft.split("\n"));
      const items = control.choices.filter((_, index) => chosen.has(String(index)));
      return items.length === 0 ? NONE : { is: "value", value: items };
    }
    case "json":
      return jsonOf(draft);
  }
}

function textOf({ minLength, maxLength }: Extract<Control, { is: "text" }>, draft: string): Read {
  if (draft === "") return NONE;
  const length = [...draft].length;
  if (minLength !== undefined && length < minLength) return { is: "wrong", wrong: { is: "too_short", bound: minLength } };
  if (maxLength !== undefined && length > maxLength) return { is: "wrong", wrong: { is: "too_long", bound: maxLength } };
  return { is: "value", value: draft };
}

function numberOf({ isWhole, minimum, maximum }: Extract<Control, { is: "number" }>, draft: string): Read {
  if (draft === "") return NONE;
  const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(draft) ? Number(draft) : Number.NaN;
  if (!Number.isFinite(value)) return { is: "wrong", wrong: { is: "no_number" } };
  if (isWhole && !Number.isSafeInteger(value)) return { is: "wrong", wrong: { is: "not_whole" } };
  if (minimum !== undefined && value < minimum) return { is: "wrong", wrong: { is: "too_small", bound: minimum } };
  if (maximum !== undefined && value > maximum) return { is: "wrong", wrong: { is: "too_large", bound: maximum } };
  return { is: "value", value };
}

function jsonOf(draft: string): Read {
  if (draft.trim() === "") return NONE;
  try {
    return { is: "value", value: JSON.parse(draft) as Json };
  } catch (error) {
    return { is: "wrong", wrong: { is: "no_json", message: error instanceof Error ? error.message.slice(0, 200) : "" } };
  }
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The texts of what the service says is wrong, at the field that is nearest; under "" where there is none. */
export function placed(errors: readonly { field: string; message: string }[], paths: readonly string[]): ReadonlyMap<string, string> {
  const places = new Map<string, string>();
  for (const { field, message } of errors) {
    const at = paths.filter((path) => field === path || field.startsWith(`${path}.`)).sort((one, other) => other.length - one.length)[0] ?? "";
    const text = at === "" ? `${field}: ${message}` : message;
    places.set(at, places.has(at) ? `${places.get(at)}; ${text}` : text);
  }
  return places;
}

/** All paths of fields, inner ones too. */
export function pathsOf(fields: readonly Field[]): readonly string[] {
  return fields.flatMap(({ path, control }) => (control.is === "group" ? [path, ...pathsOf(control.fields)] : [path]));
}
