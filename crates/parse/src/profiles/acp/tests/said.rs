//! The code that answers the agent and the code that asks the user must agree about every request.

use super::facts;
use crate::acp::{AgentMessage, Wants, read_agent_message};

fn wants(line: &str) -> Option<Wants> {
    let wants =
        |said: AgentMessage<'_>| if let AgentMessage::Request { wants, .. } = said { Some(wants) } else { None };
    read_agent_message(line.as_bytes(), wants).flatten()
}

/// Symptom: an agent's question was refused, and a user was asked it as well; or neither, and the agent waited. Found
/// by reading two parsers of the same line.
#[test]
fn a_question_is_either_asked_or_refused() {
    let permission = |id: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session/request_permission","params":{params}}}"#)
    };
    let form = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{params}}}"#);
    let call = r#"{"toolCall":{"toolCallId":"c1","title":"rm x"},"options":[]}"#;
    let named = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
    let asked = [
        permission("1", call),
        permission(&named(1024), call),
        permission("1", r#"{"toolCall":{"title":"half \ud800"},"options":7}"#),
        permission("1", r#"{"toolCall":{},"message":{}}"#),
        form(r#"{"message":"half \ud800"}"#),
        form(r#"{"message":"M","toolCall":7,"requestedSchema":7}"#),
        format!("\u{1b}[0m{}\u{1b}[0m", permission("1", call)),
        format!("{}\r", permission("1", call)),
    ];
    let refused = [
        permission("{}", call),
        permission("true", call),
        permission(&named(1025), call),
        permission("1", "[]"),
        permission("1", r#"{"toolCall":null}"#),
        permission("1", r#"{"toolCall":{"title":"a","title":"b"}}"#),
        permission("1", r#"{"toolCall":{"title":"a"},"toolCall":{"title":"b"}}"#),
        form("{}"),
        form(r#"{"message":7}"#),
        form(r#"{"message":"a","message":"b"}"#),
    ];
    for (lines, expected) in [(&asked[..], Wants::User), (&refused, Wants::Refusal)] {
        for line in lines {
            let is_asked = facts(&[line]).iter().any(|fact| fact.starts_with("question "));
            assert_eq!((wants(line), is_asked), (Some(expected), expected == Wants::User), "{line}");
        }
    }
}

#[test]
fn a_line_that_is_not_a_request_needs_no_answer() {
    for line in ["", "words", "[]", "7", r#"{"id":1,"id":2,"method":"x"}"#, r#" {"id":1,"method":"x"}"#] {
        assert_eq!(wants(line), None, "{line:?}");
    }
    assert_eq!(wants(r#"{"id":1,"method":"fs/read_text_file"}"#), Some(Wants::Service));
    assert_eq!(wants(r#"{"id":1,"method":7}"#), Some(Wants::Service));
    let told = |update: &str| {
        read_agent_message(super::update(update).as_bytes(), |said| matches!(said, AgentMessage::Conversation))
    };
    assert_eq!((told(r#""tool_call""#), told(r#""usage_update""#)), (Some(true), Some(false)));
}
