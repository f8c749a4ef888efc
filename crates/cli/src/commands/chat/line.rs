//! Reads prompts: a line editor on a terminal, plain lines elsewhere.

use std::cell::RefCell;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};

use super::history::PromptHistory;
use crate::failure::Failure;
use crate::settings::Settings;

/// What was typed at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    Text(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the end of the input.
    End,
}

pub(super) struct LineReader {
    editor: Editor<Continued, DefaultHistory>,
    history: PromptHistory,
}

impl LineReader {
    pub(super) fn open(settings: &Settings) -> Result<Self, Failure> {
        let failed =
            |error: ReadlineError| Failure::internal(format!("failed to read from the terminal: {error}"), error);
        let config = Config::builder().auto_add_history(false).bracketed_paste(true).build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Continued::default()));
        let (history, before) = PromptHistory::open(&settings.data.chat_history());
        for prompt in before {
            editor.add_history_entry(prompt).map_err(failed)?;
        }
        Ok(Self { editor, history })
    }

    /// One prompt or command. `begun` was typed before the prompt appeared.
    pub(super) fn read(&mut self, label: &str, begun: &str) -> Result<Typed, Failure> {
        let read = self.editor.readline_with_initial(label, (begun, ""));
        let continued = self.editor.helper().map(Continued::take).unwrap_or_default();
        match read {
            Ok(text) => Ok(Typed::Text(joined(&text, &continued))),
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupt),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            // The terminal is gone, as after a hang-up.
            Err(ReadlineError::Io(_)) => Ok(Typed::End),
            Err(error) => Err(Failure::internal(format!("failed to read from the terminal: {error}"), error)),
        }
    }

    /// For the arrow keys, in this conversation and later ones.
    pub(super) fn keep(&mut self, text: &str) {
        // It is a convenience; a prompt that cannot be kept is sent all the same.
        let _ = self.editor.add_history_entry(text);
        self.history.add(text);
    }
}

/// A line that ends in a backslash is continued on the next one.
#[derive(Debug, Default)]
struct Continued {
    /// Where the backslashes are.
    places: RefCell<Vec<usize>>,
}

impl Continued {
    fn take(&self) -> Vec<usize> {
        self.places.take()
    }
}

impl Validator for Continued {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let Some(before) = context.input().strip_suffix('\\') else { return Ok(ValidationResult::Valid(None)) };
        self.places.borrow_mut().push(before.len());
        Ok(ValidationResult::Incomplete)
    }
}

impl Completer for Continued {
    type Candidate = String;
}
impl Hinter for Continued {
    type Hint = String;
}
impl Highlighter for Continued {}
impl Helper for Continued {}

/// The text without the backslashes that continued a line. Those in pasted text stay.
fn joined(text: &str, continued: &[usize]) -> String {
    let is_mark = |at: usize| continued.contains(&at) && text[at..].starts_with("\\\n");
    text.char_indices().filter(|(at, _)| !is_mark(*at)).map(|(_, character)| character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_backslashes_that_continued_a_line_are_removed() {
        assert_eq!(joined("a\\\nb\\\nc", &[1, 4]), "a\nb\nc");
        assert_eq!(joined("a\\\nb", &[]), "a\\\nb", "pasted");
        assert_eq!(joined("ä\\\nb\\", &[2, 5]), "ä\nb\\", "the last one was removed again by the user");
        assert_eq!(joined("ab", &[1, 7]), "ab");
    }
}
