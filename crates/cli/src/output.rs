//! Printing: to stdout, as text for people or as one JSON document.
//!
//! Colour is used only on a terminal. Text is truncated to the width of a terminal, and never in a pipe. Text from
//! files of others goes through [`plain`], because a terminal obeys some characters.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::args::Color;
use crate::failure::Failure;
use crate::settings::ProcessContext;
use crate::visible::{is_hidden, visible};

/// Between two columns of a table.
const GAP: usize = 2;

/// How text is printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    colour: Colour,
    /// None: not truncated.
    width: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colour {
    On,
    Off,
}

/// How a piece of text is emphasized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    /// A name, a heading.
    Bold,
    /// Secondary information.
    Dim,
    Good,
    Warning,
    Bad,
}

/// What happens to the last column of a table at the edge of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastColumn {
    /// For sentences, whose first words are enough.
    Cut,
    /// For paths and values.
    Whole,
}

impl Ink {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Good => Some("32"),
            Self::Warning => Some("33"),
            Self::Bad => Some("31"),
        }
    }
}

impl Output {
    pub(crate) fn new(color: Color, surroundings: &ProcessContext) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let wanted = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && surroundings.variable("NO_COLOR").is_none(),
        };
        let said = surroundings.variable("COLUMNS").and_then(|value| value.to_str()?.parse().ok());
        let width = said.or_else(|| if is_terminal { terminal_width() } else { None });
        Self { colour: if wanted { Colour::On } else { Colour::Off }, width: width.filter(|width| *width > 0) }
    }

    pub(crate) fn paint(&self, ink: Ink, text: &str) -> String {
        match (self.colour, ink.code()) {
            (Colour::On, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            (Colour::On | Colour::Off, _) => text.to_owned(),
        }
    }

    /// Aligned columns.
    pub(crate) fn table<const N: usize>(&self, rows: &[[(Ink, String); N]], last: LastColumn) -> String {
        let mut widths = [0; N];
        for row in rows {
            for (width, (_, text)) in widths.iter_mut().zip(row) {
                *width = text.width().max(*width);
            }
        }
        let before: usize = widths.iter().take(N.saturating_sub(1)).map(|width| width + GAP).sum();
        let room = match last {
            LastColumn::Cut => self.width.map(|width| width.saturating_sub(before)),
            LastColumn::Whole => None,
        };
        rows.iter().map(|row| self.row(row, &widths, room)).collect()
    }

    fn row<const N: usize>(&self, row: &[(Ink, String); N], widths: &[usize; N], room: Option<usize>) -> String {
        let mut line = String::new();
        for (column, ((ink, text), width)) in row.iter().zip(widths).enumerate() {
            if column + 1 < N {
                line.push_str(&self.paint(*ink, text));
                line.push_str(&" ".repeat(width - text.width() + GAP));
            } else {
                line.push_str(&self.paint(*ink, &room.map_or_else(|| text.clone(), |room| cut(text, room))));
            }
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }

    /// Labels and their texts, which continue on the next line at the edge of the terminal.
    pub(crate) fn labelled(&self, rows: &[(Ink, String, String)]) -> String {
        let label_width = rows.iter().map(|(_, label, _)| label.width()).max().unwrap_or(0);
        let room = self.width.map(|width| width.saturating_sub(label_width + GAP).max(NARROW));
        let mut all = String::new();
        for (ink, label, text) in rows {
            let mut gap = " ".repeat(label_width - label.width() + GAP);
            all.push_str(&self.paint(*ink, label));
            for line in room.map_or_else(|| vec![text.clone()], |room| wrapped(text, room)) {
                all.push_str(format!("{gap}{line}").trim_end());
                all.push('\n');
                gap = " ".repeat(label_width + GAP);
            }
        }
        all
    }
}

/// Lines have at least this width, however narrow the terminal is.
const NARROW: usize = 20;

/// Lines of at most `room` columns, broken between words. A longer word is not broken: it may be a path.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

pub(crate) fn print(text: &str) -> Result<(), Failure> {
    io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::Write { path: "stdout".to_owned(), error })
}

pub(crate) fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    let failed = |error: serde_json::Error| Failure::Write { path: "stdout".to_owned(), error: error.into() };
    print(&(harmless(&serde_json::to_string_pretty(document).map_err(failed)?) + "\n"))
}

