//! The reason that an engine gave on stderr before its process ended: one of the last lines that no rule understood.
//!
//! It only explains a failure that something else has shown; it never decides a verdict.

use std::collections::VecDeque;

use skillrun_model::codes::ErrorCategory;

use crate::buffer::cut;
use crate::{ansi, classify};

/// Most lines that are kept.
const LINES_MAX: usize = 32;
/// Longest text of a line.
const LINE_BUDGET: usize = 1024;

/// The last lines of a stream that no rule understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastLines(VecDeque<String>);

/// What the last lines say about the end of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastWords {
    /// A line that reads like an error.
    Reason { message: String, category: ErrorCategory },
    /// No line does; this is the last one.
    Line(String),
}

impl LastLines {
    pub fn push(&mut self, line: &str) {
        if self.0.len() == LINES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(cut(line, LINE_BUDGET));
    }

    /// Lines that came after these.
    pub fn append(&mut self, later: &Self) {
        later.0.iter().for_each(|line| self.push(line));
    }

    /// The last line that reads like an error, otherwise the last line.
    pub fn words(&self) -> Option<LastWords> {
        let lines: Vec<String> = self.0.iter().filter_map(|line| statement(line)).collect();
        let reason = lines.iter().rev().find_map(|line| {
            let category = classify::by_words(line);
            let message = line.clone();
            (category != ErrorCategory::Engine || names_error(line)).then_some(LastWords::Reason { message, category })
        });
        reason.or_else(|| lines.last().cloned().map(LastWords::Line))
    }
}

/// The line as text, if it is a statement of its own: frames of a stack and members of an object are indented, and
/// brackets have no letters.
fn statement(line: &str) -> Option<String> {
    let shown = ansi::strip(line);
    let text = shown.trim_end();
    let letters = text.chars().filter(|c| c.is_alphabetic()).take(2).count();
    (letters == 2 && !text.starts_with([' ', '\t'])).then(|| text.to_owned())
}

/// Words of programs about their failures, in lower case.
const ERROR_WORDS: &[&str] = &[
    "error",
    "fatal",
    "panic",
    "fail",
    "cannot",
    "can't",
    "could not",
    "unable to",
    "denied",
    "refused",
    "invalid",
    "not found",
    "no such",
    "missing",
    "unknown",
    "unexpected",
    "exception",
    "must be",
    "not allowed",
];

fn names_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    ERROR_WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Option<LastWords> {
        let mut lines = LastLines::default();
        text.lines().for_each(|line| lines.push(line));
        lines.words()
    }

    fn reason(message: &str, category: ErrorCategory) -> Option<LastWords> {
        Some(LastWords::Reason { message: message.to_owned(), category })
    }

    #[test]
    fn the_last_line_that_reads_like_an_error_is_the_reason() {
        let low = "Credit balance is too low";
        assert_eq!(words(&format!("Starting\n{low}\nBye\n")), reason(low, ErrorCategory::Quota));
        let node = "/srv/cli.js:3\n    throw new Error('no key');\n    ^\n\nError: no key\n    at main (/srv/cli.js:3:11)\n\nNode.js v22.1.0\n";
        assert_eq!(words(node), reason("Error: no key", ErrorCategory::Engine));
        let python = "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: bad\n";
        assert_eq!(words(python), reason("ValueError: bad", ErrorCategory::Engine));
        let coloured = "\u{1b}[91m\u{1b}[1mError: \u{1b}[0mmodel is gone\n";
        assert_eq!(words(coloured), reason("Error: model is gone", ErrorCategory::Engine));
    }

    #[test]
    fn without_such_a_line_the_last_statement_is_named() {
        assert_eq!(words("one\ntwo\n  }\n}\n\n"), Some(LastWords::Line("two".to_owned())));
        assert_eq!(words("\n  at x\n}\n"), None);
        assert_eq!(words(""), None);
    }

    #[test]
    fn only_the_last_lines_are_kept_and_long_ones_are_cut() {
        let many = "Error: old\n".to_owned() + &"quiet\n".repeat(LINES_MAX);
        assert_eq!(words(&many), Some(LastWords::Line("quiet".to_owned())));
        let long = words(&"é".repeat(LINE_BUDGET)).expect("a line");
        assert_eq!(long, LastWords::Line("é".repeat(LINE_BUDGET / 2)));
        let (mut first, mut second) = (LastLines::default(), LastLines::default());
        first.push("Error: one");
        (0..LINES_MAX).for_each(|_| second.push("two"));
        first.append(&second);
        assert_eq!(first.words(), Some(LastWords::Line("two".to_owned())), "the lines of both are bounded together");
    }
}
