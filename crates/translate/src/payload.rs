//! The JSON object of a message, for readers that need it without searching the text.
//!
//! It decides nothing: the gate determines the output of a turn from the text.

use serde_json::{Map, Value};
use skillrun_parse::ansi;
use skillrun_parse::text::fences::find_fences;
use skillrun_parse::text::json::decode_object;
use skillrun_parse::text::marker::DONE_KEY;
use skillrun_parse::text::objects::each_object;

/// Longest object that is repeated in an event, in addition to the text of its message.
const PAYLOAD_BUDGET: usize = 64 * 1024;

/// The only key of an object that is a question.
const ASK_KEY: &str = "ask_user";

/// The JSON object of a message that is one JSON object, or that contains exactly one, alone in a code fence. Without
/// the done marker; none if it is then empty, and none for a question.
pub(crate) fn of(text: &str) -> Option<Map<String, Value>> {
    let json = alone(text).or_else(|| fenced(text))?;
    let mut object = decode_object(json)?;
    object.shift_remove(DONE_KEY);
    let is_question = object.len() == 1 && object.contains_key(ASK_KEY);
    if object.is_empty() || is_question {
        return None;
    }
    // The gate reads the text before it is cleaned; a reader of events receives no control sequences.
    let mut object = Value::Object(object);
    ansi::strip_value(&mut object);
    if let Value::Object(object) = object { Some(object) } else { None }
}

/// The whole message, if it may be one object.
fn alone(text: &str) -> Option<&str> {
    let json = text.trim();
    (json.len() <= PAYLOAD_BUDGET && json.starts_with('{') && json.ends_with('}')).then_some(json)
}

/// The object in a fence of its own, if the message has no other object.
fn fenced(text: &str) -> Option<&str> {
    if !text.contains("```") && !text.contains("~~~") {
        return None;
    }
    let mut objects = Objects::None;
    each_object(text, |found| {
        objects = match objects {
            Objects::None => Objects::One(found.start, found.end),
            Objects::One(..) | Objects::Several => Objects::Several,
        };
    });
    let Objects::One(from, to) = objects else { return None };
    let json = &text[from..to];
    let stands_alone = |(start, end): (usize, usize)| start <= from && to <= end && text[start..end].trim() == json;
    let is_fenced = json.len() <= PAYLOAD_BUDGET && find_fences(text).iter().any(|fence| stands_alone(fence.body));
    is_fenced.then_some(json)
}

/// Root objects of a text, as far as they matter here.
enum Objects {
    None,
    One(usize, usize),
    Several,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn payload(text: &str) -> Value {
        of(text).map_or(Value::Null, Value::Object)
    }

    #[test]
    fn a_message_that_is_or_fences_one_object_has_it() {
        for (text, expected) in [
            (r#"{"n":1}"#, json!({"n": 1})),
            (" \n{\"n\":1}\n", json!({"n": 1})),
            (r#"{"n":1,"__SKILL_DONE__":true}"#, json!({"n": 1})),
            (r#"{"n":1,"__SKILL_DONE__":false}"#, json!({"n": 1})),
            ("Done:\n```json\n{\"n\":{\"m\":[1,2]}}\n```\nThat is all.", json!({"n": {"m": [1, 2]}})),
            ("~~~\n{\"n\":1}\n~~~", json!({"n": 1})),
            ("{\"n\":\"\\u001b[31mred\"}", json!({"n": "red"})),
            ("{\"n\":\"\\ud800\"}", json!({"n": "\u{fffd}"})),
        ] {
            assert_eq!(payload(text), expected, "{text}");
        }
    }

    #[test]
    fn prose_questions_and_markers_have_none() {
        let long = format!("{{\"n\":\"{}\"}}", "x".repeat(PAYLOAD_BUDGET));
        for text in [
            "",
            "It is {\"n\":1}.",
            "{\"n\":1}\n{\"m\":2}",
            "{\"n\":1} and more",
            "[{\"n\":1}]",
            "{\"n\":1",
            r#"{"__SKILL_DONE__":true}"#,
            r#"{"ask_user":{"prompt":"Which?"}}"#,
            "```json\n{\"n\":1}\n{\"m\":2}\n```",
            "```json\n{\"n\":1}\n```\n{\"m\":2}",
            "```json\n{\"n\":1} said it\n```",
            "Some `code` and ```no fence``` {\"n\":1}",
            &long,
            &format!("```\n{long}\n```"),
        ] {
            assert_eq!(payload(text), Value::Null, "{}", &text[..text.len().min(60)]);
        }
    }
}
