//! The done marker: how an agent states that its work is done.
//!
//! A root object of the text with `"__SKILL_DONE__": true`. One scan serves the gate and the audit, so that both see
//! the same markers, and the same near misses.

#[cfg(test)]
mod tests;

use super::broken::{BrokenObject, BrokenObjectFinder};
use super::fences::{Fence, find_fences};
use super::json::decode_object;
use super::objects::each_object;
use std::collections::VecDeque;

use memchr::{memchr, memmem, memrchr};
use serde_json::{Map, Value};
use skillrun_model::word_enum;

/// Uppercase only. Other spellings are reported as malformed.
pub const DONE_KEY: &str = "__SKILL_DONE__";

word_enum! {
    /// How an object is placed in its message.
    pub MarkerForm {
        /// Only whitespace around it.
        WholeMessage = "whole_message",
        /// The only content of a code fence.
        Fenced = "fenced",
        /// On lines that contain nothing else.
        OwnLine = "own_line",
        InProse = "in_prose",
    }
}

/// The object that carries the marker: `text[start..end]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Marker {
    pub start: usize,
    pub end: usize,
    pub form: MarkerForm,
    /// The object without the marker's key, other keys in their order.
    pub rest: Map<String, Value>,
}

/// A root object of the text: `text[start..end]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScannedObject {
    pub start: usize,
    pub end: usize,
    /// It may be a part of a cut object; see [`super::objects::FoundObject::after_cut`].
    pub after_cut: bool,
    pub standing: MarkerForm,
}

impl ScannedObject {
    /// Its content, decoded on demand: a text can contain many objects, and few of them matter.
    pub fn decode(&self, text: &str) -> Option<Map<String, Value>> {
        decode_object(&text[self.start..self.end])
    }
}

/// Most objects of a text that are kept; the gate looks at them from the last to the first.
const OBJECTS_KEPT: usize = 100_000;
/// Most broken objects of a text that are reported, and most mentions of the key that are examined for that.
const BROKEN_REPORTED: usize = 8;
const BROKEN_TRIED: usize = 64;

/// The content of a text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scan {
    /// The last root objects in order, those with a marker included.
    pub objects: VecDeque<ScannedObject>,
    pub first: Option<Marker>,
    /// Markers after the first.
    pub repeated: usize,
    /// Mentions of the key, in any letter case, that are neither a marker nor its denial.
    pub malformed: usize,
    /// A root object has the key with the value `false`: the agent says "not done". Any other value has no meaning.
    pub denied: bool,
    /// The first objects with such a mention that are not JSON, in order.
    pub broken: Vec<BrokenObject>,
}

/// Finds the objects of a text and the marker among them.
pub fn scan(text: &str) -> Scan {
    let mut scan = Scan { malformed: mentions(text).count(), ..Scan::default() };
    if memchr(b'{', text.as_bytes()).is_none() {
        return scan;
    }
    let fences = find_fences(text);
    let mut standings = Standings::new(text, &fences);
    each_object(text, |found| {
        let json = &text[found.start..found.end];
        let standing = standings.of(found.start, found.end);
        if may_have_key(json)
            && let Some(mut value) = decode_object(json)
        {
            match value.shift_remove(DONE_KEY) {
                Some(Value::Bool(true)) => {
                    scan.malformed -= count_proper_mentions(json, b"true");
                    if scan.first.is_some() {
                        scan.repeated += 1;
                    } else {
                        scan.first = Some(Marker { start: found.start, end: found.end, form: standing, rest: value });
                    }
                }
                Some(Value::Bool(false)) => {
                    scan.malformed -= count_proper_mentions(json, b"false");
                    scan.denied = true;
                }
                Some(Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) | None => {
                }
            }
        }
        if scan.objects.len() == OBJECTS_KEPT {
            scan.objects.pop_front();
        }
        let (start, end, after_cut) = (found.start, found.end, found.after_cut);
        scan.objects.push_back(ScannedObject { start, end, after_cut, standing });
    });
    if scan.malformed > 0 {
        scan.broken = broken_objects(text, &fences, &scan.objects);
    }
    scan
}

/// Objects that mention the key and are not JSON.
fn broken_objects(text: &str, fences: &[Fence], objects: &VecDeque<ScannedObject>) -> Vec<BrokenObject> {
    let mut finder = BrokenObjectFinder::new(text, fences);
    let mut openings = Openings { text, objects, searched: 0, last: None };
    let mut broken: Vec<BrokenObject> = Vec::new();
    for mention in mentions(text).take(BROKEN_TRIED) {
        let behind = broken.last().map_or(0, |last| last.end);
        if broken.len() == BROKEN_REPORTED {
            break;
        }
        // In a whole object the key has another spelling, value or place.
        if mention < behind || around(objects, mention).is_some() {
            continue;
        }
        let start = openings.before(mention).filter(|start| *start >= behind);
        broken.extend(start.and_then(|start| finder.broken_at(start)));
    }
    broken
}

