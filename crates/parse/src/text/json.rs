//! Decoding one JSON object as contract R4.2 requires: a lone surrogate escape does not make it invalid.

use serde_json::{Map, Value};

/// Decodes a complete object. A lone surrogate escape becomes U+FFFD, which serde_json would refuse.
///
/// None for anything that is not an object, and for the little that serde_json cannot represent: a number out of range,
/// or nesting at its own limit.
pub fn decode_object(text: &str) -> Option<Map<String, Value>> {
    if let Ok(object) = serde_json::from_str(text) {
        return Some(object);
    }
    serde_json::from_str(&repair_surrogates(text)?).ok()
}

/// The same JSON with every lone surrogate escape written as `\ufffd`. None when there is none.
pub fn repair_surrogates(json: &str) -> Option<String> {
    let mut repaired: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    // A backslash takes the next character with it, so that `\\ud800` is an escaped backslash and five letters.
    while let Some(ahead) = memchr::memchr(b'\\', &json.as_bytes()[at..]) {
        at += ahead;
        let is_pair = match unit(json, at) {
            Some(0xd800..=0xdbff) => matches!(unit(json, at + 6), Some(0xdc00..=0xdfff)),
            Some(0xdc00..=0xdfff) => false,
            Some(_) | None => {
                at = (at + 2).min(json.len());
                continue;
            }
        };
        if is_pair {
            at += 12;
            continue;
        }
        let out = repaired.get_or_insert_with(|| String::with_capacity(json.len()));
        out.push_str(&json[copied..at]);
        out.push_str("\\ufffd");
        at += 6;
        copied = at;
    }
    let mut out = repaired?;
    out.push_str(&json[copied..]);
    Some(out)
}

/// The UTF-16 unit that a `\uXXXX` escape at this place stands for.
fn unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::{decode_object, repair_surrogates};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn repairs_lone_surrogates_only() {
        let cases = [
            (r#"{"a":"plain"}"#, None),
            (r#"{"a":"\ud83d\ude00"}"#, None),
            (r#"{"a":"\\ud800"}"#, None),
            (r#"{"a":"\u00e9 \n"}"#, None),
            (r#"{"a":"\ud80"}"#, None),
            (r#"{"a":"\ud800"}"#, Some(r#"{"a":"\ufffd"}"#)),
            (r#"{"a":"\uD800x"}"#, Some(r#"{"a":"\ufffdx"}"#)),
            (r#"{"a":"\udc00"}"#, Some(r#"{"a":"\ufffd"}"#)),
            (r#"{"a":"\\\ud800"}"#, Some(r#"{"a":"\\\ufffd"}"#)),
            (r#"{"\ud800":1}"#, Some(r#"{"\ufffd":1}"#)),
            // Low before high: both alone.
            (r#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            // A high before a pair leaves the pair whole.
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            // The low one is not an escape: its backslash is escaped.
            (r#""\ud83d\\ude00""#, Some(r#""\ufffd\\ude00""#)),
            (r#""\ud83d\n\ude00""#, Some(r#""\ufffd\n\ufffd""#)),
            (r"\", None),
            (r"\é", None),
        ];
        for (json, expected) in cases {
            assert_eq!(repair_surrogates(json).as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn decodes_objects() {
        let object = |value: Value| value.as_object().cloned();
        let expected = object(json!({"a": "x\u{fffd}y", "b": "😀"}));
        assert_eq!(decode_object(r#"{"a":"x\ud800y","b":"\ud83d\ude00"}"#), expected);
        assert_eq!(decode_object(r#" {"a":[1]} "#), object(json!({"a": [1]})));
        assert_eq!(decode_object("[1]"), None);
        assert_eq!(decode_object(r#"{"a":"\ud800""#), None);
        assert_eq!(decode_object(r#"{"a":1e999}"#), None);
    }

    proptest! {
        #[test]
        fn never_panics_and_repairs_whole(text in r#"(\\|u|d8[0-9a-f]{2}|D[CF]00|"|é|\{|a){0,20}"#) {
            if let Some(repaired) = repair_surrogates(&text) {
                prop_assert_eq!(repair_surrogates(&repaired), None);
            }
            let quoted = format!("{{\"a\":\"{}\"}}", text.replace('"', "'"));
            // Once lone surrogates are gone only a bad escape can be left to refuse.
            if decode_object(&quoted).is_none() {
                let found = crate::text::objects::find_objects(&quoted);
                prop_assert!(found.is_empty() || found[0].start > 0, "{}", quoted);
            }
        }
    }
}
