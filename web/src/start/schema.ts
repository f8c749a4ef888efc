// A JSON Schema of a skill as far as a form can be made of it. Schemas are strangers' texts: references are followed
// inside the document only and not deep, lists are bounded, and patterns are shown, never run.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export type Control =
  | { is: "text"; look: "line" | "lines" | "date" | "email" | "uri"; minLength: number | undefined; maxLength: number | undefined; pattern: string | undefined }
  | { is: "number"; isWhole: boolean; minimum: number | undefined; maximum: number | undefined }
  | { is: "boolean" }
  | { is: "choice"; choices: readonly Json[] }
  | { is: "const"; value: Json }
  /** Texts, one per line. */
  | { is: "list" }
  /** Any of these. */
  | { is: "choices"; choices: readonly Json[] }
  | { is: "group"; fields: readonly Field[] }
  | { is: "json" };

export interface Field {
  /** Names from the root, with dots between them: as the service names it. */
  readonly path: string;
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly control: Control;
  readonly begin: Json | undefined;
  readonly example: string | undefined;
}

type Schema = Record<string, unknown>;

const MOST_FIELDS = 200;
const MOST_CHOICES = 500;
const MOST_CHECKED = 30;
const DEEPEST_REFERENCE = 16;
const LONGEST = 2_000;

/** The fields of a schema; one for everything as JSON where no fields can be made of it. */
export function fieldsOf(root: unknown, part: string): readonly Field[] {
  const schema = resolved(root, root);
  if (!isSchema(schema) || !hasFields(schema)) return [field(part, part, schema, false, { is: "json" })];
  return propertiesOf(schema, root, part, 0);
}

function propertiesOf(schema: Schema, root: unknown, path: string, depth: number): readonly Field[] {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const properties = isSchema(schema["properties"]) ? schema["properties"] : {};
  return Object.entries(properties).slice(0, MOST_FIELDS).map(([name, said]) => {
    const own = resolved(said, root);
    const at = `${path}.${name}`;
    return field(at, name, own, required.includes(name), controlOf(own, root, at, depth));
  });
}

function field(path: string, name: string, said: unknown, isRequired: boolean, control: Control): Field {
  const schema = isSchema(said) ? said : {};
  const examples = Array.isArray(schema["examples"]) ? schema["examples"] : [];
  const example: unknown = examples[0];
  return {
    path,
    name,
    title: text(schema["title"]),
    description: text(schema["description"]),
    isRequired,
    control,
    begin: isJson(schema["default"]) ? schema["default"] : undefined,
    example: example === undefined ? undefined : (typeof example === "string" ? example : JSON.stringify(example)).slice(0, 200),
  };
}

function controlOf(said: unknown, root: unknown, path: string, depth: number): Control {
  const schema = isSchema(said) ? said : {};
  if (Object.hasOwn(schema, "const") && isJson(schema["const"])) return { is: "const", value: schema["const"] };
  const choices = choicesOf(schema);
  if (choices) return { is: "choice", choices };
  switch (typeOf(schema)) {
    case "string":
      return textControl(schema);
    case "integer":
    case "number":
      return { is: "number", isWhole: typeOf(schema) === "integer", minimum: number(schema["minimum"]), maximum: number(schema["maximum"]) };
    case "boolean":
      return { is: "boolean" };
    case "array":
      return listControl(resolved(schema["items"], root));
    case "object":
      return depth === 0 && hasFields(schema) ? { is: "group", fields: propertiesOf(schema, root, path, depth + 1) } : { is: "json" };
    default:
      return { is: "json" };
  }
}

function textControl(schema: Schema): Control {
  const maxLength = number(schema["maxLength"]);
  const format = schema["format"];
  const look = format === "date" || format === "email" || format === "uri" ? format : maxLength !== undefined && maxLength <= 120 ? "line" : "lines";
  return { is: "text", look, minLength: number(schema["minLength"]), maxLength, pattern: text(schema["pattern"]) };
}

function listControl(said: unknown): Control {
  const items = isSchema(said) ? said : {};
  const choices = choicesOf(items);
  if (choices && choices.length <= MOST_CHECKED) return { is: "choices", choices };
  return typeOf(items) === "string" && !choices ? { is: "list" } : { is: "json" };
}

function choicesOf(schema: Schema): readonly Json[] | undefined {
  const list = schema["enum"];
  if (!Array.isArray(list) || list.length === 0 || list.length > MOST_CHOICES) return undefined;
  const choices = list.filter((choice): choice is Json => choice !== null && isJson(choice));
  return choices.length > 0 ? choices : undefined;
}

/** The one type it can have; that it may also be null is said by leaving it out. */
function typeOf(schema: Schema): string | undefined {
  const said = schema["type"];
  const types = (Array.isArray(said) ? said : [said]).filter((type) => type !== "null");
  if (types.length === 1 && typeof types[0] === "string") return types[0];
  return said === undefined && isSchema(schema["properties"]) ? "object" : undefined;
}

/** Whether everything that is asked of an object is asked of its fields. */
function hasFields(schema: Schema): boolean {
  const isMore = ["anyOf", "oneOf", "allOf", "if", "not", "patternProperties"].some((word) => Object.hasOwn(schema, word));
  const properties = schema["properties"];
  return !isMore && typeOf(schema) === "object" && isSchema(properties) && Object.keys(properties).length > 0;
}

/** Without references, and without the ways in which generators say "this one" and "this one or null". */
function resolved(said: unknown, root: unknown): unknown {
  let schema = said;
  for (let depth = 0; depth < DEEPEST_REFERENCE; depth += 1) {
    if (!isSchema(schema)) return schema;
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    const either = [anyOf, oneOf].find((list) => Array.isArray(list)) as unknown[] | undefined;
    const others = either?.filter((one) => !(isSchema(one) && one["type"] === "null"));
    const only: unknown =
      typeof $ref === "string" ? pointed(root, $ref)
      : Array.isArray(allOf) && allOf.length === 1 ? allOf[0]
      : others?.length === 1 && either?.length === 2 ? others[0]
      : undefined;
    if (!isSchema(only)) return schema;
    schema = { ...only, ...rest };
  }
  return {};
}

function pointed(root: unknown, reference: string): unknown {
  if (!reference.startsWith("#/")) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(2).split("/", DEEPEST_REFERENCE)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isSchema(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What came as JSON is JSON; what is not there is not. */
function isJson(value: unknown): value is Json {
  return value !== undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.slice(0, LONGEST) : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