/// The whole object that this place lies in.
fn around(objects: &VecDeque<ScannedObject>, place: usize) -> Option<&ScannedObject> {
    let next = objects.partition_point(|object| object.end <= place);
    objects.get(next).filter(|object| object.start <= place)
}

/// Finds the braces that open no complete object, for positions that are requested in order. Each part of the text is
/// searched once.
#[derive(Debug)]
struct Openings<'t> {
    text: &'t str,
    objects: &'t VecDeque<ScannedObject>,
    /// The text was searched up to here, and `last` was found.
    searched: usize,
    last: Option<usize>,
}

impl Openings<'_> {
    /// The nearest `{` before this position that opens no complete object. The position is not inside one.
    fn before(&mut self, place: usize) -> Option<usize> {
        let mut objects_before = self.objects.partition_point(|object| object.end <= place);
        let mut end = place;
        while end > self.searched {
            let object = objects_before.checked_sub(1).and_then(|index| self.objects.get(index));
            let start = object.map_or(0, |object| object.end).max(self.searched);
            if let Some(brace) = memrchr(b'{', &self.text.as_bytes()[start..end]) {
                self.last = Some(start + brace);
                break;
            }
            end = object.map_or(0, |object| object.start);
            objects_before = objects_before.saturating_sub(1);
        }
        self.searched = place;
        self.last
    }
}

/// Whether the object can have the key at all: spelled plainly, or with an escape.
fn may_have_key(json: &str) -> bool {
    memmem::find(json.as_bytes(), DONE_KEY.as_bytes()).is_some() || memmem::find(json.as_bytes(), b"\\u").is_some()
}

/// Where the quoted key occurs in the text with a colon behind it, in any letter case and context.
fn mentions(text: &str) -> impl Iterator<Item = usize> {
    // The quote and the underscores have no letter case, so a plain search finds all candidates.
    memmem::find_iter(text.as_bytes(), b"\"__").filter(|start| {
        let inner = start + 1;
        text.as_bytes()
            .get(inner..inner + DONE_KEY.len())
            .is_some_and(|key| key.eq_ignore_ascii_case(DONE_KEY.as_bytes()))
            && has_colon(&text.as_bytes()[inner + DONE_KEY.len()..])
    })
}

/// Whether a closing quote and a colon come next.
fn has_colon(rest: &[u8]) -> bool {
    rest.split_first().is_some_and(|(quote, rest)| *quote == b'"' && skip_space(rest).first() == Some(&b':'))
}

fn skip_space(bytes: &[u8]) -> &[u8] {
    let space = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    &bytes[space..]
}

/// How many mentions in a complete object that carries the marker, or its denial, are proper: root keys, spelled
/// plainly, with this value. Usually one; none when the key is written with escapes, two when it occurs twice.
fn count_proper_mentions(object: &str, proper: &[u8]) -> usize {
    let bytes = object.as_bytes();
    let mut count = 0;
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                let end = string_end(bytes, at + 1);
                let is_key = depth == 1 && bytes[at + 1..end] == *DONE_KEY.as_bytes();
                if is_key
                    && let Some(value) = skip_space(&bytes[end + 1..]).strip_prefix(b":")
                    && skip_space(value).starts_with(proper)
                {
                    count += 1;
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    count
}

/// The position of the closing quote of a complete string.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// Determines how objects are placed, for objects that are requested in order.
#[derive(Debug)]
struct Standings<'t> {
    text: &'t str,
    message: (usize, usize),
    /// The trimmed contents of fences.
    fenced: Vec<(usize, usize)>,
    next_fenced: usize,
}

impl<'t> Standings<'t> {
    fn new(text: &'t str, fences: &[Fence]) -> Standings<'t> {
        let fenced = fences.iter().map(|fence| trimmed(text, fence.body)).collect();
        Standings { text, message: trimmed(text, (0, text.len())), fenced, next_fenced: 0 }
    }

    fn of(&mut self, start: usize, end: usize) -> MarkerForm {
        while self.fenced.get(self.next_fenced).is_some_and(|body| body.1 <= start) {
            self.next_fenced += 1;
        }
        if self.message == (start, end) {
            MarkerForm::WholeMessage
        } else if self.fenced.get(self.next_fenced) == Some(&(start, end)) {
            MarkerForm::Fenced
        } else if self.is_on_own_lines(start, end) {
            MarkerForm::OwnLine
        } else {
            MarkerForm::InProse
        }
    }

    /// Examines only the text up to the next visible character on either side: lines can be long and contain many
    /// objects.
    fn is_on_own_lines(&self, start: usize, end: usize) -> bool {
        let ends_line = |next: Option<char>| next.is_none_or(|c| c == '\n');
        let is_visible_or_line_end = |c: &char| *c == '\n' || !c.is_whitespace();
        ends_line(self.text[..start].chars().rev().find(is_visible_or_line_end))
            && ends_line(self.text[end..].chars().find(is_visible_or_line_end))
    }
}

fn trimmed(text: &str, (start, end): (usize, usize)) -> (usize, usize) {
    let part = &text[start..end];
    let start = start + (part.len() - part.trim_start().len());
    (start, start + part.trim().len())
}