/// Equivalent JSON without characters that a terminal obeys, or that hide or reverse the text around them.
pub(crate) fn harmless(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if character != '\n' && is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            text.push(character);
        }
    }
    text
}

/// On one line, without characters that a terminal obeys, or that hide or reverse the text around them.
pub(crate) fn plain(text: &str) -> String {
    visible(&text.trim().replace(['\n', '\t'], " "), |_| false)
}

/// At most `room` columns, with a mark where text is missing.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.width() <= room || room == 0 {
        return text.to_owned();
    }
    let mut left = room - 1;
    let fits = |character: &char| {
        let width = character.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

fn terminal_width() -> Option<usize> {
    rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok().map(|size| usize::from(size.ws_col))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(texts: [&str; 2]) -> [(Ink, String); 2] {
        texts.map(|text| (Ink::Bold, text.to_owned()))
    }

    #[test]
    fn columns_stand_below_each_other_and_the_last_is_cut() {
        let rows = [row(["a", "short"]), row(["long-name", "words that go on"]), row(["完成", ""])];
        let narrow = Output { colour: Colour::Off, width: Some(20) };
        assert_eq!(narrow.table(&rows, LastColumn::Cut), "a          short\nlong-name  words th…\n完成\n");
        let whole = "a          short\nlong-name  words that go on\n完成\n";
        assert_eq!(narrow.table(&rows, LastColumn::Whole), whole);
        let pipe = Output { width: None, ..narrow };
        assert_eq!(pipe.table(&rows, LastColumn::Cut), whole);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(cut("完成完成", 6), "完成…");
        assert_eq!(cut("完成", 4), "完成");
        assert_eq!(cut("ab cd", 4), "ab…");
    }

    #[test]
    fn long_texts_wrap_below_themselves() {
        let rows = [
            (Ink::Bold, "a".to_owned(), "one two three four five six".to_owned()),
            (Ink::Bold, String::new(), "/a/path/that/is/longer/than/a/line".to_owned()),
            (Ink::Bold, "label".to_owned(), String::new()),
        ];
        let narrow = Output { colour: Colour::Off, width: Some(27) };
        let broken = concat!(
            "a      one two three four\n       five six\n",
            "       /a/path/that/is/longer/than/a/line\nlabel\n"
        );
        assert_eq!(narrow.labelled(&rows), broken);
        let pipe = Output { width: None, ..narrow };
        assert_eq!(pipe.labelled(&rows[..1]), "a  one two three four five six\n");
    }

    #[test]
    fn json_says_the_same_without_what_a_terminal_obeys() {
        let json = serde_json::to_string("\u{9b}31m\u{7f}\u{1b}é").expect("JSON");
        assert_eq!(harmless(&json), "\"\\u009b31m\\u007f\\u001bé\"");
        assert_eq!(serde_json::from_str::<String>(&harmless(&json)).expect("text"), "\u{9b}31m\u{7f}\u{1b}é");
    }

    /// A name that shows as `exe.txt` on a terminal and is `txt.exe`.
    #[test]
    fn text_cannot_be_turned_around() {
        assert_eq!(plain("a\u{202e}txt.exe\u{202c}\u{2066}\u{200b}"), "a\\u{202e}txt.exe\\u{202c}\\u{2066}\\u{200b}");
        let json = serde_json::to_string("\u{202e}\u{e0041}é").expect("JSON");
        assert_eq!(harmless(&json), "\"\\u202e\\udb40\\udc41é\"");
        assert_eq!(serde_json::from_str::<String>(&harmless(&json)).expect("text"), "\u{202e}\u{e0041}é");
    }

    #[test]
    fn colour_is_around_the_text_alone() {
        let output = Output { colour: Colour::On, width: None };
        assert_eq!(output.table(&[row(["a", "b"])], LastColumn::Cut), "\x1b[1ma\x1b[0m  \x1b[1mb\x1b[0m\n");
        assert_eq!(output.paint(Ink::Plain, "a"), "a");
    }

    #[test]
    fn nothing_that_a_terminal_obeys() {
        assert_eq!(plain(" a\nb\tc\u{1b}[31m\u{9b}d "), "a b c\\u{1b}[31m\\u{9b}d");
    }
}
