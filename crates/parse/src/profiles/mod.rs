//! One file per engine format.

pub(crate) mod acp;
mod claude;
mod codex;
mod gemini;
mod iflow;
mod message_events;
mod open_message;
mod opencode;
mod plain;
mod plan_items;
mod qwen;
#[cfg(test)]
mod refusals;
mod stderr;
#[cfg(test)]
mod story;
mod stream_text;
mod subagents;
mod text_errors;

use skillrun_model::ProfileId;

use crate::profile::Profile;

/// A fresh profile for one attempt.
pub(crate) fn make(profile: ProfileId) -> Box<dyn Profile> {
    match profile {
        ProfileId::CodexNdjson => Box::new(codex::Codex::default()),
        ProfileId::GeminiStreamJson => Box::new(gemini::Gemini::stream()),
        ProfileId::GeminiJson => Box::new(gemini::Gemini::document()),
        ProfileId::OpencodeNdjson => Box::new(opencode::Opencode::default()),
        ProfileId::ClaudeStreamJson => Box::new(claude::Claude::default()),
        ProfileId::QwenStreamJson => Box::new(qwen::Qwen::default()),
        ProfileId::IflowText => Box::new(iflow::Iflow::default()),
        ProfileId::PlainText => Box::new(plain::Plain::default()),
        ProfileId::AcpJsonrpc => Box::new(acp::Acp::default()),
    }
}
