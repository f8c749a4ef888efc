use super::{facts, joined, named, stdout, stopped, update};

fn lines(updates: &[&str]) -> Vec<String> {
    let updates: Vec<String> = updates.iter().map(|json| update(json)).collect();
    facts(&updates.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn begun_and_ended_once() {
    let running =
        r#""tool_call","toolCallId":"c1","name":"Bash","kind":"execute","status":"in_progress","rawInput":{"a":1}"#;
    let completed = r#""tool_call_update","toolCallId":"c1","status":"completed","rawOutput":"done""#;
    let told = lines(&[running, running, completed, completed, running]);
    assert_eq!(told, [r#"tool c1 Bash {"a":1}"#, "completed c1: done"]);
}

/// claude-acp reports the input with an update, opencode the command; the announcement has neither.
#[test]
fn an_announced_call_begins_with_its_input() {
    let announced =
        r#""tool_call","toolCallId":"c1","name":"Bash","title":"Terminal","status":"pending","rawInput":{}"#;
    let input = r#""tool_call_update","toolCallId":"c1","rawInput":{"command":"ls"},"title":"ls""#;
    let completed = r#""tool_call_update","toolCallId":"c1","status":"completed""#;
    let begun = r#"tool c1 Bash {"command":"ls"}"#;
    assert_eq!(lines(&[announced, input, completed]), [begun, "completed c1: -"]);
    // Nothing more arrives: it starts as it was announced, and where it was.
    assert_eq!(lines(&[announced, completed]), ["tool c1 Bash {}", "completed c1: -"]);
    assert_eq!(lines(&[announced]), ["tool c1 Bash {}"]);
    let told = facts(&[&update(announced), &named("m1", "x"), &update(input), &stopped("end_turn")]);
    assert_eq!(told, ["tool c1 Bash {}", "message m1: x", "end success"]);
    let story = stdout(&joined(&[&update(announced), &stopped("end_turn")]));
    let begun = story.records.iter().find(|record| matches!(record.kind, crate::RecordKind::ToolStarted { .. }));
    assert_eq!(begun.map(|record| record.span.from), Some(0));
}

/// As the codex adapter reports it.
#[test]
fn server_that_did_not_start_is_not_a_call() {
    let failed = concat!(
        r#""tool_call","toolCallId":"mcp_startup.bad-1.c2b2daf1","kind":"other","title":"mcp__bad__startup","#,
        r#""status":"failed","content":[{"type":"content","content":{"type":"text","text":"no such file"}}]"#
    );
    let expected = "server failed: the MCP server \"bad-1\" did not start (reported at its start)";
    assert_eq!(lines(&[failed]), [expected]);
    let other = r#""tool_call","toolCallId":"mcp_startup.c1","kind":"read","status":"failed","rawInput":1"#;
    assert_eq!(lines(&[other]), ["tool mcp_startup.c1 read 1", "failed mcp_startup.c1 (the tool failed): -"]);
}

#[test]
fn parallel_calls_keep_apart() {
    let call = |id: &str| format!(r#""tool_call","toolCallId":"{id}","kind":"read","status":"pending""#);
    let input =
        |id: &str| format!(r#""tool_call_update","toolCallId":"{id}","rawInput":["{id}"],"status":"in_progress""#);
    let ended = |id: &str, how: &str| format!(r#""tool_call_update","toolCallId":"{id}","status":"{how}""#);
    let told = [call("a"), call("b"), input("b"), input("a"), ended("b", "failed"), ended("a", "completed")];
    let told = lines(&told.iter().map(String::as_str).collect::<Vec<_>>());
    let expected = [r#"tool b read ["b"]"#, r#"tool a read ["a"]"#, "failed b (the tool failed): -", "completed a: -"];
    assert_eq!(told, expected);
}

#[test]
fn an_update_of_an_unannounced_call_starts_it() {
    let told = lines(&[
        r#""tool_call_update","toolCallId":"c1","kind":"execute","title":"ls","status":"completed","content":[]"#,
    ]);
    assert_eq!(told, [r#"tool c1 execute {"title":"ls"}"#, "completed c1: -"]);
}

#[test]
fn the_name_is_the_tools_or_its_kind_or_its_title() {
    let name = |members: &str| lines(&[&format!(r#""tool_call","toolCallId":"c","rawInput":1{members}"#)])[0].clone();
    assert_eq!(name(r#","name":"Bash","kind":"execute","title":"ls""#), "tool c Bash 1");
    assert_eq!(name(r#","kind":"execute","title":"ls""#), "tool c execute 1");
    assert_eq!(name(r#","kind":"other","title":"ls""#), "tool c ls 1");
    assert_eq!(name(r#","name":7,"kind":[],"title":null"#), "tool c tool 1");
}

#[test]
fn output_as_the_tool_wrote_it_or_as_it_is_shown() {
    let ended = |members: &str| {
        let update = format!(r#""tool_call_update","toolCallId":"c","kind":"k","status":"completed"{members}"#);
        lines(&[&update])[1].clone()
    };
    let content = r#","content":[{"type":"content","content":{"type":"text","text":"shown"}},{"type":"diff","path":"p"},{"type":"content","content":{"type":"text","text":"too"}}]"#;
    assert_eq!(ended(&format!(r#"{content},"rawOutput":"raw""#)), "completed c: raw");
    assert_eq!(ended(&format!(r#"{content},"rawOutput":{{"o":1}}"#)), "completed c: shown\ntoo");
    assert_eq!(ended(r#","rawOutput":{"o":1}"#), r#"completed c: {"o":1}"#);
    assert_eq!(ended(r#","content":7,"rawOutput":null"#), "completed c: -");
    let failed =
        lines(&[r#""tool_call_update","toolCallId":"c","kind":"k","status":"failed","rawOutput":"\nno\nway""#]);
    assert_eq!(failed[1], "failed c (no): \nno\nway");
}

#[test]
fn what_codex_prints_comes_in_pieces() {
    let printed = |text: &str, status: &str| {
        let meta = format!(r#""_meta":{{"terminal_output_delta":{{"data":"{text}","terminal_id":"c"}}}}"#);
        format!(r#""tool_call_update","toolCallId":"c","kind":"k"{status},{meta}"#)
    };
    let told = lines(&[&printed("a\\n", ""), &printed("b", r#","status":"completed""#)]);
    assert_eq!(told[1], "completed c: a\nb");
    let long = "x".repeat(100_000);
    let told = lines(&[&printed(&long, ""), &printed(&long, ""), &printed("y", r#","status":"completed""#)]);
    assert_eq!(told[1].len(), "completed c: ".len() + 64 * 1024);
}

#[test]
fn a_call_without_a_name_for_itself_is_unknown() {
    assert_eq!(lines(&[r#""tool_call","title":"t""#]), ["unknown session/update:tool_call"]);
    assert_eq!(lines(&[r#""tool_call_update","toolCallId":{}"#]), ["unknown session/update:tool_call_update"]);
}
