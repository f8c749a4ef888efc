//! The ask_user envelope: how an agent may structure a question.
//!
//! Enrichment only: it never completes and never fails a run. Three envelopes are known:
//!
//! - the text between `<ASK_USER_YAML>` and `</ASK_USER_YAML>`, where the root key `ask_user` may be left out;
//! - a code fence without info or with `yaml` or `yml`, holding a mapping with the single key `ask_user`;
//! - a root JSON object with the single key `ask_user`; one that begins so and is cut or broken is malformed.
//!
//! Which parts of the answer are envelopes is decided here; the content of an envelope is read in `read`.

mod read;
#[cfg(test)]
mod tests;

use read::{read_inside_tags, read_json_root, read_yaml_root};
use serde_json::Value;
use skillrun_model::interaction::{AskOption, DecisionPolicy, InteractionKind};
use skillrun_parse::text::broken::BrokenObjectFinder;
use skillrun_parse::text::fences::{Fence, find_fences};
use skillrun_parse::text::objects::each_object;

const OPEN_TAG: &str = "<ASK_USER_YAML>";
const CLOSE_TAG: &str = "</ASK_USER_YAML>";
const ROOT_KEY: &str = "ask_user";
/// Most mentions of the key that are checked for a broken object.
const BROKEN_TRIED: usize = 64;

/// The questions in an answer. `ranges` are the byte ranges of all envelopes in order, well-formed or not.
#[derive(Debug, Clone, PartialEq)]
pub enum AskUser {
    None,
    /// Envelopes, but none that can be read.
    Malformed {
        ranges: Vec<(usize, usize)>,
    },
    /// The first well-formed envelope counts.
    Found {
        ask: Box<Ask>,
        ranges: Vec<(usize, usize)>,
        notes: Vec<AskNote>,
    },
}

/// What the agent asks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ask {
    pub kind: Option<InteractionKind>,
    pub prompt: Option<String>,
    pub options: Vec<AskOption>,
    pub ui_hints: Option<Value>,
    pub default_decision_policy: Option<DecisionPolicy>,
    pub context: Option<Value>,
}

/// What was not accepted in an envelope that is otherwise well-formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskNote {
    /// The kind became `open_text`.
    UnknownKind(String),
    /// The policy was dropped.
    UnknownPolicy(String),
    /// The options, or the one at this place, were dropped: neither text nor a mapping with `value` or `label`.
    UnreadableOptions(Option<usize>),
}

/// An envelope that can be read.
#[derive(Debug)]
struct Reading {
    ask: Ask,
    notes: Vec<AskNote>,
}

#[derive(Debug)]
struct Envelope {
    start: usize,
    end: usize,
    /// None: malformed.
    reading: Option<Reading>,
}

/// Finds the envelopes of an answer.
pub fn find(answer: &str) -> AskUser {
    let mut envelopes = tagged(answer);
    // A key may be spelled with escapes, in JSON and in quoted YAML, hence the backslash.
    if answer.contains(ROOT_KEY) || answer.contains('\\') {
        let fences = find_fences(answer);
        add_apart(&mut envelopes, fenced(answer, &fences));
        add_apart(&mut envelopes, objects(answer, &fences));
        add_apart(&mut envelopes, broken(answer, &fences));
    }
    let ranges: Vec<_> = envelopes.iter().map(|e| (e.start, e.end)).collect();
    match envelopes.into_iter().find_map(|e| e.reading) {
        Some(Reading { ask, notes }) => AskUser::Found { ask: Box::new(ask), ranges, notes },
        None if ranges.is_empty() => AskUser::None,
        None => AskUser::Malformed { ranges },
    }
}

/// The answer without its envelopes, as a prompt for a person. `ranges` as [`find`] gives them.
pub fn without_envelopes(answer: &str, ranges: &[(usize, usize)]) -> String {
    let mut kept = String::with_capacity(answer.len());
    let mut at = 0;
    for &(start, end) in ranges.iter().chain([&(answer.len(), answer.len())]) {
        // A range that does not fit the text is ignored.
        let (Some(part), Some(_)) = (answer.get(at..start), answer.get(start..end)) else {
            continue;
        };
        at = end;
        if part.trim().is_empty() {
            continue;
        }
        // The gap an envelope leaves closes to one paragraph break, or to a space when it stood within a line.
        let left_space = kept.len() - kept.trim_end().len();
        let right = part.trim_start();
        let right_space = &part[..part.len() - right.len()];
        let breaks_line = kept[kept.len() - left_space..].contains('\n') || right_space.contains('\n');
        kept.truncate(kept.len() - left_space);
        if !kept.is_empty() {
            kept.push_str(if breaks_line { "\n\n" } else { " " });
        }
        kept.push_str(right);
    }
    kept.truncate(kept.trim_end().len());
    kept
}

