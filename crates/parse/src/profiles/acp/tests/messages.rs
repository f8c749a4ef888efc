use super::{INITIALIZED, OPENED, codex, facts, joined, named, stdout, stopped, unnamed, update};

#[test]
fn pieces_under_one_name_are_one_message() {
    let usage = update(r#""usage_update","used":1,"size":2"#);
    let thought = update(r#""agent_thought_chunk","content":{"type":"text","text":"hm"}"#);
    let lines = [&named("m1", "a"), &usage, &named("m1", "b"), &thought, &named("m1", "c"), &stopped("end_turn")];
    assert_eq!(facts(&lines.map(String::as_str)), ["reasoning: hm", "message m1: abc", "end success"]);
    let story = stdout(&joined(&[&named("m1", "a"), &named("m1", "b"), &stopped("end_turn")]));
    let expected =
        ["session s1", "delta m1: a", "delta m1: b", "message m1: ab", "end success", "status turn_completed"];
    assert_eq!(story.lines(), expected);
}

#[test]
fn another_name_ends_a_message() {
    let lines = [named("m1", "a"), named("m2", "b"), unnamed("c"), stopped("end_turn")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(facts(&lines), ["message m1: a", "message m2: b", "message: c", "end success"]);
}

#[test]
fn a_tool_call_ends_a_message() {
    let call = update(r#""tool_call","toolCallId":"c1","kind":"execute","status":"in_progress","rawInput":{"a":1}"#);
    let tool = r#"tool c1 execute {"a":1}"#;
    for (piece, name) in [(named("m1", "x"), " m1"), (unnamed("x"), "")] {
        let lines = facts(&[&piece, &call, &piece, &stopped("end_turn")]);
        assert_eq!(lines, [&format!("message{name}: x"), tool, &format!("message{name}: x"), "end success"]);
    }
}

/// An update inside a message that carries nothing must not split an answer.
#[test]
fn quiet_updates_leave_a_message_without_name_open() {
    for quiet in [
        r#""usage_update","used":1,"size":2"#,
        r#""session_info_update","title":"t""#,
        r#""available_commands_update","availableCommands":[]"#,
        r#""current_mode_update","currentModeId":"m""#,
        r#""config_option_update","configOptions":[]"#,
    ] {
        let lines = facts(&[&unnamed("a"), &update(quiet), &unnamed("b"), &stopped("end_turn")]);
        assert_eq!(lines, ["message: ab", "end success"], "{quiet}");
    }
    for other in [
        r#""plan","entries":[]"#,
        r#""agent_thought_chunk","content":{"type":"text","text":""}"#,
        r#""user_message_chunk","content":{"type":"text","text":"u"}"#,
        r#""tool_call_update","toolCallId":"c1","title":"t""#,
    ] {
        let mut lines = facts(&[&unnamed("a"), &update(other), &unnamed("b"), &stopped("end_turn")]);
        lines.retain(|line| !line.starts_with("tool"));
        assert_eq!(lines, ["message: a", "message: b", "end success"], "{other}");
    }
}

#[test]
fn a_message_without_an_end_is_partial() {
    assert_eq!(facts(&[&named("m1", "a")]), ["partial m1: a"]);
    let cut = facts(&[&named("m1", "a"), &stopped("cancelled")]);
    assert_eq!(cut, ["partial m1: a", "end failure engine: cancelled by the client"]);
}

#[test]
fn reasoning_is_joined_and_no_message() {
    let thought = |text: &str| {
        update(&format!(r#""agent_thought_chunk","messageId":"r1","content":{{"type":"text","text":"{text}"}}"#))
    };
    let lines = [thought("a"), thought("b"), named("m1", "x"), thought("c")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(facts(&lines), ["reasoning: ab", "reasoning: c", "partial m1: x"]);
}

#[test]
fn content_that_is_no_text_is_known() {
    let image = update(r#""agent_message_chunk","content":{"type":"image","data":"x","mimeType":"image/png"}"#);
    assert_eq!(facts(&[&named("m1", "a"), &image, &named("m1", "b"), &stopped("end_turn")])[0], "message m1: ab");
    assert_eq!(facts(&[&update(r#""agent_message_chunk""#)]), ["unknown session/update:agent_message_chunk"]);
    let odd = update(r#""agent_message_chunk","content":{"type":"text","text":7}"#);
    assert_eq!(facts(&[&odd]), ["unknown session/update:agent_message_chunk"]);
}

/// The history of a session is replayed when it is loaded.
#[test]
fn history_is_neither_message_nor_tool_call() {
    let past = [
        named("m1", "old"),
        unnamed("old too"),
        update(r#""user_message_chunk","content":{"type":"text","text":"u"}"#),
        update(r#""agent_thought_chunk","content":{"type":"text","text":"hm"}"#),
        update(r#""tool_call","toolCallId":"c1","title":"t","status":"completed""#),
        update(r#""tool_call_update","toolCallId":"c1","status":"completed","rawOutput":"x""#),
        update(r#""plan","entries":[]"#),
    ];
    let mut lines = vec![INITIALIZED];
    lines.extend(past.iter().map(String::as_str));
    assert_eq!(facts(&lines), [""; 0]);
    let (new, end) = (named("m1", "new"), stopped("end_turn"));
    lines.extend([r#"{"jsonrpc":"2.0","id":"session resume=s1","result":null}"#, &new, &end]);
    assert_eq!(facts(&lines), ["message m1: new", "end success"]);
    // A later turn of a running agent has no opening.
    assert_eq!(facts(&[&past[0], &end]), ["message m1: old", "end success"]);
    // With numbers for names, any response opens the session.
    let numbers = lines.join("\n").replace("\"initialize\"", "1").replace("\"session resume=s1\",", "2,");
    assert_eq!(facts(&[&numbers]), ["message m1: new", "end success"]);
}

#[test]
fn a_response_to_another_request_does_not_end_the_history() {
    let other = r#"{"jsonrpc":"2.0","id":"mode","result":{}}"#;
    let piece = named("m1", "old");
    assert_eq!(facts(&[INITIALIZED, other, &piece, OPENED]), [""; 0]);
}

#[test]
fn a_subagents_session_is_not_ours() {
    let theirs = named("m1", "theirs").replace("\"s1\"", "\"s2\"");
    let lines = facts(&[INITIALIZED, OPENED, &theirs, &named("m2", "ours"), &stopped("end_turn")]);
    assert_eq!(lines, ["subagent s2 - | - | - | -", "message m2: ours", "end success"]);
    // It is not known which session is ours: then no message may be lost.
    let lines = facts(&[&named("m2", "ours"), &theirs, &stopped("end_turn")]);
    assert_eq!(lines, ["message m2: ours", "message m1: theirs", "end success"]);
}

const WARNING: &str = "Warning: Model metadata for `m` not found.\\n\\n";

#[test]
fn a_warning_of_the_codex_adapter_is_not_a_message() {
    let active = codex(r#"{"threadStatus":{"type":"active","activeFlags":[]}}"#);
    let warned = "Warning ENGINE_WARNING engine: Warning: Model metadata for `m` not found.";
    let story = stdout(&joined(&[&unnamed(WARNING), &active, &named("m1", "x"), &stopped("end_turn")]));
    assert_eq!(story.facts(), ["session s1", warned, "message m1: x", "end success"]);
    assert!(!story.lines().iter().any(|line| line.starts_with("delta:")), "{:?}", story.lines());
    // Without an answer of the model there is none.
    let idle = codex(r#"{"threadStatus":{"type":"idle"}}"#);
    assert_eq!(facts(&[&unnamed(WARNING), &active, &idle, &stopped("end_turn")]), [warned, "end success"]);
}

/// The same text from an agent that names no message is its answer, though it is shown late.
#[test]
fn a_warning_of_a_model_is_a_message() {
    let story = stdout(&joined(&[&unnamed("Warn"), &unnamed("ing: hot"), &stopped("end_turn")]));
    assert_eq!(story.facts(), ["session s1", "message: Warning: hot", "end success"]);
    let story = stdout(&joined(&[&unnamed("Warm"), &unnamed(" up"), &stopped("end_turn")]));
    assert_eq!(story.lines()[1..3], ["delta: Warm", "delta:  up"]);
    let story = stdout(&joined(&[&unnamed("Wa"), &unnamed("lk"), &unnamed(" on"), &stopped("end_turn")]));
    assert_eq!(story.lines()[1..4], ["status streaming", "delta: Walk", "delta:  on"]);
}

#[test]
fn a_notice_of_the_claude_adapter_is_not_a_message() {
    let notice = update(concat!(
        r#""agent_message_chunk","content":{"type":"text","text":"**Notice:** stopped"},"#,
        r#""_meta":{"claudeCode":{"kind":"informational","level":"notice"}}"#
    ));
    let lines = facts(&[&named("m1", "x"), &notice, &stopped("end_turn")]);
    assert_eq!(lines, ["Warning ENGINE_WARNING engine: **Notice:** stopped", "message m1: x", "end success"]);
}

/// A plan was reported only as a phase, so that its items were nowhere but in the evidence.
#[test]
fn a_plan_keeps_its_content() {
    let lines = |update_of: &str| stdout(&joined(&[&update(update_of)])).lines();
    let entries = r#"[{"content":"Read it","priority":"high","status":"completed"},{"content":"Write it","priority":"low","status":"in_progress"}]"#;
    let expected = "status planning: [x] Read it\n[>] Write it".to_owned();
    assert!(lines(&format!(r#""plan","entries":{entries}"#)).contains(&expected));
    let named = |plan: &str| lines(&format!(r#""plan_update","plan":{plan}"#));
    assert!(named(&format!(r#"{{"type":"items","planId":"p","entries":{entries}}}"#)).contains(&expected));
    let text = named(r##"{"type":"markdown","planId":"p","content":"# First"}"##);
    assert!(text.contains(&"status planning: # First".to_owned()), "{text:?}");
    let file = named(r#"{"type":"file","planId":"p","uri":"file:///plan.md"}"#);
    assert!(file.contains(&"status planning: file:///plan.md".to_owned()), "{file:?}");
    for none in [r#""plan","entries":[]"#, r#""plan_removed","planId":"p""#, r#""plan_update","plan":7"#] {
        assert!(lines(none).contains(&"status planning".to_owned()), "{none}");
    }
}
