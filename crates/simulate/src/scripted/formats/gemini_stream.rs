//! `gemini --output-format stream-json`.

use serde_json::{Value, json};

use super::{Ending, Format, Lines, Names, TIMESTAMP, with};
use crate::scripted::script::{Tool, ToolStatus, Usage};

/// A message comes in this many pieces at most, of this many characters at least.
const PIECES_MAX: usize = 40;
const PIECE_MIN: usize = 16;

#[derive(Debug)]
pub(super) struct GeminiStream {
    names: Names,
    said: String,
    /// Pieces of a message were written, and nothing that would end it.
    in_message: bool,
}

impl GeminiStream {
    pub(super) fn new(names: Names, said: &str) -> Self {
        Self { names, said: said.to_owned(), in_message: false }
    }

    fn message(&self, text: &str) -> Value {
        json!({"type": "message", "timestamp": TIMESTAMP, "role": "assistant", "content": text})
    }
}

impl Format for GeminiStream {
    fn open(&mut self, lines: &mut Lines) {
        let (session, model) = (&self.names.session, "scripted");
        lines.json(&json!({"type": "init", "timestamp": TIMESTAMP, "session_id": session, "model": model}));
        lines.json(&json!({"type": "message", "timestamp": TIMESTAMP, "role": "user", "content": self.said}));
    }

    /// In pieces, as gemini does. They have no name and no end, so a second message right after them would become part
    /// of the first; it is written whole.
    fn say(&mut self, text: &str, lines: &mut Lines) {
        if std::mem::take(&mut self.in_message) {
            return lines.json(&self.message(text));
        }
        self.in_message = true;
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(characters.len().div_ceil(PIECES_MAX).max(PIECE_MIN)) {
            let piece = self.message(&piece.iter().collect::<String>());
            lines.json(&with(piece, "delta", Some(true.into())));
        }
    }

    fn tool(&mut self, tool: &Tool, lines: &mut Lines) {
        self.in_message = false;
        let id = self.names.next(&tool.name);
        lines.json(&json!({
            "type": "tool_use",
            "timestamp": TIMESTAMP,
            "tool_name": tool.name,
            "tool_id": id,
            "parameters": tool.input,
        }));
        let result = |status: &str| {
            json!({
                "type": "tool_result",
                "timestamp": TIMESTAMP,
                "tool_id": id,
                "status": status,
                "output": tool.output,
            })
        };
        match tool.status {
            ToolStatus::Completed => lines.json(&result("success")),
            ToolStatus::Failed => {
                let error = json!({"type": "TOOL_EXECUTION_ERROR", "message": tool.output});
                lines.json(&with(result("error"), "error", Some(error)));
            }
            ToolStatus::Open => {}
        }
    }

    fn end(&mut self, ending: Ending<'_>, usage: Option<Usage>, lines: &mut Lines) -> Option<u8> {
        let (status, error, code) = match ending {
            Ending::Success => ("success", None, 0),
            Ending::Failure(message) => ("error", Some(json!({"type": "unknown", "message": message})), 1),
            // At a limit it writes success, and nothing shows the limit.
            Ending::Limit(_) => return None,
        };
        let stats = usage.map(|usage| {
            json!({
                "total_tokens": usage.input.saturating_add(usage.output),
                "input_tokens": usage.input,
                "output_tokens": usage.output,
                "cached": usage.cached,
            })
        });
        let result = json!({"type": "result", "timestamp": TIMESTAMP, "status": status});
        lines.json(&with(with(result, "error", error), "stats", stats));
        Some(code)
    }
}

pub(super) fn refuse_session(lines: &mut Lines) -> u8 {
    lines.err("Error resuming session: No previous sessions found for this project.");
    42
}
