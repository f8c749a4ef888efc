//! What a living process is told, one line of its standard input at a time: what the user says to a turn, and the
//! answer to a question inside of one.

use serde_json::{Value, json};
use skillrun_model::ProfileId;

/// The line that says `text` to an engine of this format.
pub fn line(profile: ProfileId, text: &str) -> String {
    match profile {
        ProfileId::ClaudeStreamJson | ProfileId::QwenStreamJson => {
            let content = json!([{ "type": "text", "text": text }]);
            format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": content } }))
        }
        ProfileId::CodexNdjson
        | ProfileId::GeminiStreamJson
        | ProfileId::GeminiJson
        | ProfileId::OpencodeNdjson
        | ProfileId::IflowText
        | ProfileId::PlainText
        | ProfileId::AcpJsonrpc => {
            // A text that is not one plain line goes as a JSON string, which is.
            let is_plain =
                !text.is_empty() && !text.starts_with(['"', '{', '[']) && !text.chars().any(char::is_control);
            if is_plain { format!("{text}\n") } else { format!("{}\n", json!(text)) }
        }
    }
}

/// The line that answers what an engine of this format asked before a call. `input` is what it wanted to call it with.
///
/// Words of consent let it go on; any other text refuses, and is what the engine tells its model. No text is a no.
pub fn answer(profile: ProfileId, call_id: &str, input: Option<&Value>, text: &str) -> String {
    match profile {
        ProfileId::ClaudeStreamJson | ProfileId::QwenStreamJson => {
            let decision = match (Word::of(text), input) {
                (Word::Yes, Some(input)) => json!({ "behavior": "allow", "updatedInput": input }),
                (Word::Yes, None) => deny(TOO_LARGE),
                (Word::No, _) => deny("The user said no."),
                (Word::Other, _) => deny(text),
            };
            let response = json!({ "subtype": "success", "request_id": call_id, "response": decision });
            format!("{}\n", json!({ "type": "control_response", "response": response }))
        }
        ProfileId::CodexNdjson
        | ProfileId::GeminiStreamJson
        | ProfileId::GeminiJson
        | ProfileId::OpencodeNdjson
        | ProfileId::IflowText
        | ProfileId::PlainText
        | ProfileId::AcpJsonrpc => line(profile, text),
    }
}

/// Claude takes no consent without the input, and with another input it would make another call than the user saw.
const TOO_LARGE: &str =
    "The user said yes, but the input of this call is too large to be approved. Do it in smaller steps.";

fn deny(message: &str) -> Value {
    json!({ "behavior": "deny", "message": message })
}

/// What a user's answer to a question before a call means.
enum Word {
    Yes,
    No,
    Other,
}

impl Word {
    fn of(text: &str) -> Self {
        match text.trim().to_lowercase().as_str() {
            "allow" | "yes" | "y" | "ok" => Self::Yes,
            "deny" | "no" | "n" | "" => Self::No,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_always_one_line() {
        for profile in ProfileId::ALL {
            for text in ["blue", "", "two\nlines", "\"quoted\"", "{\"a\":1}", "\u{1b}[31m", "é"] {
                let line = line(*profile, text);
                assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{profile}: {line:?}");
            }
        }
        assert_eq!(line(ProfileId::CodexNdjson, "blue"), "blue\n");
        assert_eq!(line(ProfileId::CodexNdjson, "a\nb"), "\"a\\nb\"\n");
    }

    const BOTH: [ProfileId; 2] = [ProfileId::ClaudeStreamJson, ProfileId::QwenStreamJson];

    /// What the engine is told about a call with an input, and about one whose input is not known.
    fn decided(text: &str) -> [Value; 2] {
        let input = json!({ "command": "rm -rf build", "a": 1 });
        let [told, other] = BOTH.map(|profile| {
            [Some(&input), None].map(|input| {
                let line = answer(profile, "r1", input, text);
                assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{line:?}");
                let value: Value = serde_json::from_str(&line).expect("JSON");
                let expected = json!({ "subtype": "success", "request_id": "r1", "response": null });
                let mut response = value["response"].clone();
                let decision = response["response"].take();
                assert_eq!((&value["type"], response), (&json!("control_response"), expected));
                decision
            })
        });
        assert_eq!(told, other);
        told
    }

    #[test]
    fn words_of_consent_allow_the_call_as_it_was_shown() {
        let line = answer(ProfileId::ClaudeStreamJson, "r1", Some(&json!({ "command": "rm -rf build" })), "allow");
        let expected = concat!(
            r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1","#,
            r#""response":{"behavior":"allow","updatedInput":{"command":"rm -rf build"}}}}"#,
            "\n"
        );
        assert_eq!(line, expected);
        for text in ["allow", "Yes", " y\n", "OK"] {
            let [known, unknown] = decided(text);
            let input = json!({ "command": "rm -rf build", "a": 1 });
            assert_eq!(known, json!({ "behavior": "allow", "updatedInput": input }), "{text:?}");
            assert_eq!(unknown, json!({ "behavior": "deny", "message": TOO_LARGE }), "{text:?}");
        }
    }

    #[test]
    fn any_other_text_refuses_and_is_passed_on() {
        for text in ["deny", "No", " n ", "", " \n"] {
            let said = json!({ "behavior": "deny", "message": "The user said no." });
            assert_eq!(decided(text), [said.clone(), said], "{text:?}");
        }
        for text in ["No, keep it.", "yes please", "two\nlines \"and\" more", "okay"] {
            let said = json!({ "behavior": "deny", "message": text });
            assert_eq!(decided(text), [said.clone(), said], "{text:?}");
        }
    }

    #[test]
    fn an_engine_that_never_asks_is_told_the_text() {
        for profile in ProfileId::ALL.iter().filter(|profile| !BOTH.contains(profile)) {
            for text in ["yes", "a\nb", "{"] {
                assert_eq!(answer(*profile, "r1", Some(&json!({})), text), line(*profile, text), "{profile}");
            }
        }
    }
}
