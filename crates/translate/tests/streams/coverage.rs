//! No byte is lost: every byte of stdout and stderr lies in the range of at least one event.

use proptest::prelude::*;
use serde_json::Value;
use skillrun_model::rasp::Event;
use skillrun_model::{ProfileId, Stream};
use skillrun_parse::ansi;
use skillrun_parse::text::json::repair_surrogates;
use skillrun_translate::coverage::Coverage;

use crate::lines;
use crate::run::{ReadAttempt, message_of, range, raw_of, read_whole};

/// Reads an attempt and checks what must hold for every attempt.
pub(crate) fn checked(profile: ProfileId, stdout: &[u8], stderr: &[u8]) -> ReadAttempt {
    let told = read_whole(profile, stdout, stderr);
    assert_covered(&told, stdout, stderr);
    assert_true_ranges(&told, stdout, stderr);
    told
}

/// Checks that every byte is covered, by counting bytes and by [`Coverage`], and that no range leaves its stream.
pub(crate) fn assert_covered(told: &ReadAttempt, stdout: &[u8], stderr: &[u8]) {
    let mut coverage = Coverage::default();
    told.events.iter().for_each(|event| coverage.add(event));
    for (stream, bytes) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
        let mut shown = vec![false; bytes.len()];
        for (from, to) in told.events.iter().flat_map(|event| ranges(event, stream)) {
            assert!(from <= to && to <= bytes.len(), "{stream:?} has no {from}..{to}");
            shown[from..to].fill(true);
        }
        let lost = shown.iter().position(|shown| !shown);
        assert_eq!(lost, None, "no event has this byte of {stream:?}: {}", String::from_utf8_lossy(bytes));
        assert_eq!(coverage.covered(stream), bytes.len() as u64, "{stream:?}");
    }
}

/// An event made of pieces shows its pieces, not the bytes between them.
fn ranges(event: &Event, stream: Stream) -> Vec<(usize, usize)> {
    let Some((of, from, to)) = range(event) else { return Vec::new() };
    if of != stream {
        return Vec::new();
    }
    match message_of(event) {
        Some(message) if !message.spans.is_empty() => {
            message.spans.iter().map(|span| (span.from as usize, span.to as usize)).collect()
        }
        Some(_) | None => vec![(from, to)],
    }
}

/// Checks that the range of a raw event or a message has the text that the event shows.
fn assert_true_ranges(told: &ReadAttempt, stdout: &[u8], stderr: &[u8]) {
    for event in &told.events {
        let Some((stream, from, to)) = range(event) else { continue };
        let bytes = if stream == Stream::Stderr { stderr } else { stdout };
        let source = String::from_utf8_lossy(&bytes[from..to]);
        if let Some(text) = raw_of(event).and_then(|raw| raw.text.as_deref()) {
            let shown = ansi::strip(&source);
            assert!(shown.contains(text), "{text:?} is not in {shown:?}");
        }
        if let Some(message) = message_of(event).filter(|message| message.spans.is_empty()) {
            assert!(is_said_in(&message.text, &source), "{:?} is not in {source:?}", message.text);
        }
    }
}

/// Whether a message's text is in the range: as a string of the JSON, as the concatenation of several pieces of JSON,
/// or as the lines of a text.
fn is_said_in(text: &str, source: &str) -> bool {
    let plain = ansi::strip(source);
    let is_json = |json: &str| {
        let values = values(json.strip_prefix('\u{feff}').unwrap_or(json));
        let said: String = values.iter().map(spoken).collect();
        ansi::strip(&said) == text || values.iter().any(|value| has_string(value, text))
    };
    is_json(source) || is_json(&plain) || text.lines().all(|line| plain.contains(line))
}

/// All values that stand in a text one after the other, blanks between them.
fn values(json: &str) -> Vec<Value> {
    let json = repair_surrogates(json).unwrap_or_else(|| json.to_owned()).replace('\u{c}', " ");
    serde_json::Deserializer::from_str(&json).into_iter().map_while(Result::ok).collect()
}

fn has_string(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => ansi::strip(string) == text,
        Value::Array(items) => items.iter().any(|item| has_string(item, text)),
        Value::Object(members) => members.values().any(|member| has_string(member, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The text of a delta, or of several in an array.
fn spoken(value: &Value) -> String {
    let text = value.get("content").or_else(|| value.pointer("/event/delta/text"));
    let text = text.or_else(|| value.pointer("/params/update/content/text"));
    let of_items = || value.as_array().map(|items| items.iter().map(spoken).collect());
    text.and_then(Value::as_str).map(str::to_owned).or_else(of_items).unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn made_up_streams_are_covered(
        (profile, stdout, stderr) in lines::profile()
            .prop_flat_map(|profile| (Just(profile), lines::damaged(profile, 16), lines::damaged(profile, 8)))
    ) {
        checked(profile, &stdout, &stderr);
    }

    #[test]
    fn random_bytes_are_covered(profile in lines::profile(), stdout in lines::random(), stderr in lines::random()) {
        checked(profile, &stdout, &stderr);
    }

    /// Bytes that mean something to a line splitter, a JSON reader or a terminal, in any order.
    #[test]
    fn random_syntax_is_covered(
        profile in lines::profile(),
        stdout in "[\n\r \t{}\\[\\]\",:a<>`\u{1b}\u{feff}]{0,200}",
        stderr in "[\n\r \t{}\\[\\]\",:a<>`\u{1b}\u{feff}]{0,200}",
    ) {
        checked(profile, stdout.as_bytes(), stderr.as_bytes());
    }
}
