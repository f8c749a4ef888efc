//! The OpenAI Responses API: a list of items, with calls and their results as items of their own.

use std::borrow::Cow;

use serde::Serialize;

use super::{FAILED, api_name, arguments, call_id, marked, numbered};
use crate::item::{Item, ToolOutcome};

#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    input: Vec<Entry<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Entry<'a> {
    Message { role: &'static str, content: [Part<'a>; 1] },
    FunctionCall { call_id: String, name: String, arguments: Cow<'a, str> },
    FunctionCallOutput { call_id: String, output: Cow<'a, str> },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: Cow<'a, str> },
    OutputText { text: Cow<'a, str> },
}

pub(super) fn request<'a>(items: impl Iterator<Item = &'a Item>) -> Request<'a> {
    let entry = |(number, item): (u64, &'a Item)| match item {
        Item::User { text, truncated, .. } => {
            Entry::Message { role: "user", content: [Part::InputText { text: marked(text, *truncated) }] }
        }
        Item::Child { text, .. } => {
            Entry::Message { role: "user", content: [Part::InputText { text: Cow::Borrowed(text) }] }
        }
        Item::Agent { text, truncated, .. } => {
            Entry::Message { role: "assistant", content: [Part::OutputText { text: marked(text, *truncated) }] }
        }
        Item::ToolCall { name, input, .. } => {
            Entry::FunctionCall { call_id: call_id(number), name: api_name(name), arguments: arguments(input.as_ref()) }
        }
        Item::ToolResult { outcome, output, truncated, .. } => {
            let output = match outcome {
                ToolOutcome::Ok => marked(output, *truncated),
                ToolOutcome::Failed => Cow::Owned(format!("{FAILED}{}", marked(output, *truncated))),
            };
            Entry::FunctionCallOutput { call_id: call_id(number), output }
        }
    };
    Request { input: numbered(items).map(entry).collect() }
}
