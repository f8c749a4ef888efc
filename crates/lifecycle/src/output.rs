//! Which object of a message is the output.

use serde_json::{Map, Value};
use skillrun_parse::text::fences::find_fences;
use skillrun_parse::text::marker::{DONE_KEY, MarkerForm, Scan, ScannedObject};

/// Asks whether an output fits the skill's schema. Implemented where schemas are known.
pub trait OutputValidator: std::fmt::Debug {
    /// Nothing, or what is wrong, one sentence each.
    fn errors(&self, output: &Map<String, Value>) -> Vec<String>;
}

/// The output of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Fits the schema, or there is none.
    Valid(Map<String, Value>),
    Invalid(Vec<String>),
    Missing,
}

/// A message with its objects found.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    pub(crate) text: &'a str,
    pub(crate) scan: Scan,
    /// Stretches that are a question, not output.
    pub(crate) envelopes: Vec<(usize, usize)>,
}

/// Which objects count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Anywhere,
    /// The whole answer, a fence, or lines of its own.
    Alone,
}

impl Read<'_> {
    /// Objects that may be the output: no question, and no part of a cut object.
    fn candidates(&self, standing: Standing) -> impl DoubleEndedIterator<Item = &ScannedObject> {
        self.scan.objects.iter().filter(move |object| {
            let stands = match (standing, object.standing) {
                (Standing::Anywhere, _) => true,
                (Standing::Alone, MarkerForm::WholeMessage | MarkerForm::Fenced | MarkerForm::OwnLine) => true,
                (Standing::Alone, MarkerForm::InProse) => false,
            };
            let in_envelope = self.envelopes.iter().any(|(from, to)| object.start < *to && object.end > *from);
            stands && !object.after_cut && !in_envelope
        })
    }

    fn is_marker(&self, object: &ScannedObject) -> bool {
        let has_key = self.scan.first.as_ref().is_some_and(|first| first.start <= object.start);
        has_key && object.decode(self.text).is_some_and(|value| value.get(DONE_KEY) == Some(&Value::Bool(true)))
    }

    /// The object without the marker; the marker is control and never output.
    fn decode(&self, object: &ScannedObject) -> Option<Map<String, Value>> {
        let mut value = object.decode(self.text)?;
        value.shift_remove(DONE_KEY);
        Some(value)
    }
}

fn judge(value: Map<String, Value>, schema: Option<&dyn OutputValidator>) -> Output {
    match schema.map(|s| s.errors(&value)).filter(|errors| !errors.is_empty()) {
        None => Output::Valid(value),
        Some(errors) => Output::Invalid(errors),
    }
}

/// Output of a turn that says it is done: the object that carries the marker; if nothing is left of it, the nearest
/// object before it in the same message, else the last object of the message before.
pub(crate) fn with_marker(
    carrier: &Read<'_>,
    before: Option<&Read<'_>>,
    answer: &Read<'_>,
    schema: Option<&dyn OutputValidator>,
) -> Output {
    let Some(marker) = &carrier.scan.first else { return Output::Missing };
    let found = if marker.rest.is_empty() {
        let in_front = |object: &&ScannedObject| object.end <= marker.start;
        let nearest = carrier.candidates(Standing::Anywhere).rfind(in_front).and_then(|o| carrier.decode(o));
        nearest.or_else(|| before.and_then(|read| read.decode(read.candidates(Standing::Anywhere).next_back()?)))
    } else {
        Some(marker.rest.clone())
    };
    match (found, schema) {
        (Some(value), _) => judge(value, schema),
        (None, Some(_)) => Output::Missing,
        (None, None) => Output::Valid(as_text(answer)),
    }
}

/// Output of a turn that does not: the last object of the answer that fits.
pub(crate) fn without_marker(answer: &Read<'_>, standing: Standing, schema: Option<&dyn OutputValidator>) -> Output {
    let mut last_errors = None;
    for object in answer.candidates(standing).rev() {
        let Some(value) = answer.decode(object) else { continue };
        match judge(value, schema) {
            Output::Invalid(errors) => last_errors = last_errors.or(Some(errors)),
            valid @ (Output::Valid(_) | Output::Missing) => return valid,
        }
    }
    match (last_errors, schema) {
        (Some(errors), _) => Output::Invalid(errors),
        (None, Some(_)) => Output::Missing,
        (None, None) => Output::Valid(as_text(answer)),
    }
}

/// An answer that is no JSON, as output: its text without marker objects and fences that held only them.
fn as_text(answer: &Read<'_>) -> Map<String, Value> {
    let mut fences = find_fences(answer.text).into_iter().peekable();
    let mut text = String::with_capacity(answer.text.len());
    let mut at = 0;
    for object in answer.scan.objects.iter().filter(|object| answer.is_marker(object)) {
        while fences.next_if(|fence| fence.end <= object.start).is_some() {}
        let (from, to) = match (object.standing, fences.peek()) {
            (MarkerForm::Fenced, Some(fence)) => (fence.open_start, fence.end),
            _ => (object.start, object.end),
        };
        text.push_str(&answer.text[at..from]);
        at = to;
    }
    text.push_str(&answer.text[at..]);
    let mut output = Map::new();
    output.insert("text".to_owned(), Value::String(text.trim().to_owned()));
    output
}
