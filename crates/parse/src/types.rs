//! Types of events: how often each occurred, and which an attempt contains.
//!
//! When an engine changes its format, unknown types appear first, or known ones stop. Names come from the engine, so
//! they are truncated, and their number is bounded.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skillrun_model::{ProfileId, Stream};

use crate::buffer::cut;
use crate::lines::LINE_BUDGET;
use crate::record::{RecordKind, Span};
use crate::{Parser, ansi, json};

/// Types that are counted separately.
pub const TYPES_MAX: usize = 50;
/// Longest name of a type, in bytes.
pub const NAME_MAX: usize = 100;
/// The name for all types that are not counted separately.
pub const OTHERS: &str = "(others)";
/// Types of one attempt that are distinguished.
const SEEN_MAX: usize = 1000;
/// Blocks of one line that are examined.
const BLOCKS_MAX: usize = 1000;

/// How often types occurred, the first 50 by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TypeCounts(BTreeMap<String, u64>);

impl TypeCounts {
    pub fn add(&mut self, name: &str, count: u64) {
        let name = clean(name);
        let named = self.0.len() - usize::from(self.0.contains_key(OTHERS));
        let has_place = self.0.contains_key(&name) || named < TYPES_MAX;
        let of = self.0.entry(if has_place { name } else { OTHERS.to_owned() }).or_default();
        *of = of.saturating_add(count);
    }

    /// Adds the counts of another table.
    pub fn add_all(&mut self, other: &Self) {
        other.iter().for_each(|(name, count)| self.add(name, count));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// The sum of the counts.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A name that is safe to show and not too long.
fn clean(name: &str) -> String {
    let shown = ansi::strip(&name[..name.floor_char_boundary(4 * NAME_MAX)]).into_owned();
    cut(&shown, NAME_MAX)
}

/// How often a type occurred in one attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// In lines that the profile understood.
    pub known: u64,
    /// In lines with unknown content.
    pub unknown: u64,
}

/// The types of events in an attempt's stdout, as finely as the profile distinguishes them: `type`, `type/subtype`, the
/// type of an item, part or block. Formats without types have none.
pub fn seen(profile: ProfileId, stdout: &[u8]) -> BTreeMap<String, Count> {
    let unknown = UnknownLines::of(profile, stdout);
    let mut seen: BTreeMap<String, Count> = BTreeMap::new();
    let mut count = |name: String, is_unknown: bool| {
        let name = clean(&name);
        let has_place = seen.contains_key(&name) || seen.len() < SEEN_MAX;
        let count = seen.entry(if has_place { name } else { OTHERS.to_owned() }).or_default();
        let of = if is_unknown { &mut count.unknown } else { &mut count.known };
        *of += 1;
    };
    if profile == ProfileId::GeminiJson {
        members_of_document(stdout).into_iter().for_each(|name| count(name, false));
        return seen;
    }
    let mut end = 0;
    for line in stdout.split_inclusive(|byte| *byte == b'\n') {
        end += line.len() as u64;
        let Ok(text) = std::str::from_utf8(line.trim_ascii()) else { continue };
        if text.len() <= LINE_BUDGET {
            let is_unknown = unknown.contains(end);
            names(profile, text).into_iter().for_each(|name| count(name, is_unknown));
        }
    }
    seen
}

/// Lines with unknown content, by their ends.
#[derive(Default)]
struct UnknownLines {
    ends: HashSet<u64>,
    /// Ranges of many such lines, in order.
    floods: Vec<Span>,
}

impl UnknownLines {
    fn of(profile: ProfileId, stdout: &[u8]) -> Self {
        let mut lines = Self::default();
        let mut take = |record: crate::Record| {
            if matches!(record.kind, RecordKind::Unknown { .. }) {
                lines.ends.insert(record.span.to);
            } else if matches!(record.kind, RecordKind::Flood(_)) {
                lines.floods.push(record.span);
            }
        };
        let mut parser = Parser::new(profile);
        parser.push(Stream::Stdout, stdout, &mut take);
        parser.eof(Stream::Stdout, &mut take);
        parser.finish(&mut take);
        lines
    }

