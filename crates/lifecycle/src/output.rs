//! Which object of a message is the output.

use serde_json::{Map, Value};
use skillrun_model::verdict::OutputValidator;
use skillrun_parse::text::fences::{Fence, find_fences};
use skillrun_parse::text::marker::{DONE_KEY, MarkerForm, Scan, ScannedObject, scan};
use skillrun_translate::facts::FinalMessage;

/// The output of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Matches the schema, or there is no schema.
    Valid(Map<String, Value>),
    Invalid(Vec<String>),
    Missing,
}

/// A message with its objects found.
#[derive(Debug)]
pub(crate) struct MessageScan<'a> {
    text: &'a str,
    pub(crate) scan: Scan,
    /// Stretches that are a question, not output; in order.
    envelopes: Vec<(usize, usize)>,
    /// The message is larger than the part that is examined.
    pub(crate) is_cut: bool,
    /// Text before this place may be part of an object whose beginning is missing.
    whole_from: usize,
}

/// Which objects count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectPosition {
    Anywhere,
    /// The whole answer, a fence, or lines of its own.
    Alone,
}

impl<'a> MessageScan<'a> {
    pub(crate) fn new(message: &'a FinalMessage, envelopes: Vec<(usize, usize)>) -> Self {
        let (text, scan) = (message.text.as_str(), scan(&message.text));
        let whole_from = if message.truncated { end_of_cut(text, &scan) } else { 0 };
        Self { text, scan, envelopes, is_cut: message.truncated, whole_from }
    }

    /// Objects that may be the output: not a question, and not part of a cut object.
    fn candidates(&self, standing: ObjectPosition) -> impl DoubleEndedIterator<Item = &ScannedObject> {
        self.scan.objects.iter().filter(move |object| {
            let stands = match (standing, object.standing) {
                (ObjectPosition::Anywhere, _) => true,
                (ObjectPosition::Alone, MarkerForm::WholeMessage | MarkerForm::Fenced | MarkerForm::OwnLine) => true,
                (ObjectPosition::Alone, MarkerForm::InProse) => false,
            };
            stands && !object.after_cut && object.start >= self.whole_from && !self.is_in_envelope(object)
        })
    }

    /// Envelopes never overlap, so the first one that ends behind the object's beginning decides.
    fn is_in_envelope(&self, object: &ScannedObject) -> bool {
        let next = self.envelopes.partition_point(|(_, to)| *to <= object.start);
        self.envelopes.get(next).is_some_and(|(from, _)| *from < object.end)
    }

    /// The object without the marker; the marker is control data and never output.
    fn decode(&self, object: &ScannedObject) -> Option<Map<String, Value>> {
        let mut value = object.decode(self.text)?;
        value.shift_remove(DONE_KEY);
        Some(value)
    }
}

