//! The four APIs: how each says a request, an answer, in pieces or whole, and an error. One file each, pure; `open_ai`
//! has what two of them share.

mod chat;
mod gemini;
mod messages;
mod open_ai;
mod responses;

use serde_json::Value;
use skillrun_model::word_enum;

use super::asked::Asked;
use super::plan::{Failure, Plan};
use super::tape::Tape;

word_enum! {
    /// An API that models are asked through.
    pub Wire {
        /// OpenAI Responses.
        Responses = "responses",
        /// OpenAI Chat Completions.
        Chat = "chat",
        /// Anthropic Messages.
        Messages = "messages",
        /// Gemini `generateContent`.
        Gemini = "gemini",
    }
}

/// What a path asks for, below the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint<'a> {
    /// An answer of the model; two APIs say here whether in pieces, and one which model.
    Answer { wire: Wire, stream: bool, model: Option<&'a str> },
    /// How many tokens that would be.
    Count(Wire),
}

impl<'a> Endpoint<'a> {
    pub(super) fn of(path: &'a str) -> Option<Self> {
        let answer = |wire| Self::Answer { wire, stream: false, model: None };
        let last = path.rsplit('/').next().unwrap_or_default();
        Some(match last.rsplit_once(':') {
            Some((model, "generateContent")) => Self::Answer { wire: Wire::Gemini, stream: false, model: Some(model) },
            Some((model, "streamGenerateContent")) => {
                Self::Answer { wire: Wire::Gemini, stream: true, model: Some(model) }
            }
            Some((_, "countTokens")) => Self::Count(Wire::Gemini),
            Some(_) => return None,
            None => match last {
                "responses" => answer(Wire::Responses),
                "completions" if path.ends_with("/chat/completions") => answer(Wire::Chat),
                "messages" => answer(Wire::Messages),
                "count_tokens" => Self::Count(Wire::Messages),
                _ => return None,
            },
        })
    }
}

/// Distinguishes answers: no two of a server have the same, and no two of a conversation either.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    /// Of the request.
    pub(super) number: u64,
    /// Of the conversation, which may have begun with another server.
    pub(super) turn: usize,
    pub(super) model: String,
    /// Seconds since 1970.
    pub(super) now: u64,
}

impl Tag {
    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:04x}{:08x}", self.turn, self.number)
    }

    fn part(&self, prefix: &str, at: usize) -> String {
        format!("{}{at:02x}", self.id(prefix))
    }
}

/// An HTTP error as the API words it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WireError {
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Value,
}

pub(super) fn read(wire: Wire, request: &Value) -> Asked {
    match wire {
        Wire::Responses => responses::read(request),
        Wire::Chat => chat::read(request),
        Wire::Messages => messages::read(request),
        Wire::Gemini => gemini::read(request),
    }
}

pub(super) fn stream(wire: Wire, plan: &Plan, tag: &Tag) -> Tape {
    match wire {
        Wire::Responses => responses::stream(plan, tag),
        Wire::Chat => chat::stream(plan, tag),
        Wire::Messages => messages::stream(plan, tag),
        Wire::Gemini => gemini::stream(plan, tag),
    }
}

pub(super) fn whole(wire: Wire, plan: &Plan, tag: &Tag) -> Value {
    match wire {
        Wire::Responses => responses::whole(plan, tag),
        Wire::Chat => chat::whole(plan, tag),
        Wire::Messages => messages::whole(plan, tag),
        Wire::Gemini => gemini::whole(plan, tag),
    }
}

/// `now`: seconds since 1970.
pub(super) fn error(wire: Wire, failure: Failure, now: u64) -> WireError {
    match wire {
        Wire::Responses | Wire::Chat => open_ai::error(wire, failure, now),
        Wire::Messages => messages::error(failure, now),
        Wire::Gemini => gemini::error(failure),
    }
}

/// The answer to how many tokens something has.
pub(super) fn count(wire: Wire) -> Value {
    match wire {
        Wire::Gemini => serde_json::json!({"totalTokens": 10}),
        Wire::Responses | Wire::Chat | Wire::Messages => serde_json::json!({"input_tokens": 10}),
    }
}

#[cfg(test)]
mod tests;
