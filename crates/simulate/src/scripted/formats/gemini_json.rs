//! `gemini --output-format json`: one document at the end, on stdout or, of a failure, on stderr.

use serde_json::{Value, json};

use super::{Ending, Format, Lines, Names, with};
use crate::scripted::script::Usage;

#[derive(Debug)]
pub(super) struct GeminiJson {
    names: Names,
    texts: Vec<String>,
}

impl GeminiJson {
    pub(super) fn new(names: Names) -> Self {
        Self { names, texts: Vec::new() }
    }

    fn document(&self, name: &str, member: Value, usage: Option<Usage>) -> String {
        let stats = usage.map(|usage| {
            let tokens = json!({
                "input": usage.input,
                "prompt": usage.input,
                "candidates": usage.output,
                "total": usage.input.saturating_add(usage.output),
                "cached": usage.cached,
                "thoughts": usage.reasoning,
                "tool": 0,
            });
            json!({"models": {"scripted": {"tokens": tokens}}})
        });
        let document = with(json!({"session_id": self.names.session}), name, Some(member));
        format!("{:#}", with(document, "stats", stats))
    }
}

impl Format for GeminiJson {
    fn open(&mut self, _lines: &mut Lines) {}

    fn say(&mut self, text: &str, _lines: &mut Lines) {
        self.texts.push(text.to_owned());
    }

    fn end(&mut self, ending: Ending<'_>, usage: Option<Usage>, lines: &mut Lines) -> Option<u8> {
        match ending {
            Ending::Success => {
                lines.out(&self.document("response", self.texts.join("\n\n").into(), usage));
                Some(0)
            }
            Ending::Failure(message) => {
                let error = json!({"type": "Error", "message": message, "code": 1});
                lines.err(&self.document("error", error, usage));
                Some(1)
            }
            Ending::Limit(_) => None,
        }
    }
}
