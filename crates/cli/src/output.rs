//! Printing: to stdout, as text for people or as one JSON document.
//!
//! Colour is used only on a terminal. Text is wrapped or truncated to the width of a terminal, and never in a pipe. Text
//! from files of others goes through [`plain`], because a terminal obeys some characters.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::args::Color;
use crate::failure::Failure;
use crate::live;
use crate::settings::ProcessContext;
use crate::visible::{is_hidden, visible};

/// Between two columns of a table.
const GAP: usize = 2;

/// How text is printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    colour: Colour,
    /// The columns that sentences are wrapped or truncated to; none: neither.
    width: Option<usize>,
    /// The columns of the terminal. A pipe, also one with `COLUMNS`, receives every value and every line whole.
    terminal: Option<usize>,
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
    /// For paths and values: continued below itself.
    Wrapped,
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
        let width = said.or_else(|| if is_terminal { width_of(rustix::stdio::stdout()) } else { None });
        let width = width.filter(|width| *width > 0);
        let colour = if wanted { Colour::On } else { Colour::Off };
        Self { colour, width, terminal: width.filter(|_| is_terminal) }
    }

    pub(crate) fn paint(&self, ink: Ink, text: &str) -> String {
        match (self.colour, ink.code()) {
            (Colour::On, Some(code)) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            (Colour::On | Colour::Off, _) => text.to_owned(),
        }
    }

    /// The columns of the terminal; none in a pipe.
    pub(crate) fn terminal_width(&self) -> Option<usize> {
        self.terminal
    }

    /// Text whose lines continue on the next line at the edge of the terminal, with their own indentation.
    pub(crate) fn fit(&self, text: &str) -> String {
        match self.terminal {
            Some(width) => text.split_inclusive('\n').map(|line| fitted(line, width)).collect(),
            None => text.to_owned(),
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
        if let Some(width) = self.terminal {
            shrink(&mut widths, width);
        }
        let before: usize = widths.iter().take(N.saturating_sub(1)).map(|width| width + GAP).sum();
        let width = match last {
            LastColumn::Cut => self.width,
            LastColumn::Wrapped => self.terminal,
        };
        let room = width.map(|width| width.saturating_sub(before));
        rows.iter().map(|row| self.row(row, &widths, room, last)).collect()
    }

    fn row<const N: usize>(
        &self,
        row: &[(Ink, String); N],
        widths: &[usize; N],
        room: Option<usize>,
        last: LastColumn,
    ) -> String {
        let mut line = String::new();
        for (column, ((ink, text), width)) in row.iter().zip(widths).enumerate() {
            if column + 1 < N {
                let text = cut(text, *width);
                line.push_str(&self.paint(*ink, &text));
                line.push_str(&" ".repeat(width.saturating_sub(text.width()) + GAP));
                continue;
            }
            let lines = match (room, last) {
                (None, LastColumn::Cut | LastColumn::Wrapped) => vec![text.clone()],
                (Some(room), LastColumn::Cut) => vec![cut(text, room)],
                (Some(room), LastColumn::Wrapped) => wrapped(text, room.max(NARROW), LongWords::Broken),
            };
            let indent: usize = widths.iter().take(N - 1).map(|width| width + GAP).sum();
            let lines: Vec<String> = lines.iter().map(|text| self.paint(*ink, text)).collect();
            line.push_str(&lines.join(&format!("\n{}", " ".repeat(indent))));
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }

    /// Labels and their texts, which continue on the next line at the edge of the terminal.
    pub(crate) fn labelled(&self, rows: &[(Ink, String, String)]) -> String {
        let label_width = rows.iter().map(|(_, label, _)| label.width()).max().unwrap_or(0);
        let room = self.width.map(|width| width.saturating_sub(label_width + GAP).max(NARROW));
        let long = if self.terminal.is_some() { LongWords::Broken } else { LongWords::Whole };
        let mut all = String::new();
        for (ink, label, text) in rows {
            let mut gap = " ".repeat(label_width - label.width() + GAP);
            all.push_str(&self.paint(*ink, label));
            for line in room.map_or_else(|| vec![text.clone()], |room| wrapped(text, room, long)) {
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

/// Makes the widest of the columns before the last one narrower, so that a row fits the terminal.
fn shrink(columns: &mut [usize], width: usize) {
    let Some((last, others)) = columns.split_last_mut() else { return };
    let all: usize = others.iter().map(|width| width + GAP).sum::<usize>() + (*last).min(NARROW);
    if let Some(widest) = others.iter_mut().max() {
        *widest = widest.saturating_sub(all.saturating_sub(width)).max(NARROW.min(*widest));
    }
}

/// What happens to a word that is longer than a line, such as a path or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LongWords {
    /// It continues on the next line.
    Broken,
    Whole,
}

/// Lines of at most `room` columns, broken between words.
fn wrapped(text: &str, room: usize, long: LongWords) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut rest = word;
        match lines.last_mut() {
            Some(line) if line.is_empty() => {}
            Some(line) if columns(line) + 1 + columns(word) <= room => {
                line.push(' ');
                line.push_str(word);
                continue;
            }
            Some(_) | None => lines.push(String::new()),
        }
        loop {
            let (head, tail) = match long {
                LongWords::Broken => rest.split_at(fitting(rest, room)),
                LongWords::Whole => (rest, ""),
            };
            lines.last_mut().unwrap_or(&mut String::new()).push_str(head);
            if tail.is_empty() {
                break;
            }
            lines.push(String::new());
            rest = tail;
        }
    }
    lines
}

/// How many bytes of a word fit on a line: all, or up to a separator of paths or JSON near the edge, or up to the edge.
fn fitting(word: &str, room: usize) -> usize {
    let (mut used, mut edge, mut behind_separator) = (0, 0, None);
    let mut is_colour = false;
    for (at, character) in word.char_indices() {
        let ends_colour = is_colour && character == 'm';
        is_colour |= character == '\x1b';
        used += if is_colour { 0 } else { character.width().unwrap_or(0) };
        is_colour &= !ends_colour;
        // At least one character, however narrow the line is.
        if used > room && edge > 0 {
            return behind_separator.unwrap_or(edge);
        }
        edge = at + character.len_utf8();
        if matches!(character, '/' | ',' | ';' | '&' | '?' | '-' | '}' | ']') && used > room / 2 {
            behind_separator = Some(edge);
        }
    }
    word.len()
}

/// A line, with its end, as one or more lines with the same indentation.
fn fitted(line: &str, width: usize) -> String {
    let text = line.trim_end_matches('\n');
    if columns(text) <= width {
        return line.to_owned();
    }
    // An item of a list continues below its text.
    let body = text.trim_start_matches(' ');
    let body = body.strip_prefix("- ").unwrap_or(body);
    let (before, _) = text.split_at(text.len() - body.len());
    let room = width.saturating_sub(before.len()).max(NARROW);
    let lines = wrapped(body, room, LongWords::Broken);
    format!("{before}{}{}", lines.join(&format!("\n{}", " ".repeat(before.len()))), &line[text.len()..])
}

/// The columns of a text on a terminal. Colours take none.
fn columns(text: &str) -> usize {
    let mut parts = text.split(COLOUR_START);
    let first = parts.next().unwrap_or_default().width();
    first + parts.map(|part| part.split_once('m').map_or(0, |(_, shown)| shown.width())).sum::<usize>()
}

/// What [`Output::paint`] begins a colour with. Text of others does not contain it.
const COLOUR_START: &str = "\x1b[";

pub(crate) fn print(text: &str) -> Result<(), Failure> {
    live::erase();
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

/// The columns of a terminal.
pub(crate) fn width_of(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
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
        let narrow = Output { colour: Colour::Off, width: Some(20), terminal: Some(20) };
        assert_eq!(narrow.table(&rows, LastColumn::Cut), "a          short\nlong-name  words th…\n完成\n");
        let whole = "a          short\nlong-name  words that go on\n完成\n";
        let wrapped = "a          short\nlong-name  words that go on\n完成\n";
        assert_eq!(narrow.table(&rows, LastColumn::Wrapped), wrapped, "a column has at least 20 columns");
        let pipe = Output { width: None, terminal: None, ..narrow };
        assert_eq!(pipe.table(&rows, LastColumn::Cut), whole);
        assert_eq!(pipe.table(&rows, LastColumn::Wrapped), whole);
    }

    /// `skillrun ls` broke at a skill with a long name.
    #[test]
    fn a_wide_column_leaves_room_for_the_others() {
        let rows = [["RUN", "SKILL", "TOOK"], ["01a1", "a-skill-with-a-rather-long-name", "3 min"]];
        let rows = rows.map(|row| row.map(|text| (Ink::Plain, text.to_owned())));
        let narrow = Output { colour: Colour::Off, width: Some(36), terminal: Some(36) };
        let expected = "RUN   SKILL                    TOOK\n01a1  a-skill-with-a-rather-…  3 min\n";
        assert_eq!(narrow.table(&rows, LastColumn::Wrapped), expected);
        let pipe = Output { width: None, terminal: None, ..narrow };
        assert!(pipe.table(&rows, LastColumn::Wrapped).contains("a-skill-with-a-rather-long-name"));
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
        let narrow = Output { colour: Colour::Off, width: Some(27), terminal: Some(27) };
        let broken = concat!(
            "a      one two three four\n       five six\n",
            "       /a/path/that/is/\n       longer/than/a/line\nlabel\n"
        );
        assert_eq!(narrow.labelled(&rows), broken);
        let pipe = Output { width: None, terminal: None, ..narrow };
        assert_eq!(pipe.labelled(&rows[..1]), "a  one two three four five six\n");
        // With COLUMNS, a pipe receives sentences that are wrapped, and paths that can be used.
        let given = Output { width: Some(27), ..pipe };
        assert!(given.labelled(&rows).contains("four\n       five six\n       /a/path/that/is/longer/than/a/line\n"));
    }

    /// The end of a run printed the output and the folder over the edge of the terminal, and below the labels.
    #[test]
    fn the_last_column_continues_below_itself() {
        let rows = [row(["output", r#"{"colours":["red","green","blue"]}"#]), row(["folder", "/data/runs/019b"])];
        let narrow = Output { colour: Colour::Off, width: Some(30), terminal: Some(30) };
        let expected = "output  {\"colours\":[\"red\",\n        \"green\",\"blue\"]}\nfolder  /data/runs/019b\n";
        assert_eq!(narrow.table(&rows, LastColumn::Wrapped), expected);
    }

    #[test]
    fn lines_continue_with_their_own_indentation() {
        let text = "head\n  one two three four five six\n  /a/path/that/is/longer/than/it\n\nlast";
        let narrow = Output { colour: Colour::Off, width: Some(24), terminal: Some(24) };
        let expected = "head\n  one two three four\n  five six\n  /a/path/that/is/\n  longer/than/it\n\nlast";
        assert_eq!(narrow.fit(text), expected);
        assert_eq!(narrow.fit("- one two three four five\n"), "- one two three four\n  five\n");
        assert_eq!(Output { width: None, terminal: None, ..narrow }.fit(text), text);
        for width in 1..60 {
            let text = format!("  {}", "完成/".repeat(40));
            let fitted = Output { terminal: Some(width), ..narrow }.fit(&text);
            assert!(fitted.lines().all(|line| line.width() <= width.max(NARROW + 2)), "{width}: {fitted}");
            let kept: String = fitted.split_whitespace().collect();
            assert_eq!(kept, text.trim(), "{width}");
        }
    }

    #[test]
    fn colours_take_no_columns() {
        let text = format!(
            "  {} and {}",
            Output { colour: Colour::On, width: None, terminal: None }.paint(Ink::Bold, "words"),
            "more"
        );
        assert_eq!(columns(&text), "  words and more".len());
        let output = Output { colour: Colour::On, width: Some(16), terminal: Some(16) };
        assert_eq!(output.fit(&text), text);
        let long = output.paint(Ink::Bold, &"x".repeat(30));
        assert_eq!(output.fit(&long), format!("\x1b[1m{}\n{}\x1b[0m", "x".repeat(20), "x".repeat(10)));
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
        let output = Output { colour: Colour::On, width: None, terminal: None };
        assert_eq!(output.table(&[row(["a", "b"])], LastColumn::Cut), "\x1b[1ma\x1b[0m  \x1b[1mb\x1b[0m\n");
        assert_eq!(output.paint(Ink::Plain, "a"), "a");
    }

    #[test]
    fn nothing_that_a_terminal_obeys() {
        assert_eq!(plain(" a\nb\tc\u{1b}[31m\u{9b}d "), "a b c\\u{1b}[31m\\u{9b}d");
    }
}
