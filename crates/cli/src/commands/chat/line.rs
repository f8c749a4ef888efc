//! Reads prompts: a line editor on a terminal, plain lines elsewhere.

use std::cell::RefCell;
use std::io::{self, BufRead, IsTerminal, Read};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};
use skillrun_runs::prompt::{self, PROMPT_MAX};

use super::history::PromptHistory;
use crate::failure::Failure;
use crate::settings::Settings;

/// What was typed at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    Text(String),
    /// Something that cannot be sent, and why.
    Unusable(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the end of the input.
    End,
}

pub(super) struct LineReader {
    /// None where stdin is not a terminal.
    editor: Option<Editor<Continued, DefaultHistory>>,
    history: PromptHistory,
}

impl LineReader {
    pub(super) fn open(settings: &Settings) -> Result<Self, Failure> {
        let failed =
            |error: ReadlineError| Failure::internal(format!("failed to read from the terminal: {error}"), error);
        let config = Config::builder().auto_add_history(false).bracketed_paste(true).build();
        let (history, before) = PromptHistory::open(&settings.data.chat_history());
        if !io::stdin().is_terminal() {
            return Ok(Self { editor: None, history });
        }
        let mut editor = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Continued::default()));
        for prompt in before {
            editor.add_history_entry(prompt).map_err(failed)?;
        }
        Ok(Self { editor: Some(editor), history })
    }

    /// One prompt or command. `begun` was typed before the prompt appeared.
    pub(super) fn read(&mut self, label: &str, begun: &str) -> Result<Typed, Failure> {
        let Some(editor) = &mut self.editor else { return Ok(plain_line(&mut io::stdin().lock())) };
        let read = editor.readline_with_initial(label, (begun, ""));
        let continued = editor.helper().map(Continued::take).unwrap_or_default();
        match read {
            Ok(text) => Ok(Typed::Text(joined(&text, &continued))),
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupt),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(ReadlineError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Ok(Typed::Unusable("the prompt is not UTF-8, and was discarded; enter it again".to_owned()))
            }
            // The terminal is gone, as after a hang-up.
            Err(ReadlineError::Io(_)) => Ok(Typed::End),
            Err(error) => Err(Failure::internal(format!("failed to read from the terminal: {error}"), error)),
        }
    }

    /// For the arrow keys, in this conversation and later ones.
    pub(super) fn keep(&mut self, text: &str) {
        // It is a convenience; a prompt that cannot be kept is sent all the same.
        let _ = self.editor.as_mut().map(|editor| editor.add_history_entry(text));
        self.history.add(text);
    }
}

/// A prompt or command where stdin is not a terminal. A line that ends in a backslash is continued on the next one.
fn plain_line(from: &mut impl BufRead) -> Typed {
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        // One byte more than the limit, so that a longer text is refused and not cut.
        let room = (PROMPT_MAX + 1).saturating_sub(before);
        match Read::by_ref(from).take(room as u64).read_until(b'\n', &mut bytes) {
            Ok(0) if bytes.is_empty() => return Typed::End,
            Ok(_) => {}
            Err(_) => return Typed::End,
        }
        let is_whole = bytes.len() > before && bytes.pop_if(|last| *last == b'\n').is_some();
        if is_whole && bytes.last() == Some(&b'\\') {
            bytes.pop();
            bytes.push(b'\n');
            continue;
        }
        if !is_whole && bytes.len() > PROMPT_MAX {
            // The rest of the line is not another prompt.
            if from.skip_until(b'\n').is_err() {
                return Typed::End;
            }
        }
        return match prompt::decode(bytes) {
            Ok(text) => Typed::Text(text),
            Err(fault) => Typed::Unusable(fault.to_string()),
        };
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

    fn plain_lines(mut input: &[u8]) -> Vec<Typed> {
        let mut lines = Vec::new();
        loop {
            match plain_line(&mut input) {
                Typed::End => return lines,
                line @ (Typed::Text(_) | Typed::Unusable(_) | Typed::Interrupt) => lines.push(line),
            }
        }
    }

    #[test]
    fn lines_of_a_pipe_are_whole_or_refused() {
        let text = |text: &str| Typed::Text(text.to_owned());
        assert_eq!(
            plain_lines(b"one\ntwo\\\nthree\n\nlast"),
            [text("one"), text("two\nthree"), text(""), text("last")]
        );
        let refused = "the prompt is not UTF-8: byte 3 is invalid; convert it to UTF-8, or attach it as a file";
        assert_eq!(plain_lines(b"caf\xe9\nnext\n"), [Typed::Unusable(refused.to_owned()), text("next")]);
        let long = [&[b'x'; PROMPT_MAX * 2][..], b"\nnext"].concat();
        let refused = "the prompt has more than 524288 bytes (PROMPT_MAX); attach longer text as a file";
        assert_eq!(plain_lines(&long), [Typed::Unusable(refused.to_owned()), text("next")]);
    }

    #[test]
    fn only_backslashes_that_continued_a_line_are_removed() {
        assert_eq!(joined("a\\\nb\\\nc", &[1, 4]), "a\nb\nc");
        assert_eq!(joined("a\\\nb", &[]), "a\\\nb", "pasted");
        assert_eq!(joined("ä\\\nb\\", &[2, 5]), "ä\nb\\", "the last one was removed again by the user");
        assert_eq!(joined("ab", &[1, 7]), "ab");
    }
}
