//! `opencode run --format json`. A step is always open, so that the end of a turn is one line.

use serde_json::{Value, json};

use super::{Ending, Format, Lines, Names, TIMESTAMP_MS, with};
use crate::scripted::script::{Tool, ToolStatus, Usage};

#[derive(Debug)]
pub(super) struct Opencode {
    names: Names,
    /// The model's response that the step belongs to.
    message: String,
}

impl Opencode {
    pub(super) fn new(names: Names) -> Self {
        Self { names, message: String::new() }
    }

    fn event(&self, kind: &str, name: &str, member: Value) -> Value {
        let event = json!({"type": kind, "timestamp": TIMESTAMP_MS, "sessionID": self.names.session});
        with(event, name, Some(member))
    }

    fn text(&mut self, kind: &str, text: &str, lines: &mut Lines) {
        let id = self.names.next("prt");
        let part = json!({"id": id, "messageID": self.message, "type": kind, "text": text});
        lines.json(&self.event(kind, "part", part));
    }

    fn step_start(&mut self, lines: &mut Lines) {
        self.message = self.names.next("msg");
        let part = json!({"id": self.names.next("prt"), "messageID": self.message, "type": "step-start"});
        lines.json(&self.event("step_start", "part", part));
    }

    fn step_finish(&mut self, reason: &str, usage: Option<Usage>, lines: &mut Lines) {
        let tokens = usage.map(|usage| {
            json!({
                "total": usage.input.saturating_add(usage.output),
                "input": usage.input,
                "output": usage.output,
                "reasoning": usage.reasoning,
                "cache": {"write": 0, "read": usage.cached},
            })
        });
        let id = self.names.next("prt");
        let part = json!({"id": id, "reason": reason, "messageID": self.message, "type": "step-finish"});
        lines.json(&self.event("step_finish", "part", with(part, "tokens", tokens)));
    }
}

impl Format for Opencode {
    fn open(&mut self, lines: &mut Lines) {
        self.step_start(lines);
    }

    fn say(&mut self, text: &str, lines: &mut Lines) {
        self.text("text", text, lines);
    }

    fn think(&mut self, text: &str, lines: &mut Lines) {
        self.text("reasoning", text, lines);
    }

    fn tool(&mut self, tool: &Tool, lines: &mut Lines) {
        let state = match tool.status {
            ToolStatus::Completed => json!({"status": "completed", "input": tool.input, "output": tool.output}),
            ToolStatus::Failed => json!({"status": "error", "input": tool.input, "error": tool.output}),
            ToolStatus::Open => json!({"status": "running", "input": tool.input}),
        };
        let (part, call) = (self.names.next("prt"), self.names.next("call"));
        let part = json!({
            "id": part,
            "messageID": self.message,
            "type": "tool",
            "tool": tool.name,
            "callID": call,
            "state": state,
        });
        lines.json(&self.event("tool_use", "part", part));
        match tool.status {
            ToolStatus::Completed | ToolStatus::Failed => {
                self.step_finish("tool-calls", None, lines);
                self.step_start(lines);
            }
            ToolStatus::Open => {}
        }
    }

    fn end(&mut self, ending: Ending<'_>, usage: Option<Usage>, lines: &mut Lines) -> Option<u8> {
        match ending {
            Ending::Success => self.step_finish("stop", usage, lines),
            // The reason is all it says of a limit.
            Ending::Limit(_) => self.step_finish("length", usage, lines),
            Ending::Failure(message) => {
                let error = json!({"name": "UnknownError", "data": {"message": message}});
                lines.json(&self.event("error", "error", error));
                return Some(1);
            }
        }
        Some(0)
    }
}

pub(super) fn refuse_session(lines: &mut Lines) -> u8 {
    lines.err("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found");
    1
}
