//! A stream that is ready to be sent: events, pauses, and how it ends.

use serde_json::Value;

use super::plan::{Encoding, Fate, Pace, Plan};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    /// One server-sent event.
    pub(super) event: String,
    pub(super) pace: Pace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    /// The connection is closed without the end of the body.
    Cut,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tape {
    pub(super) frames: Vec<Frame>,
    pub(super) ending: Ending,
    encoding: Encoding,
}

/// A text as it is streamed: what is said of it, and what becomes of the stream then.
#[derive(Debug)]
pub(super) struct Said<'a> {
    pub(super) pieces: Vec<&'a str>,
    pub(super) fate: Fate,
}

impl Plan {
    pub(super) fn said<'a>(&self, text: &'a str) -> Said<'a> {
        let mut pieces = pieces(text, self.pieces);
        match self.fate {
            Fate::Whole => {}
            Fate::Cut | Fate::Ended => pieces.truncate(pieces.len() / 2),
        }
        Said { pieces, fate: self.fate }
    }
}

impl Tape {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { frames: Vec::new(), ending: Ending::Whole, encoding: plan.encoding }
    }

    pub(super) fn event(&mut self, name: Option<&str>, data: &Value) {
        self.paced(name, data, Pace::None);
    }

    pub(super) fn paced(&mut self, name: Option<&str>, data: &Value, pace: Pace) {
        let data = json_text(data, self.encoding);
        self.raw(name, &data, pace);
    }

    /// Data that is not JSON, such as the `[DONE]` of one API.
    pub(super) fn word(&mut self, word: &str) {
        self.raw(None, word, Pace::None);
    }

    fn raw(&mut self, name: Option<&str>, data: &str, pace: Pace) {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        self.frames.push(Frame { event: format!("{name}data: {data}\n\n"), pace });
    }

    /// Nothing comes after what was said.
    pub(super) fn stop(mut self, fate: Fate) -> Self {
        self.ending = match fate {
            Fate::Whole | Fate::Ended => Ending::Whole,
            Fate::Cut => Ending::Cut,
        };
        self
    }
}

/// At most this many pieces, with no character cut in two.
pub(super) fn pieces(text: &str, most: usize) -> Vec<&str> {
    let size = text.len().div_ceil(most.max(1)).max(1);
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size.min(rest.len())));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

pub(super) fn json_text(value: &Value, encoding: Encoding) -> String {
    let text = value.to_string();
    match encoding {
        Encoding::Utf8 => text,
        Encoding::Halves => text.chars().map(escaped).collect(),
    }
}

fn escaped(character: char) -> String {
    match character {
        '\0'..='\x7f' => character.to_string(),
        '\u{e000}'..='\u{e7ff}' => format!("\\u{:04x}", u32::from(character) - 0xe000 + 0xd800),
        _ => character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_are_the_text_and_not_too_many() {
        for text in ["", "a", "naïve – 完成 ✅", &"完".repeat(100)] {
            for most in [0, 1, 3, 6, 1000] {
                let pieces = pieces(text, most);
                assert_eq!(pieces.concat(), text);
                assert!(pieces.len() <= most.max(1), "{} of {most}", pieces.len());
                assert!(pieces.iter().all(|piece| !piece.is_empty()));
            }
        }
    }

    #[test]
    fn halves_of_pairs_are_written_as_such() {
        let text = json_text(&json!("a\u{e000}é✅👍\0"), Encoding::Halves);
        assert_eq!(text, r#""a\ud800\u00e9\u2705\ud83d\udc4d\u0000""#);
    }
}
