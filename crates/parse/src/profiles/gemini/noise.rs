//! What gemini writes in addition to its format. A stack trace, with the error's properties that Node prints, is one
//! engine error; everything that is not clearly one stays raw.
//!
//! ```text
//! Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429}}
//!     at throwErrorIfNotOK (file:///…)
//!     at async Turn.run (file:///…) {
//!   status: 429
//! }
//! ```

use skillrun_model::Code;

use crate::profile::{Emit, LineOutcome, ProfileLine};
use crate::profiles::{stderr, text_errors};
use crate::record::{RecordKind, Span};
use crate::{ansi, classify};

/// A longer trace is not treated as one.
const TRACE_MAX: u64 = 64 * 1024;

const CONFIDENCE: f64 = 0.8;

/// An error whose lines are still arriving.
#[derive(Debug)]
pub(super) struct Trace {
    span: Span,
    /// Made of its first line.
    error: RecordKind,
    /// The properties of the error have begun, behind its last frame. A `}` at the beginning of a line ends them.
    lists_properties: bool,
}

impl Trace {
    fn goes_on_with(&self, span: Span, text: &str) -> bool {
        let adjoins = span.from == self.span.to && span.to - self.span.from <= TRACE_MAX;
        adjoins && text.starts_with([' ', '\t', '}', ']'])
    }
}

pub(super) fn line(open: &mut Option<Trace>, line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
    let text = ansi::strip(line.text);
    if let Some(trace) = open
        && trace.goes_on_with(line.span, &text)
    {
        trace.span.to = line.span.to;
        let line = text.trim_ascii_end();
        trace.lists_properties |= line.trim_ascii_start().starts_with("at ") && line.ends_with('{');
        // gemini writes nothing more until its next attempt, and the retry is to be known in the meantime.
        if trace.lists_properties && line == "}" {
            close(open, emit);
            return LineOutcome::Known;
        }
        return LineOutcome::Held;
    }
    close(open, emit);
    match error_of(&text) {
        Some(error) => {
            *open = Some(Trace { span: line.span, error, lists_properties: false });
            LineOutcome::Held
        }
        None => stderr::line(line, emit),
    }
}

pub(super) fn close(open: &mut Option<Trace>, emit: &mut Emit<'_>) {
    if let Some(trace) = open.take() {
        emit.push_at(trace.span, Vec::new(), CONFIDENCE, trace.error);
    }
}

/// The error that begins with a line.
fn error_of(text: &str) -> Option<RecordKind> {
    let text = text.trim_ascii_end();
    if let Some(rest) = stderr::failed_attempt(text) {
        Some(if stderr::retries(rest) {
            text_errors::warning(Code::EngineRetry, text)
        } else {
            text_errors::error(text)
        })
    } else if let Some(rest) = text.strip_prefix("Error when talking to Gemini API") {
        // The name of the report contains a time, whose digits may look like a status.
        let words = rest.split_once(".json ").map_or(rest, |(_, words)| words);
        Some(text_errors::with_category(text, classify::by_words(words)))
    } else {
        (text.starts_with("[API Error") || names_error(text)).then(|| text_errors::error(text))
    }
}

/// Longest name of an error class.
const NAME_MAX: usize = 100;

/// `TypeError: …`, `Error [ERR_CODE]: …`.
fn names_error(text: &str) -> bool {
    let Some(colon) = text.bytes().take(NAME_MAX).position(|b| b == b':') else { return false };
    let (name, after) = (&text[..colon], &text[colon + 1..]);
    let name = match name.split_once(" [") {
        Some((name, code)) if code.ends_with(']') => name,
        Some(_) | None => name,
    };
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.'));
    is_name && name.ends_with("Error") && (after.is_empty() || after.starts_with(' '))
}
