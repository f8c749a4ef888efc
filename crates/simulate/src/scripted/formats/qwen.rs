//! `qwen --output-format stream-json`: much as claude, but not quite.

use serde_json::{Map, Value, json};

use super::{Ending, Format, Lines, Names, can_use_tool, message_usage, with};
use crate::scripted::script::{Tool, ToolStatus, Usage};

const MODEL: &str = "scripted";

#[derive(Debug)]
pub(super) struct Qwen {
    names: Names,
    /// The last text; the end repeats it.
    answer: String,
}

impl Qwen {
    pub(super) fn new(names: Names) -> Self {
        Self { names, answer: String::new() }
    }

    fn event(&mut self, kind: &str, message: Value) -> Value {
        json!({
            "type": kind,
            "uuid": self.names.next(kind),
            "session_id": self.names.session,
            "parent_tool_use_id": null,
            "message": message,
        })
    }

    fn assistant(&mut self, block: Value, stop_reason: Option<&str>) -> Value {
        let message = json!({
            "id": self.names.next("msg"),
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [block],
            "stop_reason": stop_reason,
        });
        self.event("assistant", message)
    }
}

impl Format for Qwen {
    fn open(&mut self, lines: &mut Lines) {
        let session = &self.names.session;
        lines.json(&json!({
            "type": "system",
            "subtype": "init",
            "uuid": session,
            "session_id": session,
            "tools": [],
            "model": MODEL,
        }));
        let event = json!({"type": "goal_state", "goal_state": {"v": 2, "goal": null, "activity": "idle"}});
        lines.json(&json!({
            "type": "stream_event",
            "uuid": self.names.next("goal"),
            "session_id": self.names.session,
            "parent_tool_use_id": null,
            "event": event,
        }));
    }

    fn say(&mut self, text: &str, lines: &mut Lines) {
        lines.json(&self.assistant(json!({"type": "text", "text": text}), None));
        self.answer = text.to_owned();
    }

    fn think(&mut self, text: &str, lines: &mut Lines) {
        lines.json(&self.assistant(json!({"type": "thinking", "thinking": text, "signature": ""}), None));
    }

    fn tool(&mut self, tool: &Tool, lines: &mut Lines) {
        let id = self.names.next("call");
        let call = json!({"type": "tool_use", "id": id, "name": tool.name, "input": tool.input});
        lines.json(&self.assistant(call, Some("tool_use")));
        let is_error = match tool.status {
            ToolStatus::Completed => false,
            ToolStatus::Failed => true,
            ToolStatus::Open => return,
        };
        let block = json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": tool.output});
        lines.json(&self.event("user", json!({"role": "user", "content": [block]})));
    }

    fn permission(&mut self, id: &str, tool: &str, input: &Map<String, Value>, lines: &mut Lines) {
        lines.json(&can_use_tool(id, tool, input));
    }

    fn end(&mut self, ending: Ending<'_>, usage: Option<Usage>, lines: &mut Lines) -> Option<u8> {
        let (subtype, is_error, code) = match ending {
            Ending::Success => ("success", false, 0),
            Ending::Failure(message) => {
                let text = format!("[API Error: {message}]");
                lines.json(&self.assistant(json!({"type": "text", "text": text}), None));
                ("error_during_execution", true, 1)
            }
            // At a limit it writes success, and no field shows the limit.
            Ending::Limit(_) => return None,
        };
        let (name, words) = match ending {
            Ending::Failure(message) | Ending::Limit(message) => ("error", json!({"message": message})),
            Ending::Success => ("result", self.answer.as_str().into()),
        };
        let result = json!({
            "type": "result",
            "subtype": subtype,
            "uuid": self.names.next("result"),
            "session_id": self.names.session,
            "is_error": is_error,
            "duration_ms": 0,
            "duration_api_ms": 0,
            "num_turns": 1,
        });
        lines.json(&with(with(result, name, Some(words)), "usage", usage.map(message_usage)));
        Some(code)
    }
}

pub(super) fn refuse_session(session: &str, lines: &mut Lines) -> u8 {
    lines.err(&format!("No saved session found with title \"{session}\"."));
    1
}
