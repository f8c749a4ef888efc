//! The lines that a running process receives on its standard input: the user's message for a turn, and the answer to a
//! question inside a turn.

use serde_json::{Value, json};
use skillrun_model::{AttemptNumber, ProfileId};

use crate::acp;

/// The user's message for a turn.
#[derive(Debug, Clone, Copy)]
pub struct UserMessage<'a> {
    pub text: &'a str,
    /// The session, where the engine has reported its id.
    pub session: Option<&'a str>,
    /// The turn that this message begins.
    pub attempt: AttemptNumber,
}

/// A question inside a turn, as it was asked.
#[derive(Debug, Clone)]
pub struct CallQuestion<'a> {
    /// The engine's id for it.
    pub call_id: &'a str,
    /// The input of the call that the engine wants to make.
    pub input: Option<&'a Value>,
    /// What an agent offers or wants filled in, in formats that carry it.
    pub asked: Option<acp::ExpectedAnswer<'a>>,
}

/// The line that passes a message to an engine of this format.
pub fn line(profile: ProfileId, said: UserMessage<'_>) -> String {
    let text = said.text;
    match profile {
        ProfileId::AcpJsonrpc => acp::lines::prompt(said.session.unwrap_or_default(), said.attempt, text),
        ProfileId::ClaudeStreamJson | ProfileId::QwenStreamJson => {
            let content = json!([{ "type": "text", "text": text }]);
            format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": content } }))
        }
        ProfileId::CodexNdjson
        | ProfileId::GeminiStreamJson
        | ProfileId::GeminiJson
        | ProfileId::OpencodeNdjson
        | ProfileId::IflowText
        | ProfileId::PlainText => {
            // A text that is not one plain line is sent as a JSON string, which is one line.
            let is_plain =
                !text.is_empty() && !text.starts_with(['"', '{', '[']) && !text.chars().any(char::is_control);
            if is_plain { format!("{text}\n") } else { format!("{}\n", json!(text)) }
        }
    }
}

/// The line that answers a question that an engine of this format asked inside a turn; none where the format has no
/// such questions.
///
/// Words of consent allow the call; any other text refuses it and is what the engine passes to its model. An empty text
/// is a no.
pub fn answer(profile: ProfileId, question: &CallQuestion<'_>, text: &str) -> Option<String> {
    match profile {
        ProfileId::ClaudeStreamJson | ProfileId::QwenStreamJson => {
            let decision = match (Word::of(text), question.input) {
                (Word::Yes, Some(input)) => json!({ "behavior": "allow", "updatedInput": input }),
                (Word::Yes, None) => deny(TOO_LARGE),
                (Word::No, _) => deny("The user said no."),
                (Word::Other, _) => deny(text),
            };
            let response = json!({ "subtype": "success", "request_id": question.call_id, "response": decision });
            Some(format!("{}\n", json!({ "type": "control_response", "response": response })))
        }
        ProfileId::AcpJsonrpc => {
            question.asked.as_ref().map(|asked| acp::answer::answer(question.call_id, asked, text))
        }
        ProfileId::CodexNdjson
        | ProfileId::GeminiStreamJson
        | ProfileId::GeminiJson
        | ProfileId::OpencodeNdjson
        | ProfileId::IflowText
        | ProfileId::PlainText => None,
    }
}

/// Claude accepts no consent without the input, and with a different input it would make another call than the user
/// saw.
const TOO_LARGE: &str =
    "The user said yes, but the input of this call is too large to be approved. Do it in smaller steps.";

fn deny(message: &str) -> Value {
    json!({ "behavior": "deny", "message": message })
}

/// What a user's answer to a question before a call means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Yes,
    No,
    Other,
}

impl Word {
    pub(crate) fn of(text: &str) -> Self {
        match text.trim().to_lowercase().as_str() {
            "allow" | "yes" | "y" | "ok" => Self::Yes,
            "deny" | "decline" | "no" | "n" | "" => Self::No,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> UserMessage<'_> {
        UserMessage { text, session: Some("s1"), attempt: AttemptNumber(2) }
    }

    #[test]
    fn it_is_always_one_line() {
        for profile in ProfileId::ALL {
            for text in ["blue", "", "two\nlines", "\"quoted\"", "{\"a\":1}", "\u{1b}[31m", "é"] {
                let line = line(*profile, said(text));
                assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "{profile}: {line:?}");
            }
        }
        assert_eq!(line(ProfileId::CodexNdjson, said("blue")), "blue\n");
        assert_eq!(line(ProfileId::CodexNdjson, said("a\nb")), "\"a\\nb\"\n");
        let prompt = concat!(
            r#"{"jsonrpc":"2.0","id":"prompt.2","method":"session/prompt","#,
            r#""params":{"sessionId":"s1","prompt":[{"type":"text","text":"blue"}]}}"#,
            "\n"
        );
        assert_eq!(line(ProfileId::AcpJsonrpc, said("blue")), prompt);
    }

    const BOTH: [ProfileId; 2] = [ProfileId::ClaudeStreamJson, ProfileId::QwenStreamJson];

    /// The decision about a call with an input, and about one whose input is not known.
    fn decided(text: &str) -> [Value; 2] {
        let input = json!({ "command": "rm -rf build", "a": 1 });
        let [told, other] = BOTH.map(|profile| {
            [Some(&input), None].map(|input| {
                let line = answer(profile, &CallQuestion { call_id: "r1", input, asked: None }, text).expect("a line");
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
        let input = json!({ "command": "rm -rf build" });
        let question = CallQuestion { call_id: "r1", input: Some(&input), asked: None };
        let line = answer(ProfileId::ClaudeStreamJson, &question, "allow").expect("a line");
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
    fn an_engine_that_never_asks_gets_no_answer() {
        let input = json!({});
        let question = CallQuestion { call_id: "r1", input: Some(&input), asked: None };
        for profile in ProfileId::ALL.iter().filter(|profile| !BOTH.contains(profile)) {
            assert_eq!(answer(*profile, &question, "yes"), None, "{profile}");
        }
    }
}
