//! Renderers: the items of a replay as text or as the request of an API. One file per dialect.
//!
//! The ids of engines may repeat and need not be valid in an API, so calls are numbered. Every dialect has each call
//! together with its result, because an API rejects a request in which one of them is missing.

mod anthropic_messages;
mod openai_chat;
mod openai_responses;
mod text;

use std::borrow::Cow;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skillrun_model::rasp::data::Foreign;
use skillrun_model::word_enum;

use crate::item::{Item, Replay};

word_enum! {
    /// How a replay is written.
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    #[schemars(rename = "ReplayDialect")]
    pub Dialect {
        /// A plain transcript.
        #[serde(rename = "text")]
        Text = "text",
        /// The `messages` of a request to the Anthropic Messages API.
        #[serde(rename = "anthropic-messages")]
        AnthropicMessages = "anthropic-messages",
        /// The `input` of a request to the OpenAI Responses API.
        #[serde(rename = "openai-responses")]
        OpenaiResponses = "openai-responses",
        /// The `messages` of a request to the OpenAI Chat Completions API, and to servers that speak it.
        #[serde(rename = "openai-chat")]
        OpenaiChat = "openai-chat",
    }
}

impl Dialect {
    /// Writes a replay: a text, or a JSON object with a member of the request.
    pub fn write(self, replay: &Replay, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Text => text::write(replay.items(), out),
            Self::AnthropicMessages => json(&anthropic_messages::request(replay.items()), out),
            Self::OpenaiResponses => json(&openai_responses::request(replay.items()), out),
            Self::OpenaiChat => json(&openai_chat::request(replay.items()), out),
        }
    }

    /// Items as text.
    pub(crate) fn transcript(items: &[Item]) -> String {
        let mut out = Vec::new();
        // Memory accepts every byte.
        let written = text::write(items.iter(), &mut out);
        written.map_or_else(|error| error.to_string(), |()| String::from_utf8_lossy(&out).into_owned())
    }

    /// The same in memory.
    pub fn render(self, replay: &Replay) -> Rendering {
        let mut out = Vec::new();
        let written = self.write(replay, &mut out).map(|()| String::from_utf8_lossy(&out).into_owned());
        // Memory accepts every byte, and everything that is written is text.
        let text = written.unwrap_or_default();
        match self {
            Self::Text => Rendering::Text(text),
            Self::AnthropicMessages | Self::OpenaiResponses | Self::OpenaiChat => {
                RawValue::from_string(text).map_or_else(|error| Rendering::Text(error.to_string()), Rendering::Request)
            }
        }
    }
}

/// A replay in a dialect.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Rendering {
    Text(String),
    /// An object with a member of the request.
    Request(Box<RawValue>),
}

fn json(request: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(out, request).map_err(io::Error::other)
}

/// Follows a text of which the Log has only the beginning.
const TRUNCATED: &str = "\n[truncated]";

/// Takes the place of the message that began the first turn, where an API requires one and none is recorded.
const NOT_RECORDED: &str = "[The message that began this conversation was not recorded.]";

fn marked(text: &str, truncated: bool) -> Cow<'_, str> {
    if truncated { Cow::Owned(format!("{text}{TRUNCATED}")) } else { Cow::Borrowed(text) }
}

/// Longest name of a tool that the APIs accept.
const NAME_MAX: usize = 64;

/// The name of a tool as the APIs accept it: letters, digits, hyphens and underscores.
fn api_name(name: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let name: String = name.chars().take(NAME_MAX).map(|c| if allowed(c) { c } else { '_' }).collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

fn call_id(number: u64) -> String {
    format!("call_{number}")
}

/// What a call was given, as JSON text. The APIs require an object.
fn arguments(input: Option<&Foreign>) -> Cow<'_, str> {
    match input.map(|input| input.0.get()) {
        None | Some("null") => Cow::Borrowed("{}"),
        Some(object) if object.starts_with('{') => Cow::Borrowed(object),
        Some(other) => Cow::Owned(format!("{{\"input\":{other}}}")),
    }
}

/// Where an API has no field for it, a result begins with the statement that the tool failed.
const FAILED: &str = "The tool failed:\n";

/// An item whose call has a number.
fn numbered<'a>(items: impl Iterator<Item = &'a Item>) -> impl Iterator<Item = (u64, &'a Item)> {
    items.scan(0, |number, item| {
        if let Item::ToolCall { .. } = item {
            *number += 1;
        }
        Some((*number, item))
    })
}
