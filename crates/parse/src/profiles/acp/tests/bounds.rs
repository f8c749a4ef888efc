//! Hostile lines.

use skillrun_model::{ProfileId, Stream};

use super::{codex, facts, joined, named, stdout, stopped, update};
use crate::profiles::story;
use crate::record::RecordKind;

#[test]
fn members_of_another_shape_cost_themselves_alone() {
    let odd = r#"{"jsonrpc":7,"method":"session/update","params":{"sessionId":{},"update":{"sessionUpdate":"agent_message_chunk","messageId":[1],"content":{"type":"text","text":"x","annotations":7},"_meta":[]}}}"#;
    assert_eq!(facts(&[odd, &stopped("end_turn")]), ["message: x", "end success"]);
    let info = r#"{"id":"initialize","result":{"protocolVersion":"new","agentInfo":"me"}}"#;
    assert_eq!(stdout(&joined(&[info])).lines(), ["status working: the agent is ready"]);
    let meta = update(r#""session_info_update","_meta":{"codex":{"threadStatus":7,"error":null}}"#);
    assert_eq!(facts(&[&meta, &codex("7"), &codex(r#"{"error":7}"#)]).len(), 1);
}

#[test]
fn odd_ids() {
    for id in ["{}", "[]", "true", r#"{"a":[{}]}"#] {
        assert_eq!(facts(&[&format!(r#"{{"id":{id},"result":{{}}}}"#)]), [""; 0], "{id}");
        assert_eq!(facts(&[&format!(r#"{{"id":{id},"method":"fs/read_text_file"}}"#)]), [""; 0], "{id}");
    }
    let huge = "9".repeat(100_000);
    assert_eq!(facts(&[&format!(r#"{{"id":{huge},"result":{{"stopReason":"end_turn"}}}}"#)]), ["end success"]);
    assert_eq!(facts(&[r#"{"method":7}"#, r#"{"method":{},"id":1}"#]), ["unknown object without method"; 2]);
}

#[test]
fn lone_surrogates_spoil_nothing() {
    let lines = facts(&[&named("m\\ud800", "a\\ud800b"), &stopped("end_turn")]);
    assert_eq!(lines, ["message m\u{fffd}: a\u{fffd}b", "end success"]);
    let call =
        update(r#""tool_call","toolCallId":"\udc00","name":"\ud800","status":"in_progress","rawInput":"\ud800""#);
    assert_eq!(facts(&[&call]), ["tool \u{fffd} \u{fffd} \"\\ud800\""], "the input is kept as it is written");
    assert_eq!(facts(&[&update(r#""\ud800""#)]), ["unknown session/update:\u{fffd}"]);
    assert_eq!(facts(&[r#"{"\ud800":1,"id":"prompt.1","result":{"stopReason":"end_turn"}}"#]), ["end success"]);
}

#[test]
fn nesting_without_end() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let call = update(&format!(r#""tool_call","toolCallId":"c","name":"n","status":"in_progress","rawInput":{deep}"#));
    assert_eq!(facts(&[&call]), [format!("tool c n {deep}")]);
    let asked = format!(
        r#"{{"id":1,"method":"session/request_permission","params":{{"toolCall":{{"name":"n","rawInput":{deep}}}}}}}"#
    );
    assert_eq!(facts(&[&asked]), ["question 1 n -"]);
    let refused = format!(r#"{{"id":"prompt.1","error":{{"message":"no","data":{deep}}}}}"#);
    assert_eq!(facts(&[&refused]).pop().as_deref(), Some("end failure engine: no"));
    let meta = format!(r#"{{"id":"prompt.1","result":{{"stopReason":"end_turn","_meta":{{"a":{deep}}}}}}}"#);
    assert_eq!(facts(&[&meta]), ["end success"]);
    assert_eq!(facts(&[&deep]), [format!("raw: {}", "-")], "too long for the text of a raw line");
}

#[test]
fn names_are_cut() {
    let long = "é".repeat(200);
    let told = facts(&[&update(&format!("\"{long}\"")), &format!(r#"{{"method":"{long}"}}"#)]);
    assert!(told.iter().all(|line| line.len() <= "unknown ".len() + 100), "{told:?}");
    let call =
        update(&format!(r#""tool_call","toolCallId":"{long}{long}{long}","name":"{long}","status":"in_progress""#));
    assert_eq!(facts(&[&call])[0].len(), "tool ".len() + 1024 + 1 + 256 + 2);
    let session = format!(r#"{{"id":2,"result":{{"sessionId":"{}"}}}}"#, "x".repeat(2000));
    assert_eq!(stdout(&joined(&[&session])).facts(), [""; 0], "half of a name names nothing");
}

/// More calls than are remembered: none is lost, none panics.
#[test]
fn many_calls() {
    let mut text = String::new();
    for number in 0..10_100 {
        text += &update(&format!(r#""tool_call","toolCallId":"c{number}","name":"n","status":"pending""#));
        text.push('\n');
    }
    let story = story::read_whole(ProfileId::AcpJsonrpc, &[(Stream::Stdout, text)]);
    let begun = story.pick(|record| matches!(record.kind, RecordKind::ToolStarted { .. }).then_some(()));
    assert_eq!(begun.len(), 10_000, "of the oldest that were only announced nothing more is known");
}

#[test]
fn long_messages_and_thoughts_are_bounded() {
    let piece = "x".repeat(1 << 20);
    let mut text = String::new();
    for _ in 0..6 {
        text += &named("m1", &piece);
        text.push('\n');
        text +=
            &update(&format!(r#""agent_thought_chunk","messageId":"t","content":{{"type":"text","text":"{piece}"}}"#));
        text.push('\n');
    }
    let story = story::read_whole(ProfileId::AcpJsonrpc, &[(Stream::Stdout, text)]);
    let sizes = story.pick(|record| {
        if let RecordKind::Message { text, .. } = &record.kind {
            return Some((text.len(), text.head().len()));
        }
        if let RecordKind::Reasoning { text } = &record.kind { Some((0, text.len())) } else { None }
    });
    let message = sizes.iter().find(|(whole, _)| *whole > 0).copied();
    assert_eq!(message, Some((6 << 20, 4 << 20)));
    assert!(sizes.iter().all(|(_, kept)| *kept <= 4 << 20), "{sizes:?}");
}
