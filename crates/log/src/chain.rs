//! The chain of a Log: every line carries, as its last key, the hash of the line before it.
//!
//! ```text
//! {"protocol_version":...,"seq":7,...,"raw_ref":{...},"prev":"<BLAKE3 of line 6, hex>"}
//! ```
//!
//! A hash is taken over the bytes of a line without its terminator. The first line has the hash of the run's id, so a
//! Log cannot be passed off as that of another run. The hash of the last line is the head of the Log: a person who has
//! noted it can check later whether anything before it was changed, removed or added.
//!
//! The link belongs to the line and not to the event: the same event, derived again from its evidence, is the same
//! event at any position. Lines of versions before the chain have no `prev`; a later writer continues after them, so
//! the chain of such a Log begins in its middle.

use std::borrow::Cow;
use std::fmt;

use skillrun_model::RunId;

/// BLAKE3 of a line, or of the substitute for the line before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineHash(blake3::Hash);

/// Digits of a hash.
const DIGITS: usize = 64;
const KEY: &[u8] = b",\"prev\":\"";
const END: &[u8] = b"\"}";

impl LineHash {
    /// The hash of a line, passed without its terminator.
    pub fn of(json: &[u8]) -> Self {
        Self(blake3::hash(json))
    }

    /// The link of the first line of a Log.
    pub fn before_first(run: RunId) -> Self {
        Self::of(run.to_string().as_bytes())
    }

    /// None if the text is not 64 lowercase digits.
    pub fn from_hex(digits: &str) -> Option<Self> {
        let is_ours = digits.len() == DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_ours { blake3::Hash::from_hex(digits).ok().map(Self) } else { None }
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

/// Adds the link to the last line in `bytes`, which ends with the brace of its object and a line end.
pub(crate) fn link(bytes: &mut Vec<u8>, prev: LineHash) {
    if bytes.ends_with(b"}\n") {
        bytes.truncate(bytes.len() - 2);
        bytes.extend_from_slice(KEY);
        bytes.extend_from_slice(prev.0.to_hex().as_bytes());
        bytes.extend_from_slice(END);
        bytes.push(b'\n');
    }
}

/// Splits a line, without its terminator, into its event and the link: if there is a link, the event lacks its closing
/// brace. In a line without one the last key is `raw_ref`, whose value is an object, so nothing else can look like a
/// link.
pub fn split(json: &[u8]) -> (&[u8], Option<LineHash>) {
    let linked = || {
        let rest = json.strip_suffix(END)?;
        let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
        let hash = LineHash::from_hex(std::str::from_utf8(digits).ok()?)?;
        Some((rest.strip_suffix(KEY)?, hash))
    };
    match linked() {
        Some((event, prev)) => (event, Some(prev)),
        None => (json, None),
    }
}

/// A line, without its terminator, as it would be without its link.
pub fn without_link(json: &[u8]) -> Cow<'_, [u8]> {
    match split(json) {
        (front, Some(_)) => Cow::Owned([front, b"}"].concat()),
        (whole, None) => Cow::Borrowed(whole),
    }
}

/// Whether a line, without its terminator, is the line of this event, whatever the line before it.
pub fn is_event(json: &[u8], event: &[u8]) -> bool {
    match split(json) {
        (front, Some(_)) => event.strip_suffix(b"}") == Some(front),
        (whole, None) => event == whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{event, run_id};

    #[test]
    fn a_link_is_added_and_found_again() {
        let json = event(run_id(1), 3, 7).to_json();
        let prev = LineHash::of(b"the line before");
        let mut line = format!("{json}\n").into_bytes();
        link(&mut line, prev);
        let line = line.strip_suffix(b"\n").expect("a line");
        let value: serde_json::Value = serde_json::from_slice(line).expect("JSON");
        assert_eq!(value["prev"], prev.to_string());
        assert_eq!(split(line).1, Some(prev));
        assert!(is_event(line, json.as_bytes()));
        assert_eq!(without_link(line), json.as_bytes());
        assert!(!is_event(line, event(run_id(1), 3, 8).to_json().as_bytes()));
        assert_eq!(split(json.as_bytes()), (json.as_bytes(), None), "a line of a version before the chain");
        assert!(is_event(json.as_bytes(), json.as_bytes()));
    }

    #[test]
    fn a_hash_is_spelled_one_way() {
        let hash = LineHash::of(b"x");
        assert_eq!(LineHash::from_hex(&hash.to_string()), Some(hash));
        assert_eq!(LineHash::from_hex(&hash.to_string().to_uppercase()), None);
        assert_eq!(LineHash::from_hex("00"), None);
    }
}
