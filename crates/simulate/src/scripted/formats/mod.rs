//! One file per stream format: how an engine writes what a script makes it do.
//!
//! A format only writes; what is written when, and how the process ends, is decided in [`play`](super::play). Times in
//! the lines are always the same, so that the same script gives the same bytes.

mod claude;
mod codex;
mod gemini_json;
mod gemini_stream;
mod iflow;
mod opencode;
mod plain;
mod qwen;

use serde_json::{Map, Value, json};
use skillrun_model::ProfileId;

use super::script::{Tool, Usage};

/// Where a line goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    Stdout,
    Stderr,
}

/// What is written at once. Text formats write a whole message, and documents are written whole, in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) to: Sink,
    /// With its newline, unless it was cut.
    pub(super) bytes: Vec<u8>,
}

/// Lines in the order in which they are written.
#[derive(Debug, Default)]
pub(super) struct Lines(pub(super) Vec<Line>);

impl Lines {
    fn json(&mut self, value: &Value) {
        self.out(&value.to_string());
    }

    pub(super) fn out(&mut self, text: &str) {
        self.0.push(Line { to: Sink::Stdout, bytes: format!("{text}\n").into_bytes() });
    }

    pub(super) fn err(&mut self, text: &str) {
        self.0.push(Line { to: Sink::Stderr, bytes: format!("{text}\n").into_bytes() });
    }
}

/// How a turn ends, as far as the format can express it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending<'a> {
    Success,
    Failure(&'a str),
    Limit(&'a str),
}

/// Writes one turn. What a format does not show, because the engine does not, it leaves out.
pub(super) trait Format {
    /// What comes before anything else.
    fn open(&mut self, lines: &mut Lines);

    /// A finished message of the assistant's.
    fn say(&mut self, text: &str, lines: &mut Lines);

    fn think(&mut self, _text: &str, _lines: &mut Lines) {}

    fn tool(&mut self, _tool: &Tool, _lines: &mut Lines) {}

    /// Asks whether a tool may be called; the answer has to carry the id. Only for formats that
    /// [`asks_permission`] names.
    fn permission(&mut self, _id: &str, _tool: &str, _input: &Map<String, Value>, _lines: &mut Lines) {}

    /// The end, and the code the engine exits with; none when the format has no such end.
    fn end(&mut self, ending: Ending<'_>, usage: Option<Usage>, lines: &mut Lines) -> Option<u8>;
}

pub(super) fn make(profile: ProfileId, session: &str, turn: usize, said: &str) -> Box<dyn Format> {
    let names = Names { session: session.to_owned(), turn, count: 0 };
    match profile {
        ProfileId::CodexNdjson => Box::new(codex::Codex::new(names)),
        ProfileId::GeminiStreamJson => Box::new(gemini_stream::GeminiStream::new(names, said)),
        ProfileId::GeminiJson => Box::new(gemini_json::GeminiJson::new(names)),
        ProfileId::OpencodeNdjson => Box::new(opencode::Opencode::new(names)),
        ProfileId::ClaudeStreamJson => Box::new(claude::Claude::new(names)),
        ProfileId::QwenStreamJson => Box::new(qwen::Qwen::new(names)),
        ProfileId::IflowText => Box::new(iflow::Iflow::new(names)),
        ProfileId::PlainText | ProfileId::AcpJsonrpc => Box::new(plain::Plain::default()),
    }
}

/// What the engine writes when it is to resume an unknown session, and its exit code.
pub(super) fn refuse_session(profile: ProfileId, session: &str, lines: &mut Lines) -> u8 {
    match profile {
        ProfileId::CodexNdjson => codex::refuse_session(session, lines),
        ProfileId::GeminiStreamJson | ProfileId::GeminiJson => gemini_stream::refuse_session(lines),
        ProfileId::OpencodeNdjson => opencode::refuse_session(lines),
        ProfileId::ClaudeStreamJson => claude::refuse_session(session, lines),
        ProfileId::QwenStreamJson => qwen::refuse_session(session, lines),
        ProfileId::IflowText | ProfileId::PlainText | ProfileId::AcpJsonrpc => iflow::refuse_session(session, lines),
    }
}

/// The formats that a script can be played in. A protocol would need a peer.
pub(super) fn spoken() -> impl Iterator<Item = &'static ProfileId> {
    ProfileId::ALL.iter().filter(|profile| **profile != ProfileId::AcpJsonrpc)
}

/// Whether the format can express that a turn ended at a limit.
pub(super) fn has_limit_end(profile: ProfileId) -> bool {
    match profile {
        ProfileId::CodexNdjson | ProfileId::OpencodeNdjson | ProfileId::ClaudeStreamJson => true,
        ProfileId::GeminiStreamJson
        | ProfileId::GeminiJson
        | ProfileId::QwenStreamJson
        | ProfileId::IflowText
        | ProfileId::PlainText
        | ProfileId::AcpJsonrpc => false,
    }
}

/// Whether the engine can ask, in the middle of a turn, before it calls a tool.
pub(super) fn asks_permission(profile: ProfileId) -> bool {
    match profile {
        ProfileId::ClaudeStreamJson | ProfileId::QwenStreamJson => true,
        ProfileId::CodexNdjson
        | ProfileId::GeminiStreamJson
        | ProfileId::GeminiJson
        | ProfileId::OpencodeNdjson
        | ProfileId::IflowText
        | ProfileId::PlainText
        | ProfileId::AcpJsonrpc => false,
    }
}

/// Whether only the exit of the process shows that a turn is over.
pub(super) fn ends_by_exit(profile: ProfileId) -> bool {
    match profile {
        ProfileId::IflowText | ProfileId::PlainText | ProfileId::AcpJsonrpc => true,
        ProfileId::CodexNdjson
        | ProfileId::GeminiStreamJson
        | ProfileId::GeminiJson
        | ProfileId::OpencodeNdjson
        | ProfileId::ClaudeStreamJson
        | ProfileId::QwenStreamJson => false,
    }
}

/// The names in a turn's lines.
#[derive(Debug)]
struct Names {
    session: String,
    turn: usize,
    count: usize,
}

impl Names {
    /// The next one, unique in the session.
    fn next(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}_t{}_{}", self.turn, self.count)
    }
}

/// A moment in the lines: one is as good as another, and another would change the bytes.
const TIMESTAMP: &str = "2026-01-01T00:00:00.000Z";
const TIMESTAMP_MS: u64 = 1_767_225_600_000;

/// A question before a call, as the two formats with `system`, `assistant` and `result` events write it.
fn can_use_tool(id: &str, tool: &str, input: &Map<String, Value>) -> Value {
    let request = json!({"subtype": "can_use_tool", "tool_name": tool, "input": input});
    json!({"type": "control_request", "request_id": id, "request": request})
}

/// Usage as the two formats with `system`, `assistant` and `result` events write it.
fn message_usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cached,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
    })
}

/// The object with this member, if there is one.
fn with(mut object: Value, name: &str, member: Option<Value>) -> Value {
    if let (Some(fields), Some(member)) = (object.as_object_mut(), member) {
        fields.insert(name.to_owned(), member);
    }
    object
}