/// The position of the last closing bracket that was never opened. The text before it is presumably the rest of an
/// object whose beginning is missing, and objects in that rest are not roots.
fn end_of_cut(text: &str, scan: &Scan) -> usize {
    let (mut end, mut open, mut at) = (0, 0_usize, 0);
    for (from, to) in scan.objects.iter().map(|object| (object.start, object.end)).chain([(text.len(), text.len())]) {
        for (place, byte) in (at..).zip(text[at..from].bytes()) {
            match byte {
                b'{' | b'[' => open += 1,
                b'}' | b']' if open == 0 => end = place + 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
        }
        at = to;
    }
    end
}

fn judge(value: Map<String, Value>, schema: Option<&dyn OutputValidator>) -> Output {
    match schema.map(|s| s.errors(&value)).filter(|errors| !errors.is_empty()) {
        None => Output::Valid(value),
        Some(errors) => Output::Invalid(errors),
    }
}

/// The output of a turn with a marker: the object that carries the marker; if that is otherwise empty, the nearest
/// object before it in the same message, else the last object of the closing messages before it.
pub(crate) fn with_marker(
    carrier: &MessageScan<'_>,
    before: &[MessageScan<'_>],
    schema: Option<&dyn OutputValidator>,
) -> Output {
    let Some(marker) = &carrier.scan.first else { return Output::Missing };
    let last_of = |read: &MessageScan<'_>, limit: usize| {
        let mut in_front = read.candidates(ObjectPosition::Anywhere).rev().filter(|object| object.end <= limit);
        in_front.find_map(|object| read.decode(object))
    };
    let found = if marker.rest.is_empty() {
        last_of(carrier, marker.start).or_else(|| before.iter().rev().find_map(|read| last_of(read, read.text.len())))
    } else {
        Some(marker.rest.clone())
    };
    found.map_or(Output::Missing, |value| judge(value, schema))
}

/// The output of a turn without a marker: the last object of these messages that matches.
pub(crate) fn without_marker(
    messages: &[MessageScan<'_>],
    standing: ObjectPosition,
    schema: Option<&dyn OutputValidator>,
) -> Output {
    let mut last_errors = None;
    for (message, object) in from_the_last(messages, standing) {
        let Some(value) = message.decode(object) else { continue };
        match judge(value, schema) {
            Output::Invalid(errors) => last_errors = last_errors.or(Some(errors)),
            valid @ (Output::Valid(_) | Output::Missing) => return valid,
        }
    }
    last_errors.map_or(Output::Missing, Output::Invalid)
}

/// Most objects that are tried only to report one that does not count.
const NOTICE_CANDIDATES_MAX: usize = 1_000;

/// The last of these messages that has a matching object.
pub(crate) fn last_fitting(messages: &[MessageScan<'_>], schema: &dyn OutputValidator) -> Option<usize> {
    let mut tries = from_the_last(messages, ObjectPosition::Anywhere).take(NOTICE_CANDIDATES_MAX);
    let fits = |message: &MessageScan<'_>, object| {
        message.decode(object).is_some_and(|value| schema.errors(&value).is_empty())
    };
    let (found, _) = tries.find(|(message, object)| fits(message, object))?;
    messages.iter().position(|message| std::ptr::eq(message, found))
}

/// The objects of these messages from the last message to the first, in each from the last object to the first.
fn from_the_last<'r, 'm>(
    messages: &'r [MessageScan<'m>],
    standing: ObjectPosition,
) -> impl Iterator<Item = (&'r MessageScan<'m>, &'r ScannedObject)> {
    messages
        .iter()
        .rev()
        .flat_map(move |message| message.candidates(standing).rev().map(move |object| (message, object)))
}

/// An answer that is not JSON, as output.
pub(crate) fn as_text(answer: &MessageScan<'_>) -> Map<String, Value> {
    let mut output = Map::new();
    output.insert("text".to_owned(), Value::String(cut_markers(answer.text, &answer.scan)));
    output
}

/// A text without marker objects and fences that held only them.
pub fn without_markers(text: &str) -> String {
    cut_markers(text, &scan(text))
}

fn cut_markers(text: &str, scan: &Scan) -> String {
    let markers = scan.objects.iter().filter(|object| is_marker(text, scan, object));
    let markers: Vec<_> = markers.map(|object| (object.start, object.end)).collect();
    let fences = find_fences(text);
    let shells = fences.iter().filter(|fence| holds_only(text, fence, &markers));
    let mut cuts: Vec<_> = shells.map(|fence| (fence.open_start, fence.end)).chain(markers.iter().copied()).collect();
    cuts.sort_unstable();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for (from, to) in cuts {
        // A marker whose fence is already removed lies behind.
        if from >= at {
            kept.push_str(&text[at..from]);
            at = to;
        }
    }
    kept.push_str(&text[at..]);
    kept.trim().to_owned()
}

fn is_marker(text: &str, scan: &Scan, object: &ScannedObject) -> bool {
    let has_key = scan.first.as_ref().is_some_and(|first| first.start <= object.start);
    has_key && object.decode(text).is_some_and(|value| value.get(DONE_KEY) == Some(&Value::Bool(true)))
}

/// Whether the fence contains marker objects and nothing else.
fn holds_only(text: &str, fence: &Fence, markers: &[(usize, usize)]) -> bool {
    let (mut at, end) = fence.body;
    let first = markers.partition_point(|(from, _)| *from < at);
    let inside = markers[first..].iter().take_while(|(_, to)| *to <= end);
    let mut is_empty = true;
    for (from, to) in inside {
        if !text[at..*from].trim().is_empty() {
            return false;
        }
        (at, is_empty) = (*to, false);
    }
    !is_empty && text[at..end].trim().is_empty()
}
