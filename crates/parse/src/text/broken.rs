//! Objects that look like JSON and are not valid: where they break, and which part of the text they take.
//!
//! An agent that writes its marker or its question with a trailing comma meant something by it. The broken text does not
//! count, but the user is shown the place of the error instead of that text.

use memchr::{memchr, memchr_iter, memrchr};
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::fences::Fence;
use super::json::repair_surrogates;

/// An object that is not JSON: `text[start..end]`, with the code fence around it when the fence holds nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenObject {
    pub start: usize,
    pub end: usize,
    /// What is wrong and where: "trailing comma at column 41".
    pub problem: String,
}

/// Finds the broken objects of one text.
#[derive(Debug)]
pub struct BrokenObjectFinder<'t> {
    text: &'t str,
    /// All fences of the text.
    fences: &'t [Fence],
    /// The text without lone surrogates, once an object needed it. Inside: none when the text has none.
    repaired: Option<Option<String>>,
}

impl<'t> BrokenObjectFinder<'t> {
    pub fn new(text: &'t str, fences: &'t [Fence]) -> Self {
        Self { text, fences, repaired: None }
    }

    /// The broken object whose `{` is at `start`; none when a complete object starts there.
    pub fn broken_at(&mut self, start: usize) -> Option<BrokenObject> {
        let error = self.error_at(start)?;
        let (stretch_start, end) = stretch(self.text, start, self.fences);
        Some(BrokenObject { start: stretch_start, end, problem: problem(self.text, start, &error) })
    }

    /// A lone surrogate is not a fault. Its replacement has the same length, so that every offset stays valid. The text
    /// is repaired once, and only when an object needs it, because a copy for each object costs far more than reading
    /// it.
    fn error_at(&mut self, start: usize) -> Option<serde_json::Error> {
        let error = read_error(self.text.get(start..)?)?;
        if !error.to_string().contains("hex escape") {
            return Some(error);
        }
        match self.repaired.get_or_insert_with(|| repair_surrogates(self.text)) {
            Some(repaired) => read_error(repaired.get(start..)?),
            None => Some(error),
        }
    }
}

/// Why the text does not begin with an object.
fn read_error(text: &str) -> Option<serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    <Map<String, Value> as serde::Deserialize>::deserialize(&mut reader).err()
}

/// The problem as text, with its place in the whole text.
fn problem(text: &str, start: usize, error: &serde_json::Error) -> String {
    let place = place(text, start, error);
    match error.classify() {
        Category::Eof => format!("the text ends inside the object, at {place}"),
        Category::Syntax | Category::Data | Category::Io => {
            let told = error.to_string();
            // The reader counts from where the object starts.
            let what = told.rsplit_once(" at line ").map_or(told.as_str(), |(what, _)| what);
            format!("{what} at {place}")
        }
    }
}

fn place(text: &str, start: usize, error: &serde_json::Error) -> String {
    let lines_before = memchr_iter(b'\n', &text.as_bytes()[start..]).map(|at| start + at + 1);
    let line_start = lines_before.take(error.line().saturating_sub(1)).last().unwrap_or(start);
    let at = floor(text, (line_start + error.column().saturating_sub(1)).min(text.len()));
    let before = &text[..at];
    let line = memrchr(b'\n', before.as_bytes()).map_or(before, |end| &before[end + 1..]);
    let column = line.chars().count() + 1;
    if memchr(b'\n', text.trim_end().as_bytes()).is_some() {
        format!("line {}, column {column}", memchr_iter(b'\n', before.as_bytes()).count() + 1)
    } else {
        format!("column {column}")
    }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

/// Up to the matching bracket; where it never closes, up to the next blank line. Never past the enclosing fence.
fn stretch(text: &str, start: usize, fences: &[Fence]) -> (usize, usize) {
    let fence = fences.iter().find(|fence| fence.body.0 <= start && start < fence.body.1);
    let limit = fence.map_or(text.len(), |fence| fence.body.1);
    let part = &text[start..limit];
    let end = match (closing_bracket(part), fence) {
        (Some(length), _) => start + length,
        (None, Some(_)) => limit,
        (None, None) => part.find("\n\n").map_or(limit, |blank| start + blank),
    };
    match fence {
        Some(fence) if text[fence.body.0..start].trim().is_empty() && text[end..fence.body.1].trim().is_empty() => {
            (fence.open_start, fence.end)
        }
        Some(_) | None => (start, end),
    }
}

/// Length up to the bracket that closes the first one. Strings end with their line, since an unclosed one is a way to break.
fn closing_bracket(part: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in part.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'\n' => in_string = false,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::fences::find_fences;
    use super::BrokenObjectFinder;
    use proptest::prelude::*;

    fn seen(text: &str) -> Option<(&str, String)> {
        let start = text.find('{').expect("a brace");
        let found = BrokenObjectFinder::new(text, &find_fences(text)).broken_at(start)?;
        Some((&text[found.start..found.end], found.problem))
    }

    #[test]
    fn reports_where_an_object_breaks() {
        let cases = [
            (r#"{"a": 1,}"#, r#"{"a": 1,}"#, "trailing comma at column 9"),
            (r#"é: {"a": 1,} Bye."#, r#"{"a": 1,}"#, "trailing comma at column 12"),
            ("Well.\n{\n  \"a\": 1,\n}\nBye.", "{\n  \"a\": 1,\n}", "trailing comma at line 4, column 1"),
            ("{'a': 1}", "{'a': 1}", "key must be a string at column 2"),
            (r#"{"a" 1}"#, r#"{"a" 1}"#, "expected `:` at column 6"),
            (r#"{"a": {"b": 1}"#, r#"{"a": {"b": 1}"#, "the text ends inside the object, at column 14"),
            ("{\"a\": 1\n\nBye.", "{\"a\": 1", "expected `,` or `}` at line 3, column 1"),
            ("```json\n{\"a\": 1,}\n```\nBye.", "```json\n{\"a\": 1,}\n```", "trailing comma at line 2, column 9"),
            ("```json\n{\"a\": \n```\nBye.", "```json\n{\"a\": \n```", "expected value at line 3, column 1"),
            ("```json\nx {\"a\": 1,} y\n```", "{\"a\": 1,}", "trailing comma at line 2, column 11"),
            (r#"{"a": "\ud800", "b": 1,}"#, r#"{"a": "\ud800", "b": 1,}"#, "trailing comma at column 24"),
            (r#"a \ b {"a": "\ud800", "b": 1,}"#, r#"{"a": "\ud800", "b": 1,}"#, "trailing comma at column 30"),
            (r#"{"a": "\ud80"}"#, r#"{"a": "\ud80"}"#, "invalid escape at column 13"),
        ];
        for (text, stretch, problem) in cases {
            assert_eq!(seen(text), Some((stretch, problem.to_owned())), "{text}");
        }
        for whole in [r#"{"a": 1} and more"#, r#"{"a": "\ud800"}"#] {
            assert_eq!(seen(whole), None, "{whole}");
        }
    }

    proptest! {
        #[test]
        fn any_stretch_lies_inside(text in "(\\{|\\}|\\[|\\]|\"|\\\\|,|:|1|é|```|\n| ){0,24}") {
            let fences = find_fences(&text);
            let mut finder = BrokenObjectFinder::new(&text, &fences);
            for (start, _) in text.match_indices('{') {
                if let Some(found) = finder.broken_at(start) {
                    prop_assert!(found.start <= start && start < found.end, "{found:?}");
                    prop_assert!(text.get(found.start..found.end).is_some());
                }
            }
        }
    }
}
