//! `codex exec --json`.

use serde_json::{Value, json};

use super::{Ending, Format, Lines, Names, with};
use crate::scripted::script::{Tool, ToolStatus, Usage};

#[derive(Debug)]
pub(super) struct Codex {
    names: Names,
    items: usize,
}

impl Codex {
    pub(super) fn new(names: Names) -> Self {
        Self { names, items: 0 }
    }

    /// codex restarts the numbers of its items in every turn.
    fn item(&mut self) -> String {
        self.items += 1;
        format!("item_{}", self.items - 1)
    }
}

impl Format for Codex {
    fn open(&mut self, lines: &mut Lines) {
        lines.json(&json!({"type": "thread.started", "thread_id": self.names.session}));
        lines.json(&json!({"type": "turn.started"}));
    }

    fn say(&mut self, text: &str, lines: &mut Lines) {
        let item = json!({"id": self.item(), "type": "agent_message", "text": text});
        lines.json(&json!({"type": "item.completed", "item": item}));
    }

    fn think(&mut self, text: &str, lines: &mut Lines) {
        let item = json!({"id": self.item(), "type": "reasoning", "text": text});
        lines.json(&json!({"type": "item.completed", "item": item}));
    }

    /// A command when that is all of the input. `tool` is not codex's there, but keeps the name the script gave.
    fn tool(&mut self, tool: &Tool, lines: &mut Lines) {
        let id = self.item();
        let item = |output: &str, exit_code: Option<u8>, status: &str| {
            let item = json!({"id": id, "type": "command_execution", "tool": tool.name});
            let command = tool.input.get("command").filter(|command| tool.input.len() == 1 && command.is_string());
            let item = match command {
                Some(command) => with(item, "command", Some(command.clone())),
                None => with(item, "arguments", Some(Value::Object(tool.input.clone()))),
            };
            let item = with(item, "aggregated_output", Some(output.into()));
            let item = with(item, "exit_code", Some(exit_code.into()));
            with(item, "status", Some(status.into()))
        };
        lines.json(&json!({"type": "item.started", "item": item("", None, "in_progress")}));
        let item = match tool.status {
            ToolStatus::Completed => item(&tool.output, Some(0), "completed"),
            ToolStatus::Failed => item(&tool.output, Some(1), "failed"),
            ToolStatus::Open => return,
        };
        lines.json(&json!({"type": "item.completed", "item": item}));
    }

    fn end(&mut self, ending: Ending<'_>, usage: Option<Usage>, lines: &mut Lines) -> Option<u8> {
        let message = match ending {
            Ending::Success => {
                let usage = usage.map(|usage| {
                    json!({
                        "input_tokens": usage.input,
                        "cached_input_tokens": usage.cached,
                        "output_tokens": usage.output,
                        "reasoning_output_tokens": usage.reasoning,
                    })
                });
                lines.json(&with(json!({"type": "turn.completed"}), "usage", usage));
                return Some(0);
            }
            Ending::Failure(message) => message.to_owned(),
            Ending::Limit(message) => format!("{message}, reason: max_output_tokens"),
        };
        lines.json(&json!({"type": "error", "message": message}));
        lines.json(&json!({"type": "turn.failed", "error": {"message": message}}));
        Some(1)
    }
}

pub(super) fn refuse_session(session: &str, lines: &mut Lines) -> u8 {
    let told = format!("no rollout found for thread id {session} (code -32600)");
    lines.err(&format!("Error: thread/resume: thread/resume failed: {told}"));
    1
}
