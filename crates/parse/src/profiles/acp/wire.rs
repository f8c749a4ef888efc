//! The lines of the protocol, as borrowed text.
//!
//! The protocol's own crate supplies the words (stop reasons, statuses, kinds of options) and the names of the methods.
//! Its structs are not used: one member of another shape would cost the line, an id may have to be sent back exactly as
//! it was written, and half of a surrogate pair in any text would be rejected. So each member is kept as it is written
//! and parsed when it is needed.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json;

type Raw<'a> = Option<&'a RawValue>;

/// A request, a notification or an answer.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    /// None when it is null.
    pub(super) id: Raw<'a>,
    pub(super) method: Raw<'a>,
    pub(super) params: Raw<'a>,
    /// A response may be empty: null is a response too.
    #[serde(default, deserialize_with = "present")]
    pub(super) result: Raw<'a>,
    pub(super) error: Raw<'a>,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Raw<'a>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

pub(super) fn message(text: &str) -> Option<Message<'_>> {
    serde_json::from_str(text).ok()
}

/// The id of a request.
pub(super) enum Id<'a> {
    /// A text, and how it is written.
    Name(String, &'a str),
    Number(&'a str),
    /// Not a valid id of a request.
    Odd,
}

impl<'a> Id<'a> {
    pub(super) fn read(raw: &'a RawValue) -> Self {
        match raw.get().as_bytes().first() {
            Some(b'"') => word(raw).map_or(Self::Odd, |name| Self::Name(name, raw.get())),
            Some(b'-' | b'0'..=b'9') => Self::Number(raw.get()),
            Some(_) | None => Self::Odd,
        }
    }

    /// As it must be sent back.
    pub(super) fn json(&self) -> Option<&'a str> {
        match self {
            Self::Name(_, json) | Self::Number(json) => Some(json),
            Self::Odd => None,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct UpdateParams<'a> {
    pub(super) session_id: Raw<'a>,
    pub(super) update: Raw<'a>,
}

/// Members of all kinds of updates; also of the call for which a permission is requested.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Update<'a> {
    pub(super) session_update: Raw<'a>,
    pub(super) message_id: Raw<'a>,
    pub(super) content: Raw<'a>,
    pub(super) tool_call_id: Raw<'a>,
    pub(super) name: Raw<'a>,
    pub(super) title: Raw<'a>,
    pub(super) description: Raw<'a>,
    pub(super) kind: Raw<'a>,
    pub(super) status: Raw<'a>,
    pub(super) raw_input: Raw<'a>,
    pub(super) raw_output: Raw<'a>,
    pub(super) entries: Raw<'a>,
    pub(super) plan: Raw<'a>,
    #[serde(rename = "_meta")]
    pub(super) meta: Raw<'a>,
}

/// One of several plans: its items, a text, or where it is.
#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct NamedPlan<'a> {
    pub(super) entries: Raw<'a>,
    pub(super) content: Raw<'a>,
    pub(super) uri: Raw<'a>,
}

/// A block of content, or one of a tool call, which contains such a block.
#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Content<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Raw<'a>,
    pub(super) text: Raw<'a>,
    pub(super) content: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Meta<'a> {
    pub(super) codex: Raw<'a>,
    #[serde(rename = "claudeCode")]
    pub(super) claude: Raw<'a>,
    pub(super) quota: Raw<'a>,
    pub(super) terminal_output_delta: Raw<'a>,
}

/// The response to one of our requests: its members show which.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Answer<'a> {
    pub(super) protocol_version: Raw<'a>,
    pub(super) agent_info: Raw<'a>,
    pub(super) session_id: Raw<'a>,
    pub(super) stop_reason: Raw<'a>,
    pub(super) usage: Raw<'a>,
    #[serde(rename = "_meta")]
    pub(super) meta: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct QuestionParams<'a> {
    pub(super) tool_call: Raw<'a>,
    pub(super) options: Raw<'a>,
    pub(super) message: Raw<'a>,
    pub(super) mode: Raw<'a>,
    pub(super) url: Raw<'a>,
    pub(super) requested_schema: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct QuestionOption<'a> {
    pub(super) option_id: Raw<'a>,
    pub(super) name: Raw<'a>,
    pub(super) kind: Raw<'a>,
}

/// An object whose members are all optional; none when it is not an object.
pub(super) fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok().filter(|_| raw.get().starts_with('{'))
}

pub(super) fn word(raw: &RawValue) -> Option<String> {
    json::decode(raw)
}

/// The elements of a list, up to `most`.
pub(super) fn elements(raw: Raw<'_>, most: usize) -> Vec<&RawValue> {
    json::elements(raw.map_or("", RawValue::get), most)
}
