// The fields a question asks for, and the answer they make. What an agent says about fields has no promised shape:
// what looks like a field is taken, everything else is passed over, and the free text is always there.
import type { Interaction } from "@skillrun/client";

export interface AskedField {
  readonly name: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly kind: "line" | "lines" | "number" | "choice" | "yes_no";
  /** What is sent; `yes` and `no` of a field that asks for no more are shown in the reader's language. */
  readonly choices: readonly string[];
  readonly begin: string;
}

const MOST_FIELDS = 40;
const MOST_CHOICES = 200;
const LONGEST = 300;
const YES_NO = ["yes", "no"] as const;

type Fields = Pick<Interaction, "ui_hints" | "context" | "options">;

export function fieldsOf({ ui_hints, context, options }: Fields): readonly AskedField[] {
  for (const place of [ui_hints, context]) {
    for (const list of [inside(place, "fields"), inside(place, "properties"), inside(place, "inputs"), place]) {
      const found = fieldsIn(list, list !== place);
      if (found.length > 0) return found;
    }
  }
  return fieldsIn(options, true);
}

/** Readable lines, `name: value`, and what was written besides. */
export function answerOf(fields: readonly AskedField[], values: ReadonlyMap<string, string>, besides: string): string {
  const lines = fields.flatMap(({ name }) => {
    const value = (values.get(name) ?? "").trim();
    if (value === "") return [];
    return [value.includes("\n") ? `${name}:\n${value.replace(/^/gm, "  ")}` : `${name}: ${value}`];
  });
  return [lines.join("\n"), besides.trim()].filter((part) => part !== "").join("\n\n");
}

/** A list of fields, or an object of fields by name, where the name of the member says that it holds fields. */
function fieldsIn(list: unknown, mayBeObject: boolean): readonly AskedField[] {
  const entries: [string | undefined, unknown][] =
    Array.isArray(list) ? list.slice(0, MOST_FIELDS).map((item: unknown) => [undefined, item])
    : mayBeObject && isObject(list) ? Object.entries(list).slice(0, MOST_FIELDS)
    : [];
  const found = new Map<string, AskedField>();
  for (const [name, said] of entries) {
    const field = fieldFrom(name, said);
    if (field && !found.has(field.name)) found.set(field.name, field);
  }
  return [...found.values()];
}

function fieldFrom(key: string | undefined, said: unknown): AskedField | undefined {
  if (typeof said === "string") return key === undefined ? field(said, said) : field(key, key, { hint: said.slice(0, LONGEST) });
  if (!isObject(said)) return undefined;
  const name = key ?? text(said, "name", "id", "key", "field", "value", "label");
  if (name === undefined) return undefined;
  const choices = [said["options"], said["choices"], said["enum"]].map(choicesIn).find((list) => list.length > 0);
  const type = text(said, "type", "kind", "input_type") ?? "";
  const kind = choices ? "choice" : /bool|check/.test(type) ? "yes_no" : /int|num|float/.test(type) ? "number" : /area|multi|long/.test(type) ? "lines" : "line";
  return field(name, text(said, "label", "title") ?? name, {
    hint: text(said, "description", "hint", "help", "placeholder"),
    kind,
    choices: kind === "yes_no" ? YES_NO : (choices ?? []),
    begin: said["value"] === name ? "" : beginOf(kind, choices ?? [], text(said, "default") ?? ""),
  });
}

/** What cannot be chosen would be sent without being seen. */
function beginOf(kind: AskedField["kind"], choices: readonly string[], said: string): string {
  switch (kind) {
    case "yes_no":
      return /^(?:true|yes|1)$/i.test(said) ? "yes" : /^(?:false|no|0)$/i.test(said) ? "no" : "";
    case "choice":
      return choices.includes(said) ? said : "";
    case "line":
    case "lines":
    case "number":
      return said;
  }
}

function field(name: string, label: string, rest: Partial<AskedField> = {}): AskedField | undefined {
  if (name.trim() === "") return undefined;
  // A name that held a line end would make two lines of one.
  const oneLine = name.replace(/\s+/g, " ").trim().slice(0, LONGEST);
  return { name: oneLine, label: label.slice(0, LONGEST), hint: undefined, kind: "line", choices: [], begin: "", ...rest };
}

function choicesIn(list: unknown): readonly string[] {
  if (!Array.isArray(list)) return [];
  const found = list.slice(0, MOST_CHOICES).map((item: unknown) => (isObject(item) ? text(item, "value", "label", "name") : scalar(item)));
  return [...new Set(found.filter((word): word is string => word !== undefined && word !== ""))];
}

function inside(place: unknown, name: string): unknown {
  return isObject(place) && Object.hasOwn(place, name) ? place[name] : undefined;
}

function text(object: Record<string, unknown>, ...names: string[]): string | undefined {
  return names.map((name) => (Object.hasOwn(object, name) ? scalar(object[name]) : undefined)).find((word) => word !== undefined && word !== "");
}

function scalar(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value).slice(0, LONGEST) : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
