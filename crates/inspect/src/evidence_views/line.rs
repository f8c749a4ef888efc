//! The fields of a Log line that views need, without reading the rest where the line has skillrun's own form.

use std::borrow::Cow;

use serde::Deserialize;
use skillrun_log::{LogLine, chain};
use skillrun_model::AttemptNumber;
use skillrun_model::rasp::{PROTOCOL_VERSION, RawRef, SpanRef};

/// A line of the Log, as far as it matters here. The Log guarantees that lines are JSON.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    pub(super) ts: Cow<'a, str>,
    pub(super) attempt_number: AttemptNumber,
    #[serde(borrow)]
    pub(super) event: Kind<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Kind<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) event_type: Cow<'a, str>,
}

/// Where an event comes from: its attempt, the hull of its ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Origin {
    pub(super) attempt_number: AttemptNumber,
    pub(super) raw_ref: RawRef,
}

#[derive(Deserialize)]
struct Pieces {
    data: PiecesData,
}

#[derive(Deserialize)]
struct PiecesData {
    #[serde(default)]
    spans: Vec<SpanRef>,
}

pub(super) fn envelope<'a>(line: &LogLine<'a>) -> Option<Envelope<'a>> {
    serde_json::from_slice(line.json()).ok()
}

/// The pieces that an event is made of; empty where it is one piece.
pub(super) fn spans(json: &[u8]) -> Vec<SpanRef> {
    serde_json::from_slice::<Pieces>(json).map(|pieces| pieces.data.spans).unwrap_or_default()
}

/// Where an event comes from, by the beginning and the end of its line if skillrun wrote it; otherwise all of it is
/// read.
pub(super) fn origin(json: &[u8]) -> Option<Origin> {
    let quick = attempt_at_front(json).zip(raw_ref_at_end(json));
    match quick {
        Some((attempt_number, raw_ref)) => Some(Origin { attempt_number, raw_ref }),
        None => serde_json::from_slice(json).ok(),
    }
}

/// The attempt, which comes after the version, the run, the number and the moment.
fn attempt_at_front(json: &[u8]) -> Option<AttemptNumber> {
    let rest = json.strip_prefix(b"{\"protocol_version\":\"")?.strip_prefix(PROTOCOL_VERSION.as_bytes())?;
    let (_, rest) = rest.strip_prefix(b"\",\"run_id\":\"")?.split_at_checked(36)?;
    let (_, rest) = digits(rest.strip_prefix(b"\",\"seq\":")?)?;
    let rest = rest.strip_prefix(b",\"ts\":\"")?;
    let end = rest.iter().take(64).position(|byte| *byte == b'"')?;
    let (number, rest) = digits(rest[end..].strip_prefix(b"\",\"attempt_number\":")?)?;
    rest.starts_with(b",").then_some(())?;
    u32::try_from(number).ok().map(AttemptNumber)
}

/// The ranges at the end. In a line that is JSON, nothing else can look like this at the end.
fn raw_ref_at_end(json: &[u8]) -> Option<RawRef> {
    const KEY: &[u8] = b",\"raw_ref\":{\"stdout_from\":";
    let (json, end): (_, &[u8]) = match chain::split(json) {
        (event, Some(_)) => (event, b"}"),
        (whole, None) => (whole, b"}}"),
    };
    // Four numbers of up to twenty digits, and their keys.
    let low = json.len().saturating_sub(KEY.len() + 160);
    let at = json[low..].windows(KEY.len()).rposition(|window| window == KEY)?;
    let (stdout_from, rest) = digits(&json[low + at + KEY.len()..])?;
    let (stdout_to, rest) = digits(rest.strip_prefix(b",\"stdout_to\":")?)?;
    let (stderr_from, rest) = digits(rest.strip_prefix(b",\"stderr_from\":")?)?;
    let (stderr_to, rest) = digits(rest.strip_prefix(b",\"stderr_to\":")?)?;
    (rest == end).then_some(RawRef { stdout_from, stdout_to, stderr_from, stderr_to })
}

fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(count);
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence_views::testing::event;

    /// skillrun's own form and any other form give the same.
    #[test]
    fn a_line_in_another_order_tells_the_same() {
        let raw_ref = RawRef { stdout_from: 1, stdout_to: u64::MAX, stderr_from: 0, stderr_to: 7 };
        let ours = event(12, 3, raw_ref, vec![]).to_json();
        assert!(attempt_at_front(ours.as_bytes()).is_some() && raw_ref_at_end(ours.as_bytes()).is_some());
        let linked = format!("{},\"prev\":\"{}\"}}", &ours[..ours.len() - 1], "0a".repeat(32));
        assert_eq!(raw_ref_at_end(linked.as_bytes()), Some(raw_ref), "as it stands in a Log");
        let value: serde_json::Value = serde_json::from_str(&ours).expect("JSON");
        let mut keys: Vec<_> = value.as_object().expect("an object").clone().into_iter().collect();
        keys.reverse();
        let turned = serde_json::to_vec(&serde_json::Map::from_iter(keys)).expect("JSON");
        assert!(attempt_at_front(&turned).is_none() && raw_ref_at_end(&turned).is_none());
        let wanted = Some(Origin { attempt_number: AttemptNumber(3), raw_ref });
        assert_eq!((origin(ours.as_bytes()), origin(&turned)), (wanted, wanted));
    }

    /// Data that ends as a line does is not taken for the end of the line.
    #[test]
    fn what_only_looks_like_the_end_is_not_taken_for_it() {
        let inner = r#"{"x":1,"raw_ref":{"stdout_from":5,"stdout_to":6,"stderr_from":0,"stderr_to":0}}"#;
        let ours = event(12, 3, RawRef { stdout_from: 1, stdout_to: 2, ..RawRef::default() }, vec![]).to_json();
        let (front, rest) = ours.split_once("\"source\"").expect("a source");
        let raw_ref = &rest[rest.rfind("\"raw_ref\"").expect("ranges")..rest.len() - 1];
        let line = format!("{front}{raw_ref},\"data\":{inner}}}");
        assert!(attempt_at_front(line.as_bytes()).is_some());
        let found = origin(line.as_bytes()).expect("an event");
        assert_eq!((found.raw_ref.stdout_from, found.raw_ref.stdout_to), (1, 2));
    }
}
