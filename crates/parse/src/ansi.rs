//! Text made safe to show: escape sequences and control characters removed.
//!
//! Only sequences that begin with ESC count; U+009B and its like are text. Line feeds and tabs stay.

use std::borrow::Cow;

const ESC: u8 = 0x1b;

fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f
}

/// The text without escape sequences and control characters; borrowed when there were none.
pub fn strip(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let Some(first) = bytes.iter().position(|b| is_control(*b)) else { return Cow::Borrowed(text) };
    let mut clean = String::with_capacity(text.len());
    clean.push_str(&text[..first]);
    let mut at = first;
    while at < bytes.len() {
        if bytes[at] == ESC {
            at = after_sequence(bytes, at);
        } else if is_control(bytes[at]) {
            at += 1;
        } else {
            let end = bytes[at..].iter().position(|b| is_control(*b)).map_or(bytes.len(), |n| at + n);
            clean.push_str(&text[at..end]);
            at = end;
        }
    }
    Cow::Owned(clean)
}

/// Makes every string inside a JSON value safe to show.
pub fn strip_value(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => {
            if let Cow::Owned(clean) = strip(text) {
                *text = clean;
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(strip_value),
        serde_json::Value::Object(members) => members.values_mut().for_each(strip_value),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}

/// Where an escape sequence that begins at `at` ends. For an incomplete one only the ESC is removed, so that a stray
/// ESC never swallows the text behind it.
fn after_sequence(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at + 1..];
    let end = match rest.first() {
        Some(b'[') => control_sequence(rest),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => control_string(rest),
        Some(0x20..=0x2f) => with_intermediates(rest),
        Some(0x30..=0x7e) => Some(1),
        Some(_) | None => None,
    };
    at + 1 + end.unwrap_or(0)
}

/// `ESC intermediates final`. At most three intermediates are looked at; more would make a text of them quadratic.
fn with_intermediates(rest: &[u8]) -> Option<usize> {
    let intermediates = rest.iter().take(3).take_while(|b| (0x20..=0x2f).contains(*b)).count();
    rest.get(intermediates).filter(|b| (0x30..=0x7e).contains(*b)).map(|_| intermediates + 1)
}

/// Longest control sequence that is taken for one.
const CONTROL_SEQUENCE_MAX: usize = 64;

/// `ESC [ parameters intermediates final`.
fn control_sequence(rest: &[u8]) -> Option<usize> {
    let body = rest[1..].iter().take(CONTROL_SEQUENCE_MAX).position(|b| !(0x20..=0x3f).contains(b))?;
    (0x40..=0x7e).contains(&rest[1 + body]).then_some(body + 2)
}

/// Longest control string (a window title, a link) that is taken for one.
const CONTROL_STRING_MAX: usize = 4096;

/// `ESC ] text BEL` or `ESC ] text ESC \`.
fn control_string(rest: &[u8]) -> Option<usize> {
    let window = &rest[..rest.len().min(CONTROL_STRING_MAX)];
    let stop = window.iter().skip(1).position(|b| *b == 0x07 || *b == ESC || *b == b'\n')? + 1;
    match window[stop] {
        0x07 => Some(stop + 1),
        ESC if window.get(stop + 1) == Some(&b'\\') => Some(stop + 2),
        _ => None,
    }
}
