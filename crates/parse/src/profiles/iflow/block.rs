//! `<Execution Info>{…}</Execution Info>`, over one line or several.

use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use skillrun_model::rasp::data::TurnUsage;

use crate::record::Span;
use crate::text::json::decode_object;

use super::expressions::is_session_id;

const OPEN: &str = "<Execution Info>";
const CLOSE: &str = "</Execution Info>";

/// Longest block that is accepted; real ones have some 300 bytes.
const BLOCK_MAX: u64 = 64 * 1024;

/// A block that has begun. Keeps its lines, in case they turn out to be text.
#[derive(Debug)]
pub(super) struct OpenBlock {
    pub(super) span: Span,
    pub(super) lines: Vec<(String, Span)>,
    body: String,
    /// The text behind the closing tag, once that was seen.
    behind: Option<String>,
}

/// The effect of a line on a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Open,
    Closed,
    /// It is not a block; the line was not consumed.
    Broken,
}

/// What a block is at the end of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtEnd {
    Cut,
    Broken,
}

/// The content of a block.
#[derive(Debug)]
pub(super) struct Info {
    pub(super) session_id: Option<String>,
    pub(super) usage: Option<TurnUsage>,
    /// Whether it is valid JSON.
    pub(super) is_exact: bool,
}

/// The text behind the opening tag of a line that may begin a block: nothing, or the beginning of an object.
fn behind_open_tag(line: &str) -> Option<&str> {
    let behind = line.trim_start().strip_prefix(OPEN)?;
    may_begin(behind).then_some(behind)
}

fn may_begin(body: &str) -> bool {
    let body = body.trim_start();
    body.is_empty() || body.starts_with('{')
}

impl OpenBlock {
    /// `line` is the text as it is, `plain` without escape sequences.
    pub(super) fn begun_by(line: &str, plain: &str, span: Span) -> Option<Self> {
        let behind = behind_open_tag(plain)?;
        let mut block = Self { span, lines: Vec::new(), body: String::new(), behind: None };
        match block.take(line, behind, span) {
            Step::Broken => None,
            Step::Open | Step::Closed => Some(block),
        }
    }

    pub(super) fn line(&mut self, line: &str, plain: &str, span: Span) -> Step {
        // A line that was too long to parse may lie between; and a block within a block means that this one was text.
        if self.span.to != span.from || behind_open_tag(plain).is_some() {
            return Step::Broken;
        }
        if self.behind.is_none() {
            return self.take(line, plain, span);
        }
        if !plain.trim().is_empty() || span.to - self.span.from > BLOCK_MAX {
            return Step::Broken;
        }
        self.keep(line, span);
        Step::Closed
    }

    fn take(&mut self, line: &str, plain: &str, span: Span) -> Step {
        if span.to - self.span.from > BLOCK_MAX {
            return Step::Broken;
        }
        let close = memmem::find(plain.as_bytes(), CLOSE.as_bytes());
        let inside = &plain[..close.unwrap_or(plain.len())];
        if self.body.is_empty() && !may_begin(inside) {
            return Step::Broken;
        }
        // Blank lines before the object are left out, so that an empty body shows that there is none yet.
        if !self.body.is_empty() || !inside.trim_start().is_empty() {
            self.body.push_str(inside);
            self.body.push('\n');
        }
        if close.is_some() && self.body.is_empty() {
            return Step::Broken;
        }
        self.keep(line, span);
        match close {
            None => Step::Open,
            Some(at) => {
                self.behind = Some(plain[at + CLOSE.len()..].to_owned());
                Step::Closed
            }
        }
    }

    fn keep(&mut self, line: &str, span: Span) {
        self.span.to = span.to;
        self.lines.push((line.to_owned(), span));
    }

    pub(super) fn is_closed(&self) -> bool {
        self.behind.is_some()
    }

    /// The text behind the closing tag, and its line.
    pub(super) fn behind(&self) -> Option<(&str, Span)> {
        let text = self.behind.as_deref().filter(|text| !text.trim().is_empty())?;
        Some((text, self.lines.last()?.1))
    }

    /// An unclosed block still counts if being cut off can explain it.
    pub(super) fn at_end(&self) -> AtEnd {
        match serde_json::from_str::<IgnoredAny>(self.body_before_cut_tag()) {
            Ok(_) => AtEnd::Cut,
            Err(error) if error.is_eof() => AtEnd::Cut,
            Err(_) => AtEnd::Broken,
        }
    }

    fn body_before_cut_tag(&self) -> &str {
        let body = self.body.trim_end();
        match body.rfind('<') {
            Some(at) if CLOSE.starts_with(&body[at..]) => &body[..at],
            Some(_) | None => body,
        }
    }

    pub(super) fn info(&self) -> Info {
        match decode_object(self.body_before_cut_tag()) {
            Some(object) => {
                let session_id = object.get("session-id").and_then(Value::as_str);
                let usage = object.get("tokenUsage").and_then(Value::as_object).map(usage);
                Info { session_id: session_id.and_then(checked), usage, is_exact: true }
            }
            None => Info { session_id: self.written_session_id(), usage: None, is_exact: false },
        }
    }

    /// `"session-id": "…"` of a block that is not JSON, or was cut off.
    fn written_session_id(&self) -> Option<String> {
        const KEY: &str = "\"session-id\"";
        let at = memmem::find(self.body.as_bytes(), KEY.as_bytes())?;
        let value = self.body[at + KEY.len()..].trim_start().strip_prefix(':')?;
        let id = String::deserialize(&mut serde_json::Deserializer::from_str(value)).ok()?;
        checked(&id)
    }
}

fn checked(id: &str) -> Option<String> {
    is_session_id(id).then(|| id.to_owned())
}

fn usage(tokens: &Map<String, Value>) -> TurnUsage {
    let count = |key: &str| tokens.get(key).and_then(Value::as_u64);
    let reported = tokens.iter().filter(|(_, value)| value.is_number());
    TurnUsage {
        input_tokens: count("input"),
        output_tokens: count("output"),
        reported: reported.map(|(key, value)| (key.clone(), value.clone())).collect(),
        ..TurnUsage::default()
    }
}
