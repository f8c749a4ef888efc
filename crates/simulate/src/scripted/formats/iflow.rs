//! `iflow -p`: what is said is on stdout, and at the end comes an `<Execution Info>` block on stderr.

use serde_json::json;

use super::{Ending, Format, Lines, Names, with};
use crate::scripted::script::Usage;

#[derive(Debug)]
pub(super) struct Iflow {
    names: Names,
    rounds: usize,
}

impl Iflow {
    pub(super) fn new(names: Names) -> Self {
        Self { names, rounds: 0 }
    }
}

impl Format for Iflow {
    fn open(&mut self, _lines: &mut Lines) {}

    fn say(&mut self, text: &str, lines: &mut Lines) {
        self.rounds += 1;
        lines.out(&if self.rounds > 1 { format!("\n{text}") } else { text.to_owned() });
    }

    fn end(&mut self, ending: Ending<'_>, usage: Option<Usage>, lines: &mut Lines) -> Option<u8> {
        match ending {
            Ending::Success => {
                let info = json!({"session-id": self.names.session, "assistantRounds": self.rounds});
                let tokens = usage.map(|usage| {
                    let total = usage.input.saturating_add(usage.output);
                    json!({"input": usage.input, "output": usage.output, "total": total})
                });
                lines.err(&format!("\n<Execution Info>\n{:#}\n</Execution Info>", with(info, "tokenUsage", tokens)));
                Some(0)
            }
            Ending::Failure(message) => {
                lines.err(&error(message));
                Some(1)
            }
            Ending::Limit(_) => None,
        }
    }
}

/// On one line: what is below the first would be read as text.
fn error(message: &str) -> String {
    format!("Error: {}", message.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Its real text was never recorded; this is the text of the other engines.
pub(super) fn refuse_session(session: &str, lines: &mut Lines) -> u8 {
    lines.err(&error(&format!("Session not found: {session}")));
    1
}
