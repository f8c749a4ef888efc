// The inputs of a workflow as a schema, so that its form is made like the form of a skill.
import type { WorkflowInput } from "@skillrun/client";
import { type Field, fieldsOf } from "./schema.ts";

/** Where they stand in the request. */
export const INPUTS = "inputs";

/** The fields for the inputs. An input that has no default must be given. */
export function inputFields(inputs: Readonly<Record<string, WorkflowInput>> | null | undefined): readonly Field[] {
  const entries = Object.entries(inputs ?? {});
  if (entries.length === 0) return [];
  const hasDefault = (input: WorkflowInput): boolean => input.default !== undefined && input.default !== null;
  const properties = entries.map(([name, input]): [string, unknown] => {
    const schema = typeof input.schema === "object" && input.schema !== null ? input.schema : {};
    // Without a schema anything is taken; a text is what is typed most.
    const typed = Object.keys(schema).length === 0 ? { type: typeOf(input.default) } : schema;
    return [name, { ...typed, ...(input.description ? { description: input.description } : {}), ...(hasDefault(input) ? { default: input.default } : {}) }];
  });
  return fieldsOf({ type: "object", properties: Object.fromEntries(properties), required: entries.filter(([, input]) => !hasDefault(input)).map(([name]) => name) }, INPUTS);
}

function typeOf(value: unknown): string | undefined {
  switch (typeof value) {
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "object":
      // An object or a list is written as JSON; nothing is a text.
      return value === null ? "string" : undefined;
    default:
      return "string";
  }
}
