//! The JSON Schema of a workflow file, for editors. The reader does not use it: its messages say more.

use serde_json::{Map, Value, json};
use skillrun_model::status::Permission;
use skillrun_model::workflow::{AskMoment, ITEMS_MAX, OnStepFailure, RetryCause, STEPS_MAX, StepWorkspace};

use super::{ARTIFACTS_MAX, CHECKS_MAX, CONCURRENCY, CONCURRENCY_MAX, ENGINES_MAX, INPUTS_MAX, RETRIES_MAX};

/// The schema as it is published.
pub fn schema() -> Value {
    let name = json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"});
    let mut root = closed(
        &[
            (
                "name",
                json!({"type": "string", "minLength": 1, "description": "Shown to people. Default: the name of the file."}),
            ),
            ("description", json!({"type": "string"})),
            (
                "inputs",
                json!({
                    "type": "object", "maxProperties": INPUTS_MAX, "propertyNames": name,
                    "additionalProperties": {"$ref": "#/$defs/input"},
                    "description": "What the workflow is given, by name.",
                }),
            ),
            (
                "steps",
                json!({"type": "array", "minItems": 1, "maxItems": STEPS_MAX, "items": {"$ref": "#/$defs/step"}}),
            ),
            (
                "outputs",
                json!({
                    "type": "object",
                    "description": "The output of the workflow: values, in which {from: /steps/ID/output/…} stands for another value.",
                }),
            ),
            (
                "concurrency",
                json!({
                    "type": "integer", "minimum": 1, "maximum": CONCURRENCY_MAX, "default": CONCURRENCY,
                    "description": "The number of steps that run at the same time.",
                }),
            ),
            ("timeout", reference("time", "From the start of the workflow.")),
        ],
        &["steps"],
    );
    let defs = json!({"input": input(), "step": step(&name), "time": time(), "schema": {"type": ["object", "boolean"]},
        "pointer": pointer(), "check": check()});
    let head = [
        ("$schema", json!("https://json-schema.org/draft/2020-12/schema")),
        ("title", json!("skillrun workflow")),
        ("$defs", defs),
    ];
    if let Value::Object(root) = &mut root {
        root.extend(head.map(|(key, value)| (key.to_owned(), value)));
    }
    root
}

fn closed(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let mut object = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn reference(name: &str, description: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}"), "description": description})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

fn words(all: impl Iterator<Item = &'static str>, description: &str) -> Value {
    json!({"enum": all.collect::<Vec<_>>(), "description": description})
}

fn input() -> Value {
    let mut input = closed(
        &[
            ("description", json!({"type": "string"})),
            ("schema", reference("schema", "A JSON Schema for the value.")),
            ("default", json!({"description": "Without it the input must be given."})),
        ],
        &[],
    );
    input["type"] = json!(["object", "null"]);
    input
}

fn time() -> Value {
    json!({
        "description": "Seconds, or a number with a unit: 90s, 10m, 2h, 1d.",
        "anyOf": [
            {"type": "number", "exclusiveMinimum": 0, "maximum": 31_536_000},
            {"type": "string", "pattern": "^\\s*[0-9.]+\\s*(s|m|min|h|d)?\\s*$"},
        ],
    })
}

fn pointer() -> Value {
    let mut pointer =
        closed(&[("from", json!({"type": "string", "pattern": "^/(inputs|steps|item)(/|$)"}))], &["from"]);
    pointer["description"] = json!("Stands for the value to which it leads.");
    pointer
}

fn check() -> Value {
    let command = closed(
        &[("command", text("Run by the shell in the workspace of the step.")), ("timeout", reference("time", ""))],
        &["command"],
    );
    json!({"anyOf": [text("A command, run by the shell in the workspace of the step."), command]})
}

fn step(name: &Value) -> Value {
    let retries = closed(
        &[
            ("max", json!({"type": "integer", "minimum": 0, "maximum": RETRIES_MAX})),
            (
                "on",
                json!({
                    "type": "array", "minItems": 1,
                    "items": {"enum": RetryCause::ALL.iter().map(|cause| cause.as_str()).collect::<Vec<_>>()},
                }),
            ),
        ],
        &["max"],
    );
    let output = closed(
        &[
            ("schema", reference("schema", "A JSON Schema for the output of a step with a prompt.")),
            (
                "artifacts",
                json!({
                    "type": "array", "maxItems": ARTIFACTS_MAX, "items": {"type": "string", "minLength": 1},
                    "description": "Files without which the step is partial.",
                }),
            ),
        ],
        &[],
    );
    let mut step = closed(
        &[
            ("id", name.clone()),
            ("skill", text("A skill by its name, or by its folder relative to this file.")),
            ("prompt", text("A task without a skill.")),
            ("workflow", text("Another workflow file, relative to this one.")),
            ("engine", text("Default: the engine of the settings.")),
            (
                "engines",
                json!({
                    "type": "array", "minItems": 1, "maxItems": ENGINES_MAX, "uniqueItems": true,
                    "items": {"type": "string", "minLength": 1},
                    "description": "Tried in this order, after a used-up quota, a missing engine or a failed network only.",
                }),
            ),
            ("model", text("Default: the model of the engine.")),
            (
                "needs",
                json!({"type": "array", "items": name, "description": "Steps that must be ready before this one begins."}),
            ),
            (
                "with",
                json!({"type": "object", "description": "The input: values, in which {from: /inputs/NAME} stands for another value."}),
            ),
            (
                "for_each",
                json!({
                    "anyOf": [{"type": "array", "maxItems": ITEMS_MAX}, {"$ref": "#/$defs/pointer"}],
                    "description": "A list; the step runs for each item, which is {from: /item} in with.",
                }),
            ),
            ("required", json!({"type": "boolean", "default": true})),
            ("timeout", reference("time", "From the start of the step.")),
            ("retries", retries),
            (
                "on_failure",
                words(
                    OnStepFailure::ALL.iter().map(|word| word.as_str()),
                    "Default: stop for a required step, continue for another.",
                ),
            ),
            (
                "ask",
                words(
                    AskMoment::ALL.iter().map(|word| word.as_str()),
                    "Asks the user before the step begins, or before its result counts.",
                ),
            ),
            ("permission", words(Permission::ALL.iter().map(|word| word.as_str()), "Default: that of the workflow.")),
            (
                "workspace",
                words(
                    StepWorkspace::ALL.iter().map(|word| word.as_str()),
                    "A folder of its own (default), or that of the workflow.",
                ),
            ),
            ("output", output),
            (
                "check",
                json!({
                    "anyOf": [{"$ref": "#/$defs/check"}, {"type": "array", "maxItems": CHECKS_MAX, "items": {"$ref": "#/$defs/check"}}],
                    "description": "Commands that skillrun runs after the step. One that fails makes the step fail.",
                }),
            ),
        ],
        &["id"],
    );
    step["oneOf"] = json!([{"required": ["skill"]}, {"required": ["prompt"]}, {"required": ["workflow"]}]);
    step
}
