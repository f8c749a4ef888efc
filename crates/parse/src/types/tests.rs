use super::*;

fn shown(profile: ProfileId, stdout: &str) -> Vec<String> {
    seen(profile, stdout.as_bytes())
        .into_iter()
        .map(|(name, Count { known, unknown })| format!("{name} {known} {unknown}"))
        .collect()
}

#[test]
fn counts_are_bounded_in_number_and_name() {
    let mut counts = TypeCounts::default();
    for number in 0..60 {
        counts.add(&format!("type {number}"), 2);
    }
    counts.add("type 7", 1);
    counts.add("type 59", 1);
    assert_eq!(counts.iter().count(), TYPES_MAX + 1);
    let of = |name: &str| counts.iter().find(|(known, _)| *known == name).map(|(_, count)| count);
    assert_eq!((of("type 7"), of("type 59"), of(OTHERS)), (Some(3), None, Some(21)));
    let mut counts = TypeCounts::default();
    counts.add(&"é".repeat(80), 1);
    counts.add("\u{1b}[31mred\u{0}", u64::MAX);
    counts.add("red", 1);
    let names: Vec<(&str, u64)> = counts.iter().collect();
    assert_eq!(names, [("red", u64::MAX), ("é".repeat(50).as_str(), 1)]);
    let mut all = TypeCounts::default();
    all.add("red", 1);
    all.add_all(&counts);
    assert_eq!(all.iter().count(), 2);
    assert_eq!(serde_json::to_value(&all).expect("JSON")["red"], u64::MAX);
}

#[test]
fn codex_by_item() {
    let stdout = concat!(
        r#"{"type":"thread.started","thread_id":"t"}"#,
        "\n\n",
        r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"x"}}"#,
        "\n",
        r#"{"type":"item.completed","item":{"id":"2","type":"dance"}}"#,
        "\nnoise\n",
        r#"{"type":"new.thing"}"#,
        "\n",
        r#"{"type":"new.thing"}"#,
    );
    let expected =
        ["item.completed/agent_message 1 0", "item.completed/dance 0 1", "new.thing 0 2", "thread.started 1 0"];
    assert_eq!(shown(ProfileId::CodexNdjson, stdout), expected);
}

#[test]
fn claude_by_block_subtype_and_event() {
    let stdout = concat!(
        r#"{"type":"system","subtype":"init","session_id":"s"}"#,
        "\n",
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t","name":"B","input":{}}]}}"#,
        "\n",
        r#"{"type":"stream_event","event":{"type":"message_stop"}}"#,
        "\n",
        r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"B","input":{}}}"#,
        "\n",
        r#"{"type":"result","subtype":"success","is_error":false,"result":"x"}"#,
        "\n",
    );
    let expected = [
        "assistant/text 1 0",
        "assistant/tool_use 1 0",
        "control_request/can_use_tool 1 0",
        "result/success 1 0",
        "stream_event/message_stop 1 0",
        "system/init 1 0",
    ];
    assert_eq!(shown(ProfileId::ClaudeStreamJson, stdout), expected);
    let array = r#"[{"type":"system","subtype":"init"},{"type":"result","subtype":"success","is_error":false}]"#;
    assert_eq!(shown(ProfileId::QwenStreamJson, array), ["result/success 1 0", "system/init 1 0"]);
}

#[test]
fn the_other_formats() {
    let part = r#"{"type":"step_start","part":{"type":"step-start"}}"#;
    assert_eq!(shown(ProfileId::OpencodeNdjson, part), ["step_start/step-start 1 0"]);
    let stream = "{\"type\":\"message\",\"role\":\"user\",\"content\":\"x\"}\n{\"type\":\"result\",\"status\":\"success\"}\n{\"type\":\"wave\"}\n";
    assert_eq!(shown(ProfileId::GeminiStreamJson, stream), ["message/user 1 0", "result/success 1 0", "wave 0 1"]);
    let document = "warning\n{\n \"session_id\": \"s\",\n \"response\": \"r\"\n}\n";
    assert_eq!(shown(ProfileId::GeminiJson, document), ["document/response 1 0", "document/session_id 1 0"]);
    assert_eq!(shown(ProfileId::PlainText, "{\"type\":\"x\"}\n"), [""; 0]);
    assert_eq!(shown(ProfileId::IflowText, "x\n"), [""; 0]);
}

#[test]
fn acp_by_method_update_and_answer() {
    let stdout = concat!(
        r#"{"id":"initialize","result":{"protocolVersion":1}}"#,
        "\n",
        r#"{"id":"session","result":{"sessionId":"s"}}"#,
        "\n",
        r#"{"method":"session/update","params":{"update":{"sessionUpdate":"usage_update"}}}"#,
        "\n",
        r#"{"method":"session/update","params":{"update":{"sessionUpdate":"dance"}}}"#,
        "\n",
        r#"{"id":1,"method":"session/dance"}"#,
        "\n",
        r#"{"id":"prompt.1","result":{"stopReason":"end_turn"}}"#,
        "\n",
        r#"{"id":"prompt.2","error":{"code":1}}"#,
        "\n",
    );
    let expected = [
        "answer:error 1 0",
        "answer:initialize 1 0",
        "answer:prompt/end_turn 1 0",
        "answer:session 1 0",
        "session/dance 0 1",
        "session/update:dance 0 1",
        "session/update:usage_update 1 0",
    ];
    assert_eq!(shown(ProfileId::AcpJsonrpc, stdout), expected);
}

#[test]
fn many_types_and_odd_lines_are_bounded() {
    let many: String = (0..1100).map(|number| format!("{{\"type\":\"t{number}\"}}\n")).collect();
    let seen = seen(ProfileId::CodexNdjson, many.as_bytes());
    assert_eq!((seen.len(), seen[OTHERS].unknown), (SEEN_MAX + 1, 100));
    for odd in ["{\"type\":7}\n", "{\"type\":", "[[[", "\u{feff}{}", "{\"type\":\"\\ud800\"}\n"] {
        for profile in ProfileId::ALL {
            super::seen(*profile, odd.as_bytes());
        }
    }
    assert_eq!(shown(ProfileId::CodexNdjson, "{\"type\":\"\\ud800\"}\n"), ["\u{fffd} 0 1"]);
}

/// A long row of unknown lines has one record; its lines are still counted one by one.
#[test]
fn types_of_a_long_row_are_counted() {
    let row = "{\"type\":\"turn.started\"}\n".to_owned() + &"{\"type\":\"new.thing\"}\nnoise\n".repeat(500);
    let stdout = row.repeat(2);
    assert_eq!(shown(ProfileId::CodexNdjson, &stdout), ["new.thing 0 1000", "turn.started 2 0"]);
}
