use skillrun_model::{ProfileId, Stream};

use crate::profiles::story::{Story, read};

fn stdout(text: &str) -> Story {
    read(ProfileId::OpencodeNdjson, &[(Stream::Stdout, text)])
}

fn facts(lines: &[&str]) -> Vec<String> {
    stdout(&(lines.join("\n") + "\n")).facts()
}

const STEP_START: &str = r#"{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"type":"step-start"}}"#;
const TEXT: &str = r#"{"type":"text","sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","text":"Done."}}"#;

fn step_finish(reason: &str) -> String {
    let tokens = r#"{"total":13,"input":10,"output":3,"reasoning":2,"cache":{"write":0,"read":4}}"#;
    format!(r#"{{"type":"step_finish","sessionID":"ses_1","part":{{"id":"p","reason":"{reason}","tokens":{tokens}}}}}"#)
}

fn tool(state: &str) -> String {
    format!(r#"{{"type":"tool_use","sessionID":"ses_1","part":{{"tool":"bash","callID":"c1","state":{state}}}}}"#)
}

#[test]
fn a_turn_from_step_to_stop() {
    let story = stdout(&format!("{STEP_START}\n{TEXT}\n{}\n", step_finish("stop")));
    let expected = [
        "session ses_1",
        "end taken back",
        "status step_started",
        "message msg_1: Done.",
        "usage 10 3 4 2",
        "end success",
        "status step_finished: stop",
    ];
    assert_eq!(story.lines(), expected);
}

#[test]
fn the_first_session_counts() {
    let other = STEP_START.replace("ses_1", "ses_2");
    assert_eq!(facts(&[STEP_START, &other]), ["session ses_1", "end taken back", "subagent ses_2 - | - | - | -"]);
}

/// In the documented form of the tool `task`. What its session says is neither a message nor an end of ours.
#[test]
fn a_session_of_a_task_is_shown_as_a_subagent() {
    let input = r#"{"description":"Find tests","prompt":"Find all.","subagent_type":"explore"}"#;
    let task = |state: &str| {
        format!(
            r#"{{"type":"tool_use","sessionID":"ses_1","part":{{"tool":"task","callID":"c1","state":{{{state}}}}}}}"#
        )
    };
    let child = TEXT.replace("ses_1", "ses_2");
    // The envelope may name the session of the run where the part names its own.
    let part = TEXT.replace(r#""part":{"#, r#""part":{"sessionID":"ses_2","#);
    let stop = step_finish("stop").replace("ses_1", "ses_2");
    let lines = [
        STEP_START,
        &task(&format!(r#""status":"pending","input":{input}"#)),
        &task(&format!(r#""status":"running","input":{input},"metadata":{{"sessionId":"ses_2"}}"#)),
        &child,
        &part,
        &stop,
        &task(&format!(r#""status":"completed","input":{input},"output":"two","metadata":{{"sessionId":"ses_2"}}"#)),
        TEXT,
    ];
    let expected = [
        "session ses_1".to_owned(),
        "end taken back".to_owned(),
        format!("tool c1 task {input}"),
        "subagent c1 explore | Find tests | pending | -".to_owned(),
        format!("seen c1 task {input}"),
        "subagent ses_2 explore | Find tests | running | -".to_owned(),
        format!("seen c1 task {input}"),
        "completed c1: two".to_owned(),
        "subagent ses_2 explore | Find tests | completed | -".to_owned(),
        "message msg_1: Done.".to_owned(),
    ];
    assert_eq!(facts(&lines), expected);
}

#[test]
fn a_text_without_message_id_has_the_name_of_its_part() {
    let text = |part: &str| facts(&[&format!(r#"{{"type":"text","part":{part}}}"#)]);
    assert_eq!(text(r#"{"id":"prt_1","text":"x"}"#), ["message prt_1: x"]);
    assert_eq!(text(r#"{"text":"x"}"#), ["message: x"]);
}

#[test]
fn reasoning_is_no_message() {
    assert_eq!(facts(&[r#"{"type":"reasoning","part":{"text":"hm"}}"#]), ["reasoning: hm"]);
}

#[test]
fn a_tool_by_its_state() {
    let pending = tool(r#"{"status":"pending","input":{}}"#);
    let running = tool(r#"{"status":"running","input":{"command":"ls"}}"#);
    let completed = tool(r#"{"status":"completed","input":{"command":"ls"},"output":"a\n"}"#);
    let failed = tool(r#"{"status":"error","input":{"command":"ls"},"error":"rejected"}"#);
    let seen = r#"seen c1 bash {"command":"ls"}"#;
    assert_eq!(facts(&[&pending])[1..], ["tool c1 bash {}"]);
    assert_eq!(facts(&[&pending, &running])[1..], ["tool c1 bash {}", seen], "it began once");
    assert_eq!(facts(&[&completed])[1..], [seen, "completed c1: a\n"]);
    assert_eq!(facts(&[&failed])[1..], [seen, "failed c1 (rejected): -"]);
    assert_eq!(facts(&[&tool(r#"{"status":"new"}"#)])[1..], ["unknown tool_use"]);
}

#[test]
fn a_later_step_retracts_the_end() {
    let end = step_finish("stop");
    let ends: Vec<String> =
        facts(&[STEP_START, &end, STEP_START]).into_iter().filter(|line| line.starts_with("end")).collect();
    assert_eq!(ends, ["end taken back", "end success", "end taken back"]);
}

#[test]
fn the_reason_of_a_step_determines_the_end() {
    let end = |reason: &str| facts(&[&step_finish(reason)])[2].clone();
    assert_eq!(end("stop"), "end success");
    assert_eq!(end("length"), "end limit engine: length");
    assert_eq!(end("content-filter"), "end refusal engine: content-filter");
    assert_eq!(end("tool-calls"), "end taken back");
    assert_eq!(end("unknown"), "end taken back");
}

/// Found in real use: a model that reaches its limit in every step, with a tool call in each. The engine continues by
/// itself, and whether it had begun the next step at its timeout is chance.
#[test]
fn a_limit_after_which_the_engine_continues_is_provisional() {
    let call = tool(r#"{"status":"completed","input":{"command":"ls"},"output":"a\n"}"#);
    let length = step_finish("length");
    let ends =
        |lines: &[&str]| -> Vec<String> { facts(lines).into_iter().filter(|line| line.starts_with("end")).collect() };
    let provisional = "end provisional limit engine: length";
    assert_eq!(ends(&[STEP_START, &call, &length]), ["end taken back", provisional]);
    assert_eq!(ends(&[STEP_START, &call, &length, STEP_START]), ["end taken back", provisional, "end taken back"]);
    assert_eq!(ends(&[STEP_START, &length, TEXT]), ["end taken back", "end limit engine: length", "end taken back"]);
    let second = ends(&[STEP_START, &call, &length, STEP_START, TEXT, &length]);
    assert_eq!(second.last().map(String::as_str), Some("end limit engine: length"), "no call in the second step");
    let filtered = ends(&[STEP_START, &call, &step_finish("content-filter")]);
    assert_eq!(filtered.last().map(String::as_str), Some("end refusal engine: content-filter"));
}

/// Found in real use, each as opencode 1.18.33 wrote it.
#[test]
fn a_service_that_fails_or_is_not_there_is_the_network() {
    let error =
        |data: &str| facts(&[&format!(r#"{{"type":"error","sessionID":"s","error":{{"name":"{data}}}}}"#)])[1].clone();
    for data in [
        r#"UnknownError","data":{"message":"{\"type\":\"error\",\"error\":{\"type\":\"server_error\",\"message\":\"try again\"}}"}"#,
        r#"APIError","data":{"message":"The server had an error","statusCode":500,"responseBody":"{\"error\":{\"type\":\"server_error\"}}"}"#,
        r#"APIError","data":{"message":"broken","responseBody":"{\"error\":{\"type\":\"server_error\"}}"}"#,
        r#"APIError","data":{"message":"Cannot connect to API: Unable to connect. Is the computer able to access the url?"}"#,
        r#"UnknownError","data":{"message":"Error: ConnectionRefused"}"#,
        r#"APIError","data":{"message":"Invalid JSON response","statusCode":200,"responseBody":"<!DOCTYPE html><html><body>Please log in</body></html>"}"#,
    ] {
        assert!(error(data).starts_with("Error ENGINE_ERROR network: "), "{data}: {}", error(data));
    }
    assert!(error(r#"APIError","data":{"message":"Payment Required","statusCode":402}"#).contains(" quota: "));
}

#[test]
fn usage_is_that_of_all_steps() {
    let step = step_finish("tool-calls");
    let odd = r#"{"type":"step_finish","part":{"reason":"stop","tokens":{"input":1.5}}}"#;
    let facts = facts(&[&step, &step, odd]);
    let expected =
        ["session ses_1", "usage 10 3 4 2", "end taken back", "usage 20 6 8 4", "end taken back", "end success"];
    assert_eq!(facts, expected, "tokens of another shape cost the usage, not the end");
}

#[test]
fn an_error_fails_the_turn() {
    let error = |error: &str| facts(&[&format!(r#"{{"type":"error","sessionID":"s","error":{error}}}"#)])[1..].to_vec();
    let expected = ["Error ENGINE_ERROR quota: Slow down", "end failure quota: Slow down"];
    assert_eq!(error(r#"{"name":"APIError","data":{"message":"Slow down","statusCode":429}}"#), expected);
    assert_eq!(
        error(r#"{"name":"APIError","data":{"message":"Connection reset by server"}}"#),
        ["Error ENGINE_ERROR network: Connection reset by server", "end failure network: Connection reset by server"]
    );
    let unnamed = ["Error ENGINE_ERROR engine: UnknownError", "end failure engine: UnknownError"];
    assert_eq!(error(r#"{"name":"UnknownError","data":{}}"#), unnamed);
    assert_eq!(error(r#"{"name":"UnknownError","data":"?"}"#), unnamed);
    assert_eq!(error(r#""UnknownError""#), unnamed);
    assert_eq!(error("7"), ["Error ENGINE_ERROR engine: the turn failed", "end failure engine: -"]);
    let escaped = error(r#"{"name":"E","data":{"message":"lone \ud800"}}"#);
    assert_eq!(escaped[1], "end failure engine: lone \u{fffd}");
}

#[test]
fn an_error_after_a_limit_stays_a_limit() {
    let filtered = step_finish("content-filter");
    let error =
        r#"{"type":"error","sessionID":"ses_1","error":{"name":"ContentFilterError","data":{"message":"blocked"}}}"#;
    let last = |lines: &[&str]| facts(lines).pop();
    assert_eq!(last(&[&filtered, error]).as_deref(), Some("end refusal engine: blocked"));
    assert_eq!(last(&[&filtered, STEP_START, error]).as_deref(), Some("end failure engine: blocked"));
    assert_eq!(last(&[&step_finish("stop"), error]).as_deref(), Some("end failure engine: blocked"));
}

#[test]
fn a_cut_last_line_may_show_the_success_end() {
    let line = step_finish("stop");
    let at = |end: &str| &line[..line.find(end).expect("part of the line")];
    let cut = |text: &str| stdout(text).facts();
    let shown = at(r#"3,"reasoning""#);
    assert_eq!(cut(shown), [&format!("raw: {shown}"), "notice END_EVENT_CUT", "end success"]);
    let whole_part = line.strip_suffix('}').expect("a brace");
    assert_eq!(cut(whole_part)[1..], ["notice END_EVENT_CUT", "end success"]);
    assert_eq!(cut(at(r#"","tokens"#)).len(), 1, "the reason itself was cut");
    assert_eq!(cut(&shown.replace("step_finish", "step_start")).len(), 1);
    assert_eq!(cut(&shown.replace("\"stop\"", "\"stopped\"")).len(), 1);
    let nested = r#"{"type":"step_finish","x":{"part":{"reason":"stop","y":1"#;
    assert_eq!(cut(nested).len(), 1, "not the part of the event");
    assert_eq!(cut(&format!("{shown}\n")).len(), 1, "not the last line");
}

#[test]
fn unknown_types_and_shapes_are_kept() {
    assert_eq!(facts(&[r#"{"type":"session.idle"}"#]), ["unknown session.idle"]);
    assert_eq!(facts(&[r#"{"type":"text","part":{"text":7}}"#]), ["unknown text"]);
    assert_eq!(facts(&[r#"{"type":"text"}"#]), ["unknown text"]);
    assert_eq!(facts(&[r#"{"status":"ok"}"#]), ["unknown object without type"]);
    assert_eq!(facts(&["{ not JSON"]), ["raw: { not JSON"]);
}

#[test]
fn a_lone_surrogate_spoils_nothing() {
    let text = r#"{"type":"text","part":{"messageID":"m","text":"a\ud800b"}}"#;
    assert_eq!(facts(&[text]), ["message m: a\u{fffd}b"]);
}

#[test]
fn a_refused_session_is_found_on_stderr_or_a_terminal() {
    let refused = "\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found\n";
    for stream in [Stream::Stderr, Stream::Stdout] {
        let story = read(ProfileId::OpencodeNdjson, &[(stream, refused)]);
        assert_eq!(story.lines(), ["Error SESSION_NOT_FOUND session: Error: Session not found"]);
    }
    let noise = read(ProfileId::OpencodeNdjson, &[(Stream::Stderr, "> build\n")]);
    assert_eq!(noise.lines(), ["raw: > build"]);
}
