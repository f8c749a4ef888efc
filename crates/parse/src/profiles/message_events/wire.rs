//! The events as they are written. Unneeded members are ignored; members of any shape are kept raw.

use serde::de::Deserialize;
use serde_json::value::RawValue;

pub(super) use crate::json::each_element;
use crate::json::{self, Str};

/// What every event has at its root.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Head<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Str<'a>,
    #[serde(borrow)]
    pub(super) session_id: Option<Str<'a>>,
    /// The call that started the subagent whose event this is.
    #[serde(borrow)]
    pub(super) parent_tool_use_id: Option<&'a RawValue>,
}

impl<'a> Head<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        read(text)
    }

    pub(super) fn is_known(&self) -> bool {
        let kind = self.kind.as_str();
        matches!(kind, "system" | "assistant" | "user" | "stream_event" | "result" | "rate_limit_event")
            || self.is_control()
    }

    /// Whether it is between engine and host, and not part of the turn.
    pub(super) fn is_control(&self) -> bool {
        matches!(self.kind.as_str(), "control_request" | "control_response" | "control_cancel_request")
    }
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct System<'a> {
    pub(super) subtype: Str<'a>,
    pub(super) status: Option<&'a RawValue>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) mcp_servers: Option<&'a RawValue>,
    /// Of a task, which may be a subagent.
    pub(super) task_id: Option<&'a RawValue>,
    pub(super) tool_use_id: Option<&'a RawValue>,
    pub(super) task_type: Option<&'a RawValue>,
    pub(super) description: Option<&'a RawValue>,
    pub(super) summary: Option<&'a RawValue>,
    pub(super) patch: Option<&'a RawValue>,
}

/// What has changed of a task, and what a call of a subagent has returned.
#[derive(Default, serde::Deserialize)]
pub(super) struct TaskState<'a> {
    #[serde(borrow)]
    pub(super) status: Option<&'a RawValue>,
}

/// An entry of `mcp_servers`.
#[derive(serde::Deserialize)]
pub(super) struct ServerState {
    pub(super) name: String,
    pub(super) status: String,
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Assistant<'a> {
    pub(super) message: Message<'a>,
    pub(super) is_api_error_message: Option<bool>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) api_error_status: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
pub(super) struct RateLimit<'a> {
    #[serde(borrow)]
    pub(super) rate_limit_info: Option<&'a RawValue>,
}

#[derive(Default, serde::Deserialize)]
pub(super) struct RateLimitInfo {
    pub(super) status: Option<String>,
    #[serde(rename = "resetsAt")]
    pub(super) resets_at: Option<u64>,
    #[serde(rename = "rateLimitType")]
    pub(super) kind: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct User<'a> {
    pub(super) message: Message<'a>,
    #[serde(rename = "isSynthetic")]
    pub(super) is_synthetic: Option<bool>,
    pub(super) refused_message_id: Option<Str<'a>>,
    pub(super) tool_use_result: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) id: Option<Str<'a>>,
    pub(super) model: Option<Str<'a>>,
    /// A text, or an array of blocks.
    pub(super) content: &'a RawValue,
}

/// A block of any kind.
#[derive(Default, serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Block<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Str<'a>,
    pub(super) text: Option<Str<'a>>,
    pub(super) thinking: Option<Str<'a>>,
    pub(super) id: Option<Str<'a>>,
    pub(super) name: Option<Str<'a>>,
    pub(super) input: Option<&'a RawValue>,
    pub(super) tool_use_id: Option<Str<'a>>,
    pub(super) is_error: Option<bool>,
    pub(super) content: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct StreamEvent<'a> {
    pub(super) event: Streamed<'a>,
    pub(super) api_message_id: Option<Str<'a>>,
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Streamed<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Str<'a>,
    pub(super) message: Option<StreamedMessage<'a>>,
    pub(super) delta: Option<StreamedDelta<'a>>,
}

#[derive(serde::Deserialize)]
pub(super) struct StreamedMessage<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
}

#[derive(serde::Deserialize)]
pub(super) struct StreamedDelta<'a> {
    /// Absent where the delta is of the message and not of a block.
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Str<'a>,
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct ControlRequest<'a> {
    pub(super) request_id: Option<Str<'a>>,
    pub(super) request: Requested<'a>,
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Requested<'a> {
    pub(super) subtype: Str<'a>,
    pub(super) tool_name: Option<Str<'a>>,
    pub(super) input: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
pub(super) struct ControlCancel<'a> {
    #[serde(borrow)]
    pub(super) request_id: Str<'a>,
}

#[derive(serde::Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct ResultEvent<'a> {
    pub(super) subtype: Option<Str<'a>>,
    pub(super) is_error: Option<bool>,
    pub(super) api_error: Option<&'a RawValue>,
    pub(super) api_error_status: Option<&'a RawValue>,
    pub(super) stop_reason: Option<&'a RawValue>,
    pub(super) result: Option<&'a RawValue>,
    pub(super) errors: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) usage: Option<&'a RawValue>,
    pub(super) total_cost_usd: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
pub(super) struct Usage {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) total_tokens: Option<u64>,
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(serde::Deserialize)]
pub(super) struct OutputDetails {
    pub(super) thinking_tokens: Option<u64>,
}

/// Reads a value of one of these shapes; none when it has another shape.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

/// Calls `each` with every block of a message's content, with none for one that cannot be parsed; false when it is not
/// content.
pub(super) fn each_block<'a>(content: &'a RawValue, mut each: impl FnMut(Option<Block<'a>>)) -> bool {
    if let Some(text) = read(content.get()) {
        each(Some(Block { kind: Str("text".into()), text: Some(text), ..Block::default() }));
        return true;
    }
    each_element(content.get(), |block| each(read(block.get())))
}

/// The response of a tool, as text; other content is named. None when there is nothing.
pub(super) fn text_of(content: &RawValue) -> Option<String> {
    let mut whole: Option<String> = None;
    let is_content = each_block(content, |block| {
        let whole = whole.get_or_insert_default();
        if !whole.is_empty() {
            whole.push('\n');
        }
        match block {
            Some(Block { text: Some(text), .. }) => whole.push_str(text.as_str()),
            Some(Block { kind, .. }) => {
                whole.push('[');
                whole.push_str(kind.as_str());
                whole.push(']');
            }
            None => whole.push_str("[unknown]"),
        }
    });
    if is_content { whole } else { Some(content.get().to_owned()) }
}

/// The message of an error that is either a text or an object with a `message`.
pub(super) fn error_words(error: &RawValue) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Error {
        message: String,
    }
    json::decode::<String>(error).or_else(|| json::decode::<Error>(error).map(|error| error.message))
}
