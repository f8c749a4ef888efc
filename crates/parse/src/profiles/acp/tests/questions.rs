use super::{facts, update};
use crate::record::QUESTION_INPUT_MAX;

fn permission(id: &str, call: &str, options: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"session/request_permission","params":{{"sessionId":"s1","toolCall":{{"toolCallId":"c1",{call}}},"options":[{options}]}}}}"#
    )
}

const OPTIONS: &str = concat!(
    r#"{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"a","name":"Always","kind":"allow_always"},"#,
    r#"{"optionId":"n","name":"No","kind":"reject_once"},{"optionId":"v","name":"Never","kind":"reject_always"},"#,
    r#"{"optionId":"x","kind":"ask_mother"}"#
);

#[test]
fn a_permission_with_its_options() {
    let asked = permission("7", r#""name":"Bash","kind":"execute","title":"ls","rawInput":{"command":"ls"}"#, OPTIONS);
    let options = "[y Yes AllowOnce] [a Always AllowAlways] [n No RejectOnce] [v Never RejectAlways] [x x Other]";
    let expected = [r#"tool c1 Bash {"command":"ls"}"#, &format!(r#"question 7 Bash {{"command":"ls"}} {options}"#)];
    assert_eq!(facts(&[&asked]), expected);
}

#[test]
fn the_call_was_announced_before() {
    let announced = update(r#""tool_call","toolCallId":"c1","name":"Bash","status":"pending","rawInput":{}"#);
    let asked = permission("0", r#""title":"ls","rawInput":{"command":"ls"}"#, "");
    let ended = update(r#""tool_call_update","toolCallId":"c1","status":"failed","rawOutput":"denied""#);
    let expected =
        [r#"tool c1 Bash {"command":"ls"}"#, r#"question 0 Bash {"command":"ls"}"#, "failed c1 (denied): denied"];
    assert_eq!(facts(&[&announced, &asked, &ended]), expected);
}

#[test]
fn without_an_input_the_title_is_shown() {
    let asked = permission("\"p\"", r#""kind":"execute","title":"rm x""#, "");
    assert_eq!(facts(&[&asked])[1], r#"question "p" execute {"title":"rm x"}"#);
}

/// The answer must carry the exact id.
#[test]
fn the_id_is_kept_as_it_was_written() {
    for id in ["7", "-1", "1.5", r#""abc""#, r#""a\"b""#, r#""\ud800""#, "12345678901234567890123"] {
        let asked = facts(&[&permission(id, r#""title":"t""#, "")]);
        let asked = asked.last().map(String::as_str).unwrap_or_default();
        assert!(asked.starts_with(&format!("question {id} ")), "{id}: {asked}");
        let back = format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{id}}}}}"#);
        assert_eq!(facts(&[&back]), [format!("withdrawn {id}")]);
    }
}

#[test]
fn an_unanswerable_request_is_not_a_question() {
    let long = format!("\"{}\"", "x".repeat(1023));
    for id in ["{}", "[1]", "true", &long] {
        let asked = facts(&[&permission(id, r#""title":"t""#, "")]);
        assert_eq!(asked, ["unknown session/request_permission"], "{id}");
    }
    let no_call = r#"{"id":1,"method":"session/request_permission","params":{"options":[]}}"#;
    assert_eq!(facts(&[no_call]), ["unknown session/request_permission"]);
    assert_eq!(facts(&[r#"{"id":1,"method":"session/request_permission"}"#]), ["unknown session/request_permission"]);
    assert_eq!(facts(&[r#"{"method":"$/cancel_request","params":{"requestId":{}}}"#]), ["unknown $/cancel_request"]);
}

#[test]
fn questions_are_bounded() {
    let large = "x".repeat(QUESTION_INPUT_MAX);
    let asked = facts(&[&permission("1", &format!(r#""name":"W","rawInput":"{large}""#), "")]);
    assert_eq!(asked[1], "question 1 W -");
    let many = (0..100).map(|n| format!(r#"{{"optionId":"o{n}","name":"n","kind":"allow_once"}}"#)).collect::<Vec<_>>();
    let asked = facts(&[&permission("1", r#""name":"W""#, &many.join(","))]);
    assert_eq!(asked[1].matches("AllowOnce").count(), 32);
    let long = format!(
        r#"{{"optionId":"{}"}},{{"optionId":""}},{{}},7,{{"optionId":"k","name":"{}"}}"#,
        "x".repeat(1025),
        "é".repeat(200)
    );
    let asked = facts(&[&permission("1", r#""name":"W""#, &long)]);
    assert_eq!(asked[1], format!("question 1 W - [k {} Other]", "é".repeat(128)));
}

#[test]
fn an_elicitation_with_its_schema() {
    let schema = r#"{"type":"object","properties":{"colour":{"type":"string"}}}"#;
    let asked = format!(
        r#"{{"id":"e1","method":"elicitation/create","params":{{"sessionId":"s1","mode":"form","message":"Which?","requestedSchema":{schema}}}}}"#
    );
    let told = facts(&[&asked]);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with(r#"question "e1" elicitation - "Which?" {"#), "{told:?}");
    assert!(told[0].contains("colour"), "{told:?}");
    let url = r#"{"id":2,"method":"elicitation/create","params":{"mode":"url","message":"Open","url":"https://x/","elicitationId":"i"}}"#;
    assert_eq!(facts(&[url]), [r#"question 2 elicitation {"mode":"url","url":"https://x/"} "Open" -"#]);
    let large = format!(
        r#"{{"id":2,"method":"elicitation/create","params":{{"message":"M","requestedSchema":"{}"}}}}"#,
        "x".repeat(QUESTION_INPUT_MAX)
    );
    assert_eq!(facts(&[&large]), [r#"question 2 elicitation - "M" -"#]);
    let mute = r#"{"id":2,"method":"elicitation/create","params":{}}"#;
    assert_eq!(facts(&[mute]), ["unknown elicitation/create"]);
}
