//! A line of an agent, for the code that has to answer it. Read exactly as the records are made from it, so that no
//! request is both answered and asked, or neither.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::ours::Name;
use super::wire::{self, Id, Message};
use super::{questions, updates};
use crate::ansi;
use crate::text::json::repair_surrogates;

#[derive(Debug)]
pub enum AgentMessage<'a> {
    /// The response to a request of ours; no result when it is an error.
    Answer { name: Name, result: Option<&'a RawValue> },
    /// A request of the agent. Its id is as it was written.
    Request { id: &'a RawValue, wants: Wants },
    /// A message, a thought, a call: part of the conversation, present or past.
    Conversation,
    /// Nothing that requires an answer.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// An answer of the user, who is asked through the records.
    User,
    /// The same, but it cannot be understood, and the agent would wait indefinitely.
    Refusal,
    /// Something else.
    Service,
}

/// None when the line is not a message.
pub fn read_agent_message<T>(line: &[u8], take: impl FnOnce(AgentMessage<'_>) -> T) -> Option<T> {
    let text = String::from_utf8_lossy(line);
    let text = text.strip_suffix('\r').unwrap_or(&text);
    if let Some(message) = message(text) {
        return Some(take(said(&message)));
    }
    if let Some(repaired) = repair_surrogates(text)
        && let Some(message) = message(&repaired)
    {
        return Some(take(said(&message)));
    }
    let Cow::Owned(stripped) = ansi::strip(text) else { return None };
    let repaired = repair_surrogates(&stripped);
    let message = message(&stripped).or_else(|| message(repaired.as_deref()?))?;
    Some(take(said(&message)))
}

fn message(text: &str) -> Option<Message<'_>> {
    Some(text).filter(|text| text.starts_with('{')).and_then(wire::message)
}

fn said<'a>(message: &Message<'a>) -> AgentMessage<'a> {
    match (message.id, message.method) {
        (Some(id), None) => {
            let Id::Name(name, _) = Id::read(id) else { return AgentMessage::Other };
            let is_answer = message.error.is_some() || message.result.is_some();
            let result = message.result.filter(|_| message.error.is_none());
            Name::read(&name)
                .filter(|_| is_answer)
                .map_or(AgentMessage::Other, |name| AgentMessage::Answer { name, result })
        }
        (Some(id), Some(method)) => {
            let wants = match wire::word(method) {
                Some(method) => questions::wants(&method, &Id::read(id), message.params),
                None => Wants::Service,
            };
            AgentMessage::Request { id, wants }
        }
        (None, Some(method)) => {
            let is_told = wire::word(method).is_some_and(|method| updates::is_conversation(&method, message.params));
            if is_told { AgentMessage::Conversation } else { AgentMessage::Other }
        }
        (None, None) => AgentMessage::Other,
    }
}
