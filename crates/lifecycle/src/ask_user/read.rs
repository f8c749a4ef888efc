//! Reads the content of an envelope, leniently where that is harmless.
//!
//! The YAML comes from a model. `- no` is an option to show to the user, not `false`.

use super::{Ask, AskNote, ROOT_KEY, Reading};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use skillrun_base::yaml::{self, YamlSize};
use skillrun_model::interaction::{AskOption, DecisionPolicy, InteractionKind};
use skillrun_parse::text::json::decode_object;

/// Larger than any real question. Larger content counts as malformed.
const MAX_BYTES: usize = 64 * 1024;

/// The content under the root key `ask_user`, where that is the only key.
#[derive(Debug)]
pub(super) struct Content {
    /// None: malformed.
    pub(super) reading: Option<Reading>,
}

/// Inside the tags everything is an envelope, and the root key may be left out.
pub(super) fn read_inside_tags(text: &str) -> Option<Reading> {
    if text.len() > MAX_BYTES {
        return None;
    }
    // JSON first: YAML takes most of it, but not all (tabs as indentation, lone surrogates).
    let mut root = decode_object(text).or_else(|| yaml_mapping(text))?;
    match root.shift_remove(ROOT_KEY) {
        Some(Value::Object(inner)) => read_fields(inner),
        // Also where the key stands alone on its line with the fields not indented under it.
        Some(_) | None => read_fields(root),
    }
}

/// None when the text is not a YAML mapping with the single key `ask_user`.
pub(super) fn read_yaml_root(text: &str) -> Option<Content> {
    if text.len() > MAX_BYTES || !(text.contains(ROOT_KEY) || text.contains('\\')) {
        return None;
    }
    read_only_key(yaml_mapping(text)?)
}

/// None when the object has other keys than `ask_user`.
pub(super) fn read_json_root(json: &str) -> Option<Content> {
    if !(json.contains(ROOT_KEY) || json.contains('\\')) {
        return None;
    }
    let content = read_only_key(decode_object(json)?)?;
    Some(Content { reading: content.reading.filter(|_| json.len() <= MAX_BYTES) })
}

fn read_only_key(mut root: Map<String, Value>) -> Option<Content> {
    let inner = root.shift_remove(ROOT_KEY)?;
    if !root.is_empty() {
        return None;
    }
    let reading = match inner {
        Value::Object(fields) => read_fields(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    };
    Some(Content { reading })
}

fn yaml_mapping(text: &str) -> Option<Map<String, Value>> {
    yaml::parse(text, MAX_BYTES, YamlSize::Page).ok()
}

/// None when there is neither `kind` nor `prompt`.
fn read_fields(mut fields: Map<String, Value>) -> Option<Reading> {
    let kind = fields.get("kind").and_then(scalar);
    let prompt = fields.get("prompt").and_then(scalar);
    if kind.is_none() && prompt.is_none() {
        return None;
    }
    let policy = fields.get("default_decision_policy").and_then(scalar);
    let mut notes = Vec::new();
    let ask = Ask {
        kind: kind.map(|name| {
            named(&name).unwrap_or_else(|| {
                notes.push(AskNote::UnknownKind(name));
                InteractionKind::OpenText
            })
        }),
        prompt: prompt.map(|prompt| prompt.trim().to_owned()).filter(|prompt| !prompt.is_empty()),
        options: read_options(fields.get("options"), &mut notes),
        default_decision_policy: policy.and_then(|name| {
            let policy = named::<DecisionPolicy>(&name);
            if policy.is_none() {
                notes.push(AskNote::UnknownPolicy(name));
            }
            policy
        }),
        ui_hints: taken(&mut fields, "ui_hints"),
        context: taken(&mut fields, "context"),
    };
    Some(Reading { ask, notes })
}

fn read_options(options: Option<&Value>, notes: &mut Vec<AskNote>) -> Vec<AskOption> {
    match options {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => {
            let read = |(place, item)| {
                let option = read_option(item);
                if option.is_none() {
                    notes.push(AskNote::UnreadableOptions(Some(place)));
                }
                option
            };
            items.iter().enumerate().filter_map(read).collect()
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            notes.push(AskNote::UnreadableOptions(None));
            Vec::new()
        }
    }
}

fn read_option(item: &Value) -> Option<AskOption> {
    let Some(fields) = item.as_object() else {
        let text = scalar(item)?;
        return Some(AskOption { value: text.clone(), label: text, default: false });
    };
    let value = fields.get("value").and_then(scalar);
    let label = fields.get("label").and_then(scalar);
    Some(AskOption {
        value: value.clone().or_else(|| label.clone())?,
        label: label.or(value)?,
        default: fields.get("default").is_some_and(is_true),
    })
}

/// Strict booleans leave YAML's other spellings as text, and models use `default: yes`.
fn is_true(value: &Value) -> bool {
    scalar(value).is_some_and(|text| ["true", "yes", "on"].contains(&text.trim().to_ascii_lowercase().as_str()))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn named<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(Value::from(name.trim())).ok()
}

fn taken(fields: &mut Map<String, Value>, name: &str) -> Option<Value> {
    fields.shift_remove(name).filter(|value| !value.is_null())
}
