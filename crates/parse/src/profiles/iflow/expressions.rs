//! What a single line reports: an error of the engine, how to resume the session, or that it is startup noise.

use crate::profile::Emit;
use crate::profiles::text_errors;
use crate::record::Span;

use super::fence::may_be_fence;

/// The beginnings of errors, as they are written. iFlow comes from gemini-cli, whose API errors are in brackets.
const ERROR_WORDS: &[&str] =
    &["Error:", "ERROR", "API Error", "[API Error", "Error when talking to", "fatal:", "Traceback"];
const TRACEBACK: &str = "Traceback";

const ERROR_CONFIDENCE: f64 = 0.7;

/// Most of an error's lines that is kept; the record keeps less.
const TEXT_MAX: usize = 16 * 1024;

fn starts_with_word(line: &str, word: &str) -> bool {
    line.strip_prefix(word).is_some_and(|rest| {
        word.ends_with(':') || !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_')
    })
}

/// An error and the stack trace under it.
#[derive(Debug)]
pub(super) struct OpenError {
    span: Span,
    text: String,
    trace: Trace,
}

/// What may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trace {
    /// Indented lines.
    Indented,
    /// Indented lines, then one that names the exception.
    Python,
    /// Nothing more.
    Over,
}

impl OpenError {
    pub(super) fn begun_by(line: &str, span: Span) -> Option<Self> {
        let word = ERROR_WORDS.iter().find(|word| starts_with_word(line, word))?;
        let trace = if *word == TRACEBACK { Trace::Python } else { Trace::Indented };
        let mut error = Self { span, text: String::new(), trace };
        error.keep(line);
        Some(error)
    }

    /// Takes a line that belongs to the error; false when it does not.
    pub(super) fn take(&mut self, line: &str, span: Span) -> bool {
        let indented = (line.starts_with("  ") || line.starts_with('\t')) && !line.trim().is_empty();
        // A line that was too long to parse may lie between.
        if self.span.to != span.from || may_be_fence(line) {
            return false;
        }
        self.trace = match (self.trace, indented) {
            (Trace::Indented | Trace::Python, true) => self.trace,
            (Trace::Python, false) if names_exception(line) => Trace::Over,
            (Trace::Indented | Trace::Python, false) | (Trace::Over, _) => return false,
        };
        self.span.to = span.to;
        self.keep("\n");
        self.keep(line);
        true
    }

    fn keep(&mut self, text: &str) {
        let room = TEXT_MAX.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }

    pub(super) fn close(self, emit: &mut Emit<'_>) {
        emit.push_at(self.span, Vec::new(), ERROR_CONFIDENCE, text_errors::error(self.text.trim_end()));
    }
}

/// `ValueError: text`, `KeyboardInterrupt`, `package.module.Problem: text`.
fn names_exception(line: &str) -> bool {
    let name = line.split_once(':').map_or(line, |(name, _)| name);
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    name.split('.').all(is_name)
}

/// The session of a line that consists only of a resume hint.
pub(super) fn resume_hint(line: &str) -> Option<&str> {
    const BEGINNINGS: [&str; 4] = ["iflow --resume=", "iflow --resume ", "iflow -r ", "session-id: "];
    own_session(BEGINNINGS.iter().find_map(|beginning| line.strip_prefix(beginning))?.trim())
}

/// An id in iFlow's format. Without a digit it is a placeholder of a manual: `iflow --resume=session-id`.
fn own_session(id: &str) -> Option<&str> {
    let is_own = id.starts_with("session-") && id.contains(|c: char| c.is_ascii_digit());
    (is_own && is_session_id(id)).then_some(id)
}

/// The session of a resume hint inside a line. Whether the line is the engine's or the agent's cannot be determined; a
/// line that contains a brace, or that is a string, is data.
pub(super) fn hint_inside(line: &str) -> Option<&str> {
    const COMMANDS: [&str; 3] = ["iflow --resume=", "iflow --resume ", "iflow -r "];
    if line.contains(['{', '}']) || line.trim_start().starts_with('"') {
        return None;
    }
    let behind = COMMANDS.iter().find_map(|command| line.split_once(command)).map(|(_, behind)| behind)?;
    let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_')).unwrap_or(behind.len());
    own_session(&behind[..end])
}

/// The beginnings of lines that iFlow may write before its turn begins.
const START_UP: &[&str] = &[
    "\u{2139}\u{fe0f}  Resuming session ",
    "\u{2139} Resuming session ",
    "Loaded cached credentials.",
    "Data collection is disabled.",
    "YOLO mode is enabled.",
    "Flushing log events to Clearcut.",
    "(node:",
    "(Use `node --trace-",
    "Ripgrep is not available.",
    "Warning: 256-color support not detected.",
    "Warning: True color (24-bit) support not detected.",
    "[STARTUP] ",
    "[DEBUG] ",
];

pub(super) fn is_start_up(line: &str) -> bool {
    START_UP.iter().any(|beginning| line.starts_with(beginning))
}

const SESSION_ID_MAX: usize = 256;

/// Whether it can be passed to the engine as one word.
pub(super) fn is_session_id(id: &str) -> bool {
    (1..=SESSION_ID_MAX).contains(&id.len())
        && !id.starts_with('-')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':'))
}
