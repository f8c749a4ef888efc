//! The tool that runs commands: found among what a request offers, and called as its schema wants.

use serde_json::{Map, Value, json};

use super::asked::{Offered, list, text};

/// Names of such tools in the CLIs, the likelier first.
const NAMES: &[&str] = &[
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "container.exec",
    "bash",
    "Bash",
    "run_shell_command",
    "execute",
    "terminal",
];

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// As the request offers it.
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
}

/// A call that runs a command; none when no tool can.
pub(super) fn call(tools: &[Offered], command: &str) -> Option<Call> {
    let tool = NAMES.iter().find_map(|name| tools.iter().find(|tool| tool.name == *name))?;
    Some(Call {
        namespace: tool.namespace.clone(),
        name: tool.name.clone(),
        arguments: arguments(&tool.parameters, command),
    })
}

fn arguments(schema: &Value, command: &str) -> Map<String, Value> {
    let properties = &schema["properties"];
    let mut arguments = Map::new();
    for key in ["command", "cmd"] {
        let property = &properties[key];
        if property.is_object() {
            let words = is(property, "array");
            arguments.insert(key.to_owned(), if words { json!(["bash", "-lc", command]) } else { json!(command) });
        }
    }
    for key in list(schema, "required").iter().filter_map(Value::as_str) {
        if !arguments.contains_key(key) {
            arguments.insert(key.to_owned(), anything(&properties[key]));
        }
    }
    arguments
}

/// Gemini writes types in capitals.
fn is(property: &Value, kind: &str) -> bool {
    text(property, "type").eq_ignore_ascii_case(kind)
}

/// Some value of the kind that is wanted.
fn anything(property: &Value) -> Value {
    if let Some(first) = list(property, "enum").first() {
        first.clone()
    } else if is(property, "boolean") {
        json!(false)
    } else if is(property, "number") || is(property, "integer") {
        json!(1000)
    } else if is(property, "array") {
        json!([])
    } else if is(property, "object") {
        json!({})
    } else {
        json!("a step")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(name: &str, parameters: Value) -> Offered {
        Offered { name: name.to_owned(), namespace: None, parameters }
    }

    #[test]
    fn the_arguments_have_the_form_that_is_asked_for() {
        let words = offered("shell", json!({"properties": {"command": {"type": "ARRAY"}}, "required": ["command"]}));
        let call_of = |tools: &[Offered]| call(tools, "ls").map(|call| (call.name, Value::Object(call.arguments)));
        assert_eq!(call_of(&[words]), Some(("shell".to_owned(), json!({"command": ["bash", "-lc", "ls"]}))));
        let more = offered(
            "Bash",
            json!({
                "properties": {
                    "command": {"type": "string"}, "why": {"type": "string"}, "level": {"enum": ["low", "high"]},
                    "wait": {"type": "boolean"}, "limit": {"type": "integer"}, "left_out": {"type": "string"},
                },
                "required": ["command", "why", "level", "wait", "limit"],
            }),
        );
        let read = offered("Read", json!({}));
        let wanted = json!({"command": "ls", "why": "a step", "level": "low", "wait": false, "limit": 1000});
        assert_eq!(call_of(&[read.clone(), more]), Some(("Bash".to_owned(), wanted)));
        assert_eq!(call_of(&[read]), None);
    }

    #[test]
    fn nonsense_for_a_schema_is_no_trouble() {
        for schema in
            [json!(null), json!([1]), json!({"properties": 1, "required": {"a": 1}}), json!({"required": [1]})]
        {
            assert!(call(&[offered("bash", schema)], "ls").is_some());
        }
    }
}
