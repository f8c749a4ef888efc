// The inputs of a workflow as a form, and the command that does the same.
import { expect, test } from "vitest";
import { workflowCommand } from "./command.ts";
import { begun, collected } from "./form.ts";
import { INPUTS, inputFields } from "./plan.ts";

const inputs = {
  repo: { description: "The folder." },
  depth: { schema: { type: "integer", minimum: 1 }, default: 3 },
  deep: { default: { a: 1 } },
  strict: { default: false },
};

test("an input is a field by its schema, and must be given where it has no default", () => {
  const fields = inputFields(inputs);
  expect(fields.map(({ path, isRequired, control }) => [path, isRequired, control.is])).toEqual([
    ["inputs.repo", true, "text"],
    ["inputs.depth", false, "number"],
    ["inputs.deep", false, "json"],
    ["inputs.strict", false, "boolean"],
  ]);
  expect(fields[0]?.description).toBe("The folder.");
  const blank = collected(fields, begun(fields), INPUTS);
  expect([...blank.wrong]).toEqual([["inputs.repo", { is: "missing" }]]);
  expect(collected(fields, new Map([...begun(fields), ["inputs.repo", "."], ["inputs.depth", "7"]]), INPUTS).value).toEqual({ repo: ".", depth: 7, deep: { a: 1 }, strict: false });
});

test.each([undefined, null, {}])("a workflow without inputs has no form: %j", (none) => {
  expect(inputFields(none)).toEqual([]);
});

test("the command says what the form says, if it can be said", () => {
  expect(workflowCommand("my flow.yaml", { engine: "codex", inputs: { repo: ".", n: 3 } })).toBe("skillrun workflow run 'my flow.yaml' --engine codex --input repo=. --input n=3");
  expect(workflowCommand("flow.yaml", {})).toBe("skillrun workflow run flow.yaml");
  expect(workflowCommand("--help", {})).toBe(undefined);
});
