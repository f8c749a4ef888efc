//! The Anthropic Messages API: roles alternate, beginning with the user; a `tool_use` of the assistant is followed by
//! its `tool_result` in the next message of the user.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use skillrun_model::rasp::data::Foreign;

use super::{NOT_RECORDED, api_name, call_id, marked, numbered};
use crate::item::{Item, ToolOutcome};

#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    messages: Vec<Message<'a>>,
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Input<'a>,
    },
    ToolResult {
        tool_use_id: String,
        content: Cow<'a, str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// An object in any case.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Object(&'a RawValue),
    Other { input: &'a RawValue },
    None {},
}

impl<'a> Input<'a> {
    fn of(input: Option<&'a Foreign>) -> Self {
        match input.map(|input| &*input.0) {
            Some(object) if object.get().starts_with('{') => Self::Object(object),
            Some(other) if other.get() != "null" => Self::Other { input: other },
            Some(_) | None => Self::None {},
        }
    }
}

pub(super) fn request<'a>(items: impl Iterator<Item = &'a Item>) -> Request<'a> {
    let mut messages: Vec<Message<'a>> = Vec::new();
    for (number, item) in numbered(items) {
        let (role, block) = match item {
            Item::User { text, truncated, .. } => (Role::User, Block::Text { text: marked(text, *truncated) }),
            Item::Child { text, .. } => (Role::User, Block::Text { text: Cow::Borrowed(text) }),
            Item::Agent { text, truncated, .. } => (Role::Assistant, Block::Text { text: marked(text, *truncated) }),
            Item::ToolCall { name, input, .. } => {
                let input = Input::of(input.as_ref());
                (Role::Assistant, Block::ToolUse { id: call_id(number), name: api_name(name), input })
            }
            Item::ToolResult { outcome, output, truncated, .. } => {
                let (content, is_error) = (marked(output, *truncated), *outcome == ToolOutcome::Failed);
                (Role::User, Block::ToolResult { tool_use_id: call_id(number), content, is_error })
            }
        };
        if messages.is_empty() && role == Role::Assistant {
            let stand_in = Block::Text { text: Cow::Borrowed(NOT_RECORDED) };
            messages.push(Message { role: Role::User, content: vec![stand_in] });
        }
        match messages.last_mut().filter(|last| last.role == role) {
            Some(last) => last.content.push(block),
            None => messages.push(Message { role, content: vec![block] }),
        }
    }
    Request { messages }
}