/// Adds those that overlap none of the existing ones, and keeps the order.
fn add_apart(envelopes: &mut Vec<Envelope>, more: Vec<Envelope>) {
    let mut known = envelopes.iter().peekable();
    let mut apart = Vec::new();
    for envelope in more {
        while known.next_if(|k| k.end <= envelope.start).is_some() {}
        if known.peek().is_none_or(|k| envelope.end <= k.start) {
            apart.push(envelope);
        }
    }
    envelopes.extend(apart);
    envelopes.sort_by_key(|e| e.start);
}

fn tagged(answer: &str) -> Vec<Envelope> {
    let mut envelopes = Vec::new();
    let mut opens = answer.match_indices(OPEN_TAG).map(|(at, _)| at).peekable();
    let mut closes = answer.match_indices(CLOSE_TAG).map(|(at, _)| at).peekable();
    while let Some(start) = opens.next() {
        let content = start + OPEN_TAG.len();
        while closes.next_if(|close| *close < content).is_some() {}
        // Opened again before it was closed: only the later one can be meant, so the earlier one stays unclosed.
        let limit = opens.peek().copied().unwrap_or(answer.len());
        let envelope = match closes.next_if(|close| *close < limit) {
            Some(close) => {
                Envelope { start, end: close + CLOSE_TAG.len(), reading: read_inside_tags(&answer[content..close]) }
            }
            None => Envelope { start, end: limit, reading: None },
        };
        envelopes.push(envelope);
    }
    envelopes
}

fn fenced(answer: &str, fences: &[Fence]) -> Vec<Envelope> {
    fences
        .iter()
        .filter(|fence| {
            let info = &answer[fence.info.0..fence.info.1];
            let language = info.split_whitespace().next().unwrap_or_default();
            ["", "yaml", "yml"].contains(&language.to_ascii_lowercase().as_str())
        })
        .filter_map(|fence| {
            let body = &answer[fence.body.0..fence.body.1];
            let reading = match read_yaml_root(body) {
                Some(content) => content.reading,
                // Other YAML, or other content, unless it clearly attempts to be an envelope.
                None if starts_like_envelope(body) => None,
                None => return None,
            };
            Some(Envelope { start: fence.open_start, end: fence.end, reading })
        })
        .collect()
}

fn starts_like_envelope(body: &str) -> bool {
    let first = body.lines().find(|line| !line.trim().is_empty());
    first.and_then(|line| line.trim_start().strip_prefix(ROOT_KEY)).is_some_and(|rest| rest.starts_with(':'))
}

fn objects(answer: &str, fences: &[Fence]) -> Vec<Envelope> {
    let mut fences = fences.iter().peekable();
    let mut envelopes = Vec::new();
    each_object(answer, |object| {
        let Some(content) = read_json_root(&answer[object.start..object.end]) else { return };
        while fences.next_if(|f| f.body.1 <= object.start).is_some() {}
        // A fence with no other content belongs to the envelope, or its empty shell would be left in the prompt.
        let (start, end) = match fences.peek() {
            Some(fence) if holds_only(answer, fence, object.start, object.end) => (fence.open_start, fence.end),
            Some(_) | None => (object.start, object.end),
        };
        envelopes.push(Envelope { start, end, reading: content.reading });
    });
    envelopes
}

/// Objects that begin with the key and are not JSON: cut, or broken in some other way.
fn broken(answer: &str, fences: &[Fence]) -> Vec<Envelope> {
    let mut finder = BrokenObjectFinder::new(answer, fences);
    let mut envelopes: Vec<Envelope> = Vec::new();
    for (key, quoted) in answer.match_indices("\"ask_user\"").take(BROKEN_TRIED) {
        let before = answer[..key].trim_end();
        if !before.ends_with('{') || !answer[key + quoted.len()..].trim_start().starts_with(':') {
            continue;
        }
        let start = before.len() - 1;
        let behind = envelopes.last().map_or(0, |last| last.end);
        if start < behind {
            continue;
        }
        // With a fence around nothing else, the envelope begins earlier.
        if let Some(broken) = finder.broken_at(start).filter(|broken| broken.start >= behind) {
            envelopes.push(Envelope { start: broken.start, end: broken.end, reading: None });
        }
    }
    envelopes
}

fn holds_only(answer: &str, fence: &Fence, start: usize, end: usize) -> bool {
    fence.body.0 <= start
        && end <= fence.body.1
        && answer[fence.body.0..start].trim().is_empty()
        && answer[end..fence.body.1].trim().is_empty()
}
