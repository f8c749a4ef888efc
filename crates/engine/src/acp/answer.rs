//! The replies to an agent's questions: which of its options the user's text means, or what goes into its form.
//!
//! The agent defines the options and may name them as it likes. So a plain yes or no is matched by what an option does,
//! never by a name that says otherwise.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction, ElicitationContentValue,
    RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
pub use skillrun_parse::record::CallOptionKind as OptionKind;

use super::lines;
use crate::input::Word;

/// One option, as the agent wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub kind: OptionKind,
}

/// The kind of answer that the agent waits for.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpectedAnswer<'a> {
    Permission(Vec<Choice<'a>>),
    /// A form with this schema; none when the schema was too large to be kept.
    Form(Option<&'a Value>),
}

/// The line that answers the request with this id, which is JSON as the agent wrote it.
pub fn answer(request: &str, asked: &ExpectedAnswer<'_>, text: &str) -> String {
    match asked {
        ExpectedAnswer::Permission(choices) => permission(request, pick(choices, text)),
        ExpectedAnswer::Form(schema) => form(request, filled(*schema, text)),
    }
}

/// The line that answers a question that will not be answered any more, because the turn is being canceled.
pub fn canceled(request: &str, asked: &ExpectedAnswer<'_>) -> String {
    match asked {
        ExpectedAnswer::Permission(_) => permission(request, None),
        ExpectedAnswer::Form(_) => form(request, ElicitationAction::Cancel),
    }
}

fn permission(request: &str, choice: Option<Choice<'_>>) -> String {
    let outcome = match choice {
        Some(choice) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(choice.id.to_owned())),
        None => RequestPermissionOutcome::Cancelled,
    };
    lines::result(&named(request), RequestPermissionResponse::new(outcome))
}

fn form(request: &str, action: ElicitationAction) -> String {
    lines::result(&named(request), CreateElicitationResponse::new(action))
}

/// Text that is not JSON was not written by an agent; it is treated as a string.
fn named(request: &str) -> Box<RawValue> {
    let raw = RawValue::from_string(request.to_owned());
    let text = || RawValue::from_string(Value::from(request).to_string());
    raw.or_else(|_| text()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// None: no option that the agent offers matches the text.
fn pick<'a>(choices: &[Choice<'a>], text: &str) -> Option<Choice<'a>> {
    let word = Word::of(text);
    let agrees = |choice: &&Choice<'_>| match word {
        Word::Yes => !choice.kind.rejects(),
        Word::No => !choice.kind.allows(),
        Word::Other => true,
    };
    let said = text.trim();
    let by_id = choices.iter().find(|choice| choice.id == said);
    let by_name = || choices.iter().find(|choice| choice.name.trim().to_lowercase() == said.to_lowercase());
    let named = by_id.or_else(by_name).filter(agrees);
    let of = |kind: OptionKind| choices.iter().find(|choice| choice.kind == kind);
    let picked = named.or_else(|| match word {
        Word::Yes => of(OptionKind::AllowOnce).or_else(|| of(OptionKind::AllowAlways)),
        // The answer is not a yes, so the request is rejected.
        Word::No | Word::Other => of(OptionKind::RejectOnce).or_else(|| of(OptionKind::RejectAlways)),
    });
    picked.copied()
}

fn filled(schema: Option<&Value>, text: &str) -> ElicitationAction {
    if let Ok(content) = serde_json::from_str::<BTreeMap<String, ElicitationContentValue>>(text) {
        return accept(content);
    }
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let word = Word::of(text);
    match (word, properties) {
        (Word::No, _) | (_, None) => ElicitationAction::Decline,
        // A form without fields only asks for consent.
        (Word::Yes, Some(fields)) if fields.is_empty() => accept(BTreeMap::new()),
        (Word::Yes | Word::Other, Some(fields)) => match field(fields, text.trim()) {
            Some((name, value)) => accept(BTreeMap::from([(name, value)])),
            None => ElicitationAction::Decline,
        },
    }
}

fn accept(content: BTreeMap<String, ElicitationContentValue>) -> ElicitationAction {
    ElicitationAction::Accept(ElicitationAcceptAction::new().content(content))
}

/// The field that takes the text: the first string, else the first of another kind that can.
fn field(fields: &Map<String, Value>, text: &str) -> Option<(String, ElicitationContentValue)> {
    let kind = |field: &Value| field.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let strings = fields.iter().filter(|(_, field)| kind(field) == "string");
    let string =
        strings.map(|(name, field)| (name.clone(), ElicitationContentValue::String(choice(field, text)))).next();
    let other = || {
        fields.iter().find_map(|(name, field)| {
            let value = match (kind(field).as_str(), Word::of(text)) {
                ("boolean", Word::Yes) => ElicitationContentValue::Boolean(true),
                ("integer", _) => ElicitationContentValue::Integer(text.parse().ok()?),
                ("number", _) => {
                    ElicitationContentValue::Number(text.parse().ok().filter(|number: &f64| number.is_finite())?)
                }
                ("array", _) => {
                    ElicitationContentValue::StringArray(vec![choice(field.get("items").unwrap_or(&Value::Null), text)])
                }
                _ => return None,
            };
            Some((name.clone(), value))
        })
    };
    string.or_else(other)
}

/// The value whose title the text names; any other text is passed on unchanged.
fn choice(field: &Value, text: &str) -> String {
    let lists = ["oneOf", "anyOf"].into_iter().filter_map(|key| field.get(key)?.as_array()).flatten();
    let titled = lists.filter_map(|one| Some((one.get("const")?.as_str()?, one.get("title")?.as_str()?)));
    let plain = field.get("enum").and_then(Value::as_array).into_iter().flatten();
    let all: Vec<(&str, &str)> = titled.chain(plain.filter_map(|one| one.as_str().map(|one| (one, one)))).collect();
    let exact = all.iter().find(|(value, _)| *value == text);
    let like = || all.iter().find(|(value, title)| [value, title].iter().any(|one| one.eq_ignore_ascii_case(text)));
    exact.or_else(like).map_or(text, |(value, _)| value).to_owned()
}
