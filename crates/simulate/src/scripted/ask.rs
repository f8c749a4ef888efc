//! A question as an agent writes it: YAML between tags. Strings are quoted as in JSON, which YAML takes as they are.

use serde_json::{Map, Value};

pub(super) fn envelope(fields: &Map<String, Value>) -> String {
    let mut text = "<ASK_USER_YAML>\nask_user:\n".to_owned();
    mapping(fields, 1, &mut text);
    text.push_str("</ASK_USER_YAML>");
    text
}

fn mapping(fields: &Map<String, Value>, depth: usize, text: &mut String) {
    for (key, value) in fields {
        indent(depth, text);
        text.push_str(&key_of(key));
        text.push(':');
        below(value, depth, text);
    }
}

/// What comes behind a key or a dash of this depth.
fn below(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            mapping(fields, depth + 1, text);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            for item in items {
                indent(depth + 1, text);
                text.push('-');
                below(item, depth + 1, text);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            text.push(' ');
            text.push_str(&value.to_string());
            text.push('\n');
        }
    }
}

fn key_of(key: &str) -> String {
    let is_plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_plain { key.to_owned() } else { Value::from(key).to_string() }
}

fn indent(depth: usize, text: &mut String) {
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillrun_lifecycle::ask_user::{self, AskUser};
    use skillrun_model::interaction::InteractionKind;

    #[test]
    fn a_question_is_read_as_it_was_meant() {
        let fields = serde_json::json!({
            "kind": "choose_one",
            "prompt": "Which \"colour\":\n- red? 😀",
            "options": [{"value": "red", "label": "Red", "default": true}, "blue"],
            "ui_hints": {"Odd key": [], "empty": {}, "list": [[1, 2], {"a": null}]},
        });
        let Value::Object(fields) = fields else { panic!("an object") };
        let text = envelope(&fields);
        assert!(text.starts_with("<ASK_USER_YAML>\nask_user:\n  kind: \"choose_one\"\n  prompt: "), "{text}");
        let AskUser::Found { ask, notes, ranges } = ask_user::find(&text) else { panic!("{text}") };
        assert_eq!((notes.len(), ranges), (0, vec![(0, text.len())]));
        assert_eq!(ask.kind, Some(InteractionKind::ChooseOne));
        assert_eq!(ask.prompt.as_deref(), Some("Which \"colour\":\n- red? 😀"));
        let options: Vec<_> = ask.options.iter().map(|o| (o.value.as_str(), o.label.as_str(), o.default)).collect();
        assert_eq!(options, [("red", "Red", true), ("blue", "blue", false)]);
        assert_eq!(ask.ui_hints.as_ref(), fields.get("ui_hints"));
    }
}
