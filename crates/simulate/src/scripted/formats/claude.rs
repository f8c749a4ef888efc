//! `claude -p --output-format stream-json --verbose`.

use serde_json::{Map, Value, json};

use super::{Ending, Format, Lines, Names, can_use_tool, message_usage, with};
use crate::scripted::script::{Tool, ToolStatus, Usage};

const MODEL: &str = "scripted";
/// The model that claude names as the author of its own texts.
const SYNTHETIC: &str = "<synthetic>";

#[derive(Debug)]
pub(super) struct Claude {
    names: Names,
    /// The last text; the end repeats it.
    answer: String,
}

impl Claude {
    pub(super) fn new(names: Names) -> Self {
        Self { names, answer: String::new() }
    }

    fn assistant(&mut self, model: &str, block: Value) -> Value {
        let message = json!({
            "id": self.names.next("msg"),
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [block],
            "stop_reason": null,
        });
        let (kind, session) = ("assistant", &self.names.session);
        json!({"type": kind, "message": message, "parent_tool_use_id": null, "session_id": session})
    }

    /// Its `type` stands behind the text, and its `subtype` is `success` for a failure too, as claude has it.
    fn result(&self, stop_reason: &str, usage: Option<Usage>, outcome: &Outcome<'_>) -> Value {
        let head = json!({"duration_api_ms": 0, "stop_reason": stop_reason, "session_id": self.names.session});
        let result = with(head, "usage", usage.map(message_usage));
        let result = with(result, "is_error", Some(outcome.is_error.into()));
        let result = with(result, "num_turns", Some(1.into()));
        let result = with(result, "subtype", Some("success".into()));
        let result = with(result, "api_error", outcome.api_error.map(Into::into));
        let result = with(result, "result", Some(outcome.result.into()));
        with(result, "type", Some("result".into()))
    }
}

struct Outcome<'a> {
    is_error: bool,
    api_error: Option<&'static str>,
    result: &'a str,
}

impl Format for Claude {
    fn open(&mut self, lines: &mut Lines) {
        lines.json(&json!({
            "type": "system",
            "subtype": "init",
            "session_id": self.names.session,
            "tools": [],
            "model": MODEL,
            "permissionMode": "bypassPermissions",
        }));
    }

    fn say(&mut self, text: &str, lines: &mut Lines) {
        lines.json(&self.assistant(MODEL, json!({"type": "text", "text": text})));
        self.answer = text.to_owned();
    }

    fn think(&mut self, text: &str, lines: &mut Lines) {
        lines.json(&self.assistant(MODEL, json!({"type": "thinking", "thinking": text, "signature": ""})));
    }

    fn tool(&mut self, tool: &Tool, lines: &mut Lines) {
        let id = self.names.next("toolu");
        let call = json!({"type": "tool_use", "id": id, "name": tool.name, "input": tool.input});
        lines.json(&self.assistant(MODEL, call));
        let is_error = match tool.status {
            ToolStatus::Completed => false,
            ToolStatus::Failed => true,
            ToolStatus::Open => return,
        };
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": tool.output, "is_error": is_error});
        lines.json(&json!({
            "type": "user",
            "message": {"role": "user", "content": [block]},
            "parent_tool_use_id": null,
            "session_id": self.names.session,
        }));
    }

    fn permission(&mut self, id: &str, tool: &str, input: &Map<String, Value>, lines: &mut Lines) {
        lines.json(&can_use_tool(id, tool, input));
    }

    fn end(&mut self, ending: Ending<'_>, usage: Option<Usage>, lines: &mut Lines) -> Option<u8> {
        let (message, api_error) = match ending {
            Ending::Success => {
                let outcome = Outcome { is_error: false, api_error: None, result: &self.answer };
                lines.json(&self.result("end_turn", usage, &outcome));
                return Some(0);
            }
            Ending::Failure(message) => (message, None),
            Ending::Limit(message) => (message, Some("max_output_tokens")),
        };
        let words = format!("API Error: {message}");
        let told = self.assistant(SYNTHETIC, json!({"type": "text", "text": words}));
        lines.json(&with(told, "is_api_error_message", Some(true.into())));
        lines.json(&self.result("stop_sequence", usage, &Outcome { is_error: true, api_error, result: message }));
        Some(1)
    }
}

pub(super) fn refuse_session(session: &str, lines: &mut Lines) -> u8 {
    let words = format!("No conversation found with session ID: {session}");
    lines.err(&words);
    lines.json(&json!({
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": 0,
        "duration_api_ms": 0,
        "is_error": true,
        "num_turns": 0,
        "stop_reason": null,
        "session_id": session,
        "errors": [words],
    }));
    1
}
