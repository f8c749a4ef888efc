//! The OpenAI Chat Completions API and the servers that speak it. The chat templates of local models fail on two
//! messages of the user in a row, so these are joined into one.

use std::borrow::Cow;

use serde::Serialize;

use super::{FAILED, NOT_RECORDED, api_name, arguments, call_id, marked, numbered};
use crate::item::{Item, ToolOutcome};

#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    messages: Vec<Message<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    User {
        content: Cow<'a, str>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: Cow<'a, str>,
    },
}

#[derive(Debug, Serialize)]
struct Call<'a> {
    id: String,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: String,
    arguments: Cow<'a, str>,
}

/// Between two texts of one message.
const PARAGRAPH: &str = "\n\n";

pub(super) fn request<'a>(items: impl Iterator<Item = &'a Item>) -> Request<'a> {
    let mut messages: Vec<Message<'a>> = Vec::new();
    for (number, item) in numbered(items) {
        if messages.is_empty() && !matches!(item, Item::User { .. } | Item::Child { .. }) {
            messages.push(Message::User { content: Cow::Borrowed(NOT_RECORDED) });
        }
        match item {
            Item::User { text, truncated, .. } => user(marked(text, *truncated), &mut messages),
            Item::Child { text, .. } => user(Cow::Borrowed(text), &mut messages),
            Item::Agent { text, truncated, .. } => {
                let text = marked(text, *truncated);
                match messages.last_mut() {
                    Some(Message::Assistant { content: Some(content), tool_calls }) if tool_calls.is_empty() => {
                        join(content, &text);
                    }
                    Some(Message::User { .. } | Message::Assistant { .. } | Message::Tool { .. }) | None => {
                        messages.push(Message::Assistant { content: Some(text), tool_calls: Vec::new() });
                    }
                }
            }
            Item::ToolCall { name, input, .. } => {
                let function = Function { name: api_name(name), arguments: arguments(input.as_ref()) };
                let call = Call { id: call_id(number), r#type: "function", function };
                match messages.last_mut() {
                    Some(Message::Assistant { tool_calls, .. }) => tool_calls.push(call),
                    Some(Message::User { .. } | Message::Tool { .. }) | None => {
                        messages.push(Message::Assistant { content: None, tool_calls: vec![call] });
                    }
                }
            }
            Item::ToolResult { outcome, output, truncated, .. } => {
                let output = marked(output, *truncated);
                let content = match outcome {
                    ToolOutcome::Ok => output,
                    ToolOutcome::Failed => Cow::Owned(format!("{FAILED}{output}")),
                };
                messages.push(Message::Tool { tool_call_id: call_id(number), content });
            }
        }
    }
    Request { messages }
}

fn user<'a>(text: Cow<'a, str>, messages: &mut Vec<Message<'a>>) {
    match messages.last_mut() {
        Some(Message::User { content }) => join(content, &text),
        Some(Message::Assistant { .. } | Message::Tool { .. }) | None => {
            messages.push(Message::User { content: text });
        }
    }
}

fn join(content: &mut Cow<'_, str>, text: &str) {
    let content = content.to_mut();
    content.push_str(PARAGRAPH);
    content.push_str(text);
}