    fn contains(&self, end: u64) -> bool {
        let next = self.floods.partition_point(|flood| flood.to < end);
        self.ends.contains(&end) || self.floods.get(next).is_some_and(|flood| flood.from < end)
    }
}

type Raw<'a> = Option<&'a RawValue>;

/// Members that determine a type, in any of the formats.
#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Typed<'a> {
    #[serde(rename = "type", alias = "item_type")]
    kind: Raw<'a>,
    subtype: Raw<'a>,
    role: Raw<'a>,
    status: Raw<'a>,
    severity: Raw<'a>,
    item: Raw<'a>,
    part: Raw<'a>,
    message: Raw<'a>,
    content: Raw<'a>,
    event: Raw<'a>,
    request: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Called<'a> {
    method: Raw<'a>,
    params: Raw<'a>,
    update: Raw<'a>,
    session_update: Raw<'a>,
    result: Raw<'a>,
    error: Raw<'a>,
    protocol_version: Raw<'a>,
    stop_reason: Raw<'a>,
    session_id: Raw<'a>,
}

fn object<'a, T: Deserialize<'a> + Default>(raw: Raw<'a>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn word(raw: Raw<'_>) -> Option<String> {
    raw.and_then(json::decode::<String>)
}

fn names(profile: ProfileId, line: &str) -> Vec<String> {
    match profile {
        ProfileId::IflowText | ProfileId::PlainText | ProfileId::GeminiJson => Vec::new(),
        ProfileId::AcpJsonrpc => called(line).into_iter().collect(),
        ProfileId::ClaudeStreamJson | ProfileId::QwenStreamJson if line.starts_with('[') => {
            let events = json::elements(line, BLOCKS_MAX);
            events.iter().flat_map(|event| typed(profile, event.get())).collect()
        }
        ProfileId::CodexNdjson
        | ProfileId::GeminiStreamJson
        | ProfileId::OpencodeNdjson
        | ProfileId::ClaudeStreamJson
        | ProfileId::QwenStreamJson => typed(profile, line),
    }
}

fn typed(profile: ProfileId, line: &str) -> Vec<String> {
    let Ok(event) = serde_json::from_str::<Typed<'_>>(line) else { return Vec::new() };
    let Some(kind) = word(event.kind) else { return Vec::new() };
    let inner = |raw: Raw<'_>| word(object::<Typed<'_>>(raw).kind);
    let detail = match profile {
        ProfileId::CodexNdjson => inner(event.item),
        ProfileId::OpencodeNdjson => inner(event.part),
        ProfileId::GeminiStreamJson => word(event.role).or_else(|| word(event.severity)).or_else(|| word(event.status)),
        ProfileId::ClaudeStreamJson | ProfileId::QwenStreamJson => {
            let blocks = blocks(&kind, event.message);
            if !blocks.is_empty() {
                return blocks;
            }
            let asked = || word(object::<Typed<'_>>(event.request).subtype);
            word(event.subtype).or_else(|| inner(event.event)).or_else(asked)
        }
        ProfileId::GeminiJson | ProfileId::IflowText | ProfileId::PlainText | ProfileId::AcpJsonrpc => None,
    };
    vec![detail.map_or_else(|| kind.clone(), |detail| format!("{kind}/{detail}"))]
}

/// The types of a message's blocks, each once.
fn blocks(kind: &str, message: Raw<'_>) -> Vec<String> {
    let content = object::<Typed<'_>>(message).content;
    let mut names: Vec<String> = Vec::new();
    for block in json::elements(content.map_or("", RawValue::get), BLOCKS_MAX) {
        let name = word(object::<Typed<'_>>(Some(block)).kind).map(|block| format!("{kind}/{block}"));
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}

/// A method, an update, or the result of a response.
fn called(line: &str) -> Option<String> {
    let message = serde_json::from_str::<Called<'_>>(line).ok()?;
    if let Some(method) = word(message.method) {
        let update = object::<Called<'_>>(object::<Called<'_>>(message.params).update);
        return Some(match word(update.session_update) {
            Some(kind) => format!("{method}:{kind}"),
            None => method,
        });
    }
    if message.error.is_some() {
        return Some("answer:error".to_owned());
    }
    let result = object::<Called<'_>>(Some(message.result?));
    Some(match word(result.stop_reason) {
        Some(reason) => format!("answer:prompt/{reason}"),
        None if result.protocol_version.is_some() => "answer:initialize".to_owned(),
        None if result.session_id.is_some() => "answer:session".to_owned(),
        None => "answer".to_owned(),
    })
}

/// The members of the one document, for the format that has no other types.
fn members_of_document(stdout: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stdout);
    let Some(from) = text.find('{') else { return Vec::new() };
    let mut documents = serde_json::Deserializer::from_str(&text[from..]).into_iter::<BTreeMap<String, &RawValue>>();
    let Some(Ok(members)) = documents.next() else { return Vec::new() };
    members.into_keys().take(SEEN_MAX).map(|name| format!("document/{name}")).collect()
}
