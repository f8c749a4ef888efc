//! What both engines have in common.

use skillrun_model::{ProfileId, Stream};

use crate::profiles::story;
use crate::record::{QUESTION_INPUT_MAX, RecordKind};

const BOTH: [ProfileId; 2] = [ProfileId::ClaudeStreamJson, ProfileId::QwenStreamJson];

/// The records of a stdout, one line each.
pub(in crate::profiles) fn read(profile: ProfileId, stdout: &str) -> Vec<String> {
    story::read(profile, &[(Stream::Stdout, stdout)]).lines()
}

fn read_both(stdout: &str) -> Vec<String> {
    let [claude, qwen] = BOTH.map(|profile| read(profile, stdout));
    assert_eq!(claude, qwen, "{stdout}");
    claude
}

/// An assistant's line with these blocks.
pub(in crate::profiles) fn assistant(id: &str, blocks: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":[{blocks}]}},"parent_tool_use_id":null}}"#
    ) + "\n"
}

pub(in crate::profiles) fn text(id: &str, text: &str) -> String {
    assistant(id, &format!(r#"{{"type":"text","text":"{text}"}}"#))
}

const SUCCESS: &str = concat!(r#"{"type":"result","subtype":"success","is_error":false,"result":"all done"}"#, "\n");

#[test]
fn init_starts_the_session_and_reports_its_id_once() {
    let init = concat!(r#"{"type":"system","subtype":"init","session_id":"s1"}"#, "\n");
    let later = concat!(r#"{"type":"system","subtype":"status","status":"requesting","session_id":"s2"}"#, "\n");
    let expected = ["session s1", "status session_started", "status working: requesting"];
    assert_eq!(read_both(&[init, later].concat()), expected);
    // The first event names it, but never the output of a tool.
    let tool = concat!(
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","#,
        r#""content":"{\"type\":\"system\",\"session_id\":\"x\"}","session_id":"x"}],"session_id":"x"}}"#,
        "\n"
    );
    let shown = read_both(&[tool, later].concat());
    let expected = [r#"completed t: {"type":"system","session_id":"x"}"#, "session s2", "status working: requesting"];
    assert_eq!(shown, expected);
}

#[test]
fn servers_that_did_not_start_are_reported() {
    let claude = concat!(
        r#"{"type":"system","subtype":"init","session_id":"s1","mcp_servers":[{"name":"lab","status":"connected"},"#,
        r#"{"name":"web","status":"failed","source":"dynamic"},{"name":"db","status":"pending"},5,"#,
        r#"{"name":"key","status":"needs-auth"},{"name":"bad","status":"disconnected"}]}"#,
        "\n"
    );
    let expected = [
        "session s1",
        "status session_started",
        "server failed: the MCP server \"web\" did not start (failed)",
        "server failed: the MCP server \"key\" did not start (needs-auth)",
        "server failed: the MCP server \"bad\" did not start (disconnected)",
    ];
    assert_eq!(read_both(claude), expected);
    for odd in [r#"{"a":"failed"}"#, r#""failed""#, "null", "[]"] {
        let init = format!(r#"{{"type":"system","subtype":"init","mcp_servers":{odd}}}"#) + "\n";
        assert_eq!(read_both(&init), ["status session_started"], "{odd}");
    }
}

#[test]
fn other_system_events_are_status() {
    let lines = concat!(
        r#"{"type":"system","subtype":"thinking_tokens","estimated_tokens":3}"#,
        "\n",
        r#"{"type":"system","subtype":"informational","content":"stopped · continuing","level":"notice"}"#,
        "\n",
        r#"{"type":"system","subtype":"model_refusal_no_fallback","content":""}"#,
        "\n",
        r#"{"type":"system","subtype":"compact_boundary","content":5}"#,
        "\n",
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#,
        "\n",
        r#"{"type":"system"}"#,
    );
    let expected = [
        "status working: thinking_tokens",
        "status working: stopped · continuing",
        "status working: model_refusal_no_fallback",
        "status working: compact_boundary",
        "status working: rate_limit_event",
        "unknown system",
    ];
    assert_eq!(read_both(lines), expected);
}

/// A line that asks whether a tool may be used.
fn may_use(id: &str, request: &str) -> String {
    format!(r#"{{"type":"control_request","request_id":"{id}","request":{{"subtype":"can_use_tool"{request}}}}}"#)
        + "\n"
}

#[test]
fn a_question_before_a_call() {
    let plain = may_use("r1", r#","tool_name":"Bash","input":{"command":"rm -rf build","a":1},"tool_use_id":"t1""#);
    assert_eq!(read_both(&plain), [r#"question r1 Bash {"command":"rm -rf build","a":1}"#]);
    assert_eq!(read_both(&may_use("r2", r#","tool_name":"Bash""#)), ["question r2 Bash -"]);
    // Of a subagent, of which everything else is reported as status only.
    let deep = plain.replace(r#""request_id""#, r#""parent_tool_use_id":"t0","request_id""#);
    assert_eq!(read_both(&deep), read_both(&plain));
}

#[test]
fn a_question_drops_large_input_and_never_cuts_its_id() {
    let asked = |length: usize| {
        // Eight bytes are braces, key and quotes.
        let input = format!(r#"{{"a":"{}"}}"#, "x".repeat(length - 8));
        let shown = read_both(&may_use("r1", &format!(r#","tool_name":"Write","input":{input}"#)));
        shown == [format!("question r1 Write {input}")] || {
            assert_eq!(shown, ["question r1 Write -"]);
            false
        }
    };
    assert!(asked(QUESTION_INPUT_MAX));
    assert!(!asked(QUESTION_INPUT_MAX + 1));
    let long = may_use("r1", &format!(r#","tool_name":"{}""#, "é".repeat(200)));
    assert_eq!(read_both(&long), [format!("question r1 {} -", "é".repeat(128))]);
    for nobody_could_answer in [
        may_use("r1", r#","input":{}"#),
        may_use("", r#","tool_name":"Bash""#),
        may_use(&"r".repeat(1025), r#","tool_name":"Bash""#),
        r#"{"type":"control_request","request":{"subtype":"can_use_tool","tool_name":"Bash"}}"#.to_owned(),
        r#"{"type":"control_request","request_id":"r1"}"#.to_owned(),
    ] {
        assert_eq!(read_both(&nobody_could_answer), ["unknown control_request"]);
    }
}

#[test]
fn a_question_can_be_withdrawn_and_other_control_is_status() {
    let lines = concat!(
        r#"{"type":"control_cancel_request","request_id":"r1"}"#,
        "\n",
        r#"{"type":"control_request","request_id":"r2","request":{"subtype":"hook_callback","input":{}}}"#,
        "\n",
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"h1","response":{}}}"#,
        "\n",
        r#"{"type":"control_cancel_request"}"#,
    );
    let expected = [
        "withdrawn r1",
        "status working: control_request hook_callback",
        "status working: control_response",
        "unknown control_cancel_request",
    ];
    assert_eq!(read_both(lines), expected);
}

#[test]
fn blocks_of_the_assistant() {
    let line = assistant(
        "m1",
        concat!(
            r#"{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"hello"},"#,
            r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command": "ls"}},{"type":"text","text":"more"}"#
        ),
    );
    let expected = ["reasoning: hm", "message m1: hello", r#"tool t1 Bash {"command": "ls"}"#, "message m1: more"];
    assert_eq!(read_both(&line), expected);
}

#[test]
fn an_unknown_block_keeps_the_others() {
    let line = assistant("m1", r#"{"type":"hologram"},{"type":"text","text":"hello"},{"type":"text"},7"#);
    assert_eq!(read_both(&line), ["message m1: hello", "unknown assistant block hologram"]);
    let line = concat!(
        r#"{"type":"user","message":{"content":[{"type":"hologram"},"#,
        r#"{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#
    );
    assert_eq!(read_both(line), ["completed t1: x", "unknown user block hologram"]);
}

#[test]
fn an_assistant_with_nothing_to_show_is_still_covered() {
    assert_eq!(read_both(&assistant("m1", r#"{"type":"redacted_thinking","data":"x"}"#)), ["status working"]);
    assert_eq!(read_both(&assistant("m1", r#"{"type":"text","text":""}"#)), ["status working"]);
    assert_eq!(read_both(&assistant("m1", "")), ["status working"]);
}

#[test]
fn tool_results_are_text_or_blocks() {
    let result = |rest: &str| {
        let block = format!(r#"{{"type":"tool_result","tool_use_id":"t1"{rest}}}"#);
        read_both(&format!(r#"{{"type":"user","message":{{"content":[{block}]}}}}"#))
    };
    assert_eq!(result(r#","content":"out","is_error":false"#), ["completed t1: out"]);
    assert_eq!(result(""), ["completed t1: -"]);
    assert_eq!(
        result(r#","content":[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b"}]"#),
        ["completed t1: a\n[image]\nb"]
    );
    let expected = ["failed t1 (Exit code 1): Exit code 1\noops"];
    assert_eq!(result(r#","content":"Exit code 1\noops","is_error":true"#), expected);
    assert_eq!(result(r#","is_error":true"#), ["failed t1 (the tool failed): -"]);
    assert_eq!(result(r#","content":{"odd":1}"#), [r#"completed t1: {"odd":1}"#]);
}

#[test]
fn text_of_the_user_is_input() {
    let expected = ["status input_received"];
    assert_eq!(read_both(r#"{"type":"user","message":{"content":[{"type":"text","text":"go"}]}}"#), expected);
    assert_eq!(read_both(r#"{"type":"user","message":{"content":"go"}}"#), ["status input_received"]);
}

#[test]
fn a_synthetic_user_joins_or_voids() {
    let synthetic = |more: &str| {
        let content = r#"[{"type":"text","text":"Resume."}]"#;
        format!(r#"{{"type":"user","message":{{"content":{content}}},"isSynthetic":true{more}}}"#) + "\n"
    };
    let joined = [text("m1", "half"), synthetic(""), text("m2", " whole")].concat();
    assert_eq!(read_both(&joined), ["message m1: half", "join", "status working: Resume.", "message m2:  whole"]);
    let refused = [text("m1", "no"), synthetic(r#","refused_message_id":"m1""#), text("m2", "yes")].concat();
    let expected = ["message m1: no", r#"void Message("m1")"#, "status working: Resume.", "message m2: yes"];
    assert_eq!(read_both(&refused), expected);
}

#[test]
fn a_subagent_is_status_alone() {
    let child = |line: String| line.replace(r#""parent_tool_use_id":null"#, r#""parent_tool_use_id":"t1""#);
    let lines = [
        child(text("m1", "child")),
        child(assistant("m2", r#"{"type":"tool_use","id":"t2","name":"Bash","input":{}}"#)),
        child(assistant("m3", r#"{"type":"thinking","thinking":"hm"}"#)),
        concat!(r#"{"type":"user","message":{"content":"x"},"isSynthetic":true,"parent_tool_use_id":"t1"}"#, "\n")
            .into(),
        concat!(r#"{"type":"system","subtype":"retry","data":{"preserveText":false},"parent_tool_use_id":"t1"}"#, "\n")
            .into(),
        concat!(r#"{"type":"result","is_error":false,"result":"child","parent_tool_use_id":"t1"}"#, "\n").into(),
    ];
    let mut expected = vec!["subagent t1 - | - | - | -"];
    expected.extend(["status subagent"; 6]);
    assert_eq!(read_both(&lines.concat()), expected);
    // Nor does its text suppress that of the result.
    let expected =
        ["subagent t1 - | - | - | -", "status subagent", "message: all done", "end success", "status turn_completed"];
    assert_eq!(read_both(&[child(text("m1", "child")), SUCCESS.to_owned()].concat()), expected);
}

/// In the documented form of the calls and of the `task_…` events.
#[test]
fn a_subagent_is_shown_as_the_engine_reports_it() {
    let call = r#"{"type":"tool_use","id":"t1","name":"Task","input":{"subagent_type":"Explore","description":"Find tests","prompt":"Find all."}}"#;
    let system = |members: &str| format!(r#"{{"type":"system","session_id":"s",{members}}}"#) + "\n";
    let task = |kind: &str, members: &str| {
        system(&format!(r#""subtype":"task_{kind}","task_id":"a9","tool_use_id":"t1"{members}"#))
    };
    let lines = [
        // A command in the background is a task too.
        system(r#""subtype":"task_started","task_id":"b1","task_type":"local_bash","description":"sleep""#),
        assistant("m1", call),
        task("started", r#","task_type":"local_agent","description":"Find tests","prompt":"Find all.""#),
        text("m2", "child").replace(r#""parent_tool_use_id":null"#, r#""parent_tool_use_id":"t1""#),
        task("progress", r#","description":"Reading""#),
        task("updated", r#","patch":{"status":"running"}"#),
        task("updated", r#","patch":{"status":"running"}"#),
        task("notification", r#","status":"completed","summary":"There are two.""#),
        concat!(
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"two"}]},"#,
            r#""tool_use_result":{"status":"completed","agentId":"a9"}}"#,
            "\n"
        )
        .into(),
    ];
    let read = read_both(&lines.concat());
    let subagents: Vec<&str> = read.iter().map(String::as_str).filter(|line| line.starts_with("subagent")).collect();
    let expected = [
        "subagent t1 Explore | Find tests | - | -",
        "subagent t1 Explore | Find tests | running | -",
        "subagent t1 Explore | Find tests | completed | There are two.",
    ];
    assert_eq!(subagents, expected);
    assert!(read.contains(&"completed t1: two".to_owned()), "{read:?}");
}

#[test]
fn reports_of_subagents_are_bounded() {
    let (long, many) = ("x".repeat(10_000), 3_000);
    let of = |id: &str| {
        text("m1", "child").replace(r#""parent_tool_use_id":null"#, &format!(r#""parent_tool_use_id":"{id}""#))
    };
    let call =
        format!(r#"{{"type":"tool_use","id":"t1","name":"Agent","input":{{"subagent_type":7,"prompt":"{long}"}}}}"#);
    let mut lines = vec![assistant("m1", &call), of("t1")];
    lines.extend((0..many).map(|number| of(&format!("n{number}"))));
    let story = story::read_whole(ProfileId::ClaudeStreamJson, &[(Stream::Stdout, lines.concat())]);
    let observed =
        story.pick(|record| if let RecordKind::Subagent(subagent) = &record.kind { Some(subagent) } else { None });
    assert_eq!(observed.len(), 1_000);
    assert_eq!((observed[0].name.as_deref(), observed[0].truncated), (None, true));
    assert_eq!(observed[0].task.as_ref().map(String::len), Some(1024));
}

#[test]
fn is_error_decides_about_success() {
    assert_eq!(read_both(SUCCESS), ["message: all done", "end success", "status turn_completed"]);
    let said = [text("m1", "all done"), SUCCESS.to_owned()].concat();
    assert_eq!(read_both(&said), ["message m1: all done", "end success", "status turn_completed"]);
    let blank = SUCCESS.replace("all done", " \\n ");
    assert_eq!(read_both(&blank), ["end success", "status turn_completed"]);
    // A blank text is not an answer, so the result's text is.
    let blank_before = [text("m1", " "), SUCCESS.to_owned()].concat();
    let expected = ["message m1:  ", "message: all done", "end success", "status turn_completed"];
    assert_eq!(read_both(&blank_before), expected);
    assert_eq!(read_both(r#"{"type":"result","subtype":"success","result":"x"}"#), ["unknown result"]);
}

#[test]
fn failures_and_their_words() {
    let rows = [
        // `success` is not reliable.
        (
            r#""subtype":"success","is_error":true,"result":"API Error: no","api_error_status":429"#,
            "quota",
            "API Error: no",
        ),
        (r#""subtype":"error_during_execution","is_error":false,"result":"x""#, "engine", "x"),
        (r#""subtype":"error_during_execution","errors":["a","",{"message":"b"}]"#, "engine", "a; b"),
        (r#""is_error":true,"error":{"message":"fetch failed"}"#, "network", "fetch failed"),
        (r#""is_error":true,"result":"401 no","api_error_status":503"#, "network", "401 no"),
        (
            r#""is_error":true,"errors":["No conversation found with session ID: 0"]"#,
            "session",
            "No conversation found with session ID: 0",
        ),
    ];
    for (members, category, words) in rows {
        let code = if category == "session" { "SESSION_NOT_FOUND" } else { "ENGINE_ERROR" };
        let expected = [
            format!("end failure {category}: {words}"),
            format!("Error {code} {category}: {words}"),
            "status turn_failed".to_owned(),
        ];
        assert_eq!(read_both(&format!(r#"{{"type":"result",{members}}}"#)), expected, "{members}");
    }
    let expected =
        ["end failure engine: -", "Error ENGINE_ERROR engine: the turn ended with error_x", "status turn_failed"];
    assert_eq!(read_both(r#"{"type":"result","subtype":"error_x"}"#), expected);
}

#[test]
fn limits_win_over_failures() {
    let rows = [
        r#""is_error":true,"api_error":"max_output_tokens","result":"too long""#,
        r#""is_error":true,"stop_reason":"refusal","result":"too long""#,
        r#""is_error":false,"stop_reason":"refusal","result":"too long""#,
        r#""subtype":"error_max_turns","is_error":true,"errors":["too long"]"#,
    ];
    for members in rows {
        let what = if members.contains("refusal") {
            "refusal"
        } else if members.contains("max_turns") {
            "limit of requests"
        } else {
            "limit"
        };
        let end = format!("end {what} engine: too long");
        let expected = [&*end, "Error ENGINE_ERROR engine: too long", "status turn_failed"];
        assert_eq!(read_both(&format!(r#"{{"type":"result",{members}}}"#)), expected, "{members}");
    }
}

#[test]
fn usage_as_far_as_it_is_reported() {
    let line = concat!(
        r#"{"type":"result","is_error":false,"total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":2,"#,
        r#""cache_read_input_tokens":3,"total_tokens":12,"output_tokens_details":{"thinking_tokens":1},"x":[]}}"#
    );
    assert_eq!(read_both(line), ["usage 10 2 3 1", "end success", "status turn_completed"]);
    for profile in BOTH {
        let story = story::read(profile, &[(Stream::Stdout, line)]);
        let RecordKind::Usage(usage) = &story.records[0].kind else { panic!("{story:?}") };
        assert_eq!(serde_json::json!(usage.reported), serde_json::json!({"total_cost_usd": 0.5, "total_tokens": 12}));
    }
    assert_eq!(read_both(r#"{"type":"result","is_error":false,"usage":7}"#), ["end success", "status turn_completed"]);
}

#[test]
fn a_new_init_retracts_the_end() {
    let init = concat!(r#"{"type":"system","subtype":"init"}"#, "\n");
    let end = concat!(r#"{"type":"result","is_error":false}"#, "\n");
    let expected =
        ["status session_started", "end success", "status turn_completed", "end taken back", "status session_started"];
    assert_eq!(read_both(&[init, end, init].concat()), expected);
}

fn streamed(event: &str) -> String {
    format!(r#"{{"type":"stream_event","event":{event}}}"#) + "\n"
}

fn begun(id: &str) -> String {
    streamed(&format!(r#"{{"type":"message_start","message":{{"id":"{id}"}}}}"#))
}

fn delta(text: &str) -> String {
    streamed(&format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#))
}

#[test]
fn deltas_end_in_the_assistants_event() {
    let lines = [
        begun("m1"),
        streamed(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#),
        delta("he"),
        delta("llo"),
        text("m1", "hello"),
        streamed(r#"{"type":"content_block_stop","index":0}"#),
        streamed(r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{}"}}"#),
        assistant("m1", r#"{"type":"tool_use","id":"t1","name":"Bash","input":{}}"#),
        streamed(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}"#),
        streamed(r#"{"type":"message_stop"}"#),
        streamed(r#"{"type":"goal_state","goal_state":{"v":2}}"#),
    ];
    let expected = [
        "status streaming",
        "status streaming",
        "delta m1: he",
        "delta m1: llo",
        "message m1: hello",
        "status streaming",
        "status streaming",
        "tool t1 Bash {}",
        "status streaming",
        "status streaming",
        "status working: goal_state",
    ];
    assert_eq!(read_both(&lines.concat()), expected);
}

#[test]
fn deltas_without_an_end_are_partial() {
    let next = [begun("m1"), delta("ha"), begun("m2"), delta("fu"), text("m3", "x")].concat();
    let expected = [
        "status streaming",
        "delta m1: ha",
        "partial m1: ha",
        "status streaming",
        "delta m2: fu",
        "partial m2: fu",
        "message m3: x",
    ];
    assert_eq!(read_both(&next), expected);
    let last = [begun("m1"), delta("ha"), SUCCESS.replace("all done", "")].concat();
    let expected = ["status streaming", "delta m1: ha", "end success", "status turn_completed", "partial m1: ha"];
    assert_eq!(read_both(&last), expected, "at the end of the stream");
    // The line names its response itself.
    let named = delta("a").replace(r#""event""#, r#""api_message_id":"m9","event""#);
    assert_eq!(read_both(&[begun("m1"), named].concat()), ["status streaming", "delta m9: a", "partial m9: a"]);
    assert_eq!(read_both(&delta("a")), ["delta: a", "partial: a"]);
}

#[test]
fn an_array_has_the_same_events() {
    let whole = concat!(
        r#"[{"type":"system","subtype":"init","session_id":"s1"},"#,
        r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"hi"}]}},"#,
        r#"{"type":"later"},7,{"type":"result","is_error":false,"result":"hi"}]"#,
    );
    let expected = [
        "session s1",
        "status session_started",
        "message m1: hi",
        "end success",
        "status turn_completed",
        "unknown later",
    ];
    assert_eq!(read_both(whole), expected);
    let pretty = whole.replacen('[', "[\n  ", 1).replace(",{", ",\n  {");
    assert_eq!(read_both(&format!("noise\n\n{pretty}\n")), [&["raw: noise"][..], &expected].concat());
    for record in story::read(ProfileId::QwenStreamJson, &[(Stream::Stdout, &pretty)]).records {
        assert_eq!((record.span.from, record.span.to), (0, pretty.len() as u64), "{record:?}");
    }
}

#[test]
fn a_pretty_printed_result() {
    let line = "{\n  \"type\": \"result\",\n  \"is_error\": false,\n  \"result\": \"hi\"\n}\n";
    assert_eq!(read_both(line), ["message: hi", "end success", "status turn_completed"]);
}

#[test]
fn what_is_not_of_the_format_stays_raw() {
    assert_eq!(read_both("[1, 2]\n"), ["raw: [1, 2]"]);
    assert_eq!(read_both("[]\n[INFO] x\n"), ["raw: []", "raw: [INFO] x"]);
    assert_eq!(read_both("{\n\"__SKILL_DONE__\": true\n}\n"), ["raw: {", "raw: \"__SKILL_DONE__\": true", "raw: }"]);
    assert_eq!(read_both("{\"a\": 1}\n"), ["unknown object without type"]);
    assert_eq!(read_both("{\"type\":\"later\",\"session_id\":\"s\"}\n"), ["unknown later"]);
    let expected = ["unknown assistant", "unknown user"];
    assert_eq!(read_both("{\"type\":\"assistant\"}\n{\"type\":\"user\",\"message\":{\"content\":1}}\n"), expected);
    let expected = ["Error SESSION_NOT_FOUND session: Error: no saved session found"];
    assert_eq!(read_both("Error: no saved session found\n"), expected);
}

#[test]
fn a_lone_surrogate_spoils_nothing() {
    let line = assistant("m1", r#"{"type":"text","text":"a\ud800b"},{"type":"text","text":"c"}"#);
    assert_eq!(read_both(&line), ["message m1: a\u{fffd}b", "message m1: c"]);
}

#[test]
fn a_cut_result_that_shows_success() {
    let cut = |members: &str| {
        let records = read_both(&format!("{}{{{members},\"result\":\"all d", text("m1", "all done")));
        records.iter().any(|record| record == "end success")
    };
    assert!(cut(r#""type":"result","subtype":"success","is_error":false"#));
    assert!(cut(r#""duration_api_ms":1,"stop_reason":"end_turn","is_error":false,"subtype":"success""#));
    assert!(cut(r#""duration_api_ms":1,"is_error":false"#));
    assert!(!cut(r#""type":"result","subtype":"success""#));
    assert!(!cut(r#""type":"result","subtype":"success","is_error":true"#));
    assert!(!cut(r#""type":"result","subtype":"error_x","is_error":false"#));
    assert!(!cut(r#""duration_api_ms":1,"stop_reason":"refusal","is_error":false"#));
    assert!(!cut(r#""is_error":false,"api_error":"max_output_tokens","subtype":"success""#));
    assert!(!cut(r#""type":"assistant","subtype":"success","is_error":false"#));
    assert!(!cut(r#""is_error":false"#));
}

#[test]
fn streams_do_not_disturb_each_other() {
    let deltas = [begun("m1"), delta("a")].concat();
    let claude = |streams: &[(Stream, &str)]| story::read(ProfileId::ClaudeStreamJson, streams);
    let both = claude(&[(Stream::Stdout, &deltas), (Stream::Pty, &deltas)]);
    let of = |stream| both.pick(|record| (record.span.stream == stream).then(|| story::line(&record.kind)));
    assert_eq!(of(Stream::Stdout), ["status streaming", "delta m1: a", "partial m1: a"]);
    assert_eq!(of(Stream::Pty), of(Stream::Stdout));
    assert_eq!(claude(&[(Stream::Stderr, SUCCESS)]).lines(), [format!("raw: {}", SUCCESS.trim_end())]);
}
