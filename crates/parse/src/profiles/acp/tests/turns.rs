use super::{INITIALIZED, OPENED, codex, facts, joined, named, refused, stdout, stopped, unnamed, update};

#[test]
fn from_the_first_answer_to_the_end() {
    let story = stdout(&joined(&[INITIALIZED, OPENED, &named("m1", "x"), &stopped("end_turn")]));
    let expected = [
        "status working: a 1.2",
        "session s1",
        "status session_started",
        "delta m1: x",
        "message m1: x",
        "end success",
        "status turn_completed",
    ];
    assert_eq!(story.lines(), expected);
}

#[test]
fn the_session_is_reported_once_by_answer_or_update() {
    let named_by_update = [INITIALIZED, &named("m0", "old"), OPENED, &named("m1", "x")].map(str::to_owned);
    let story = stdout(&joined(&named_by_update.iter().map(String::as_str).collect::<Vec<_>>()));
    let sessions = story.lines().into_iter().filter(|line| line.starts_with("session")).collect::<Vec<_>>();
    assert_eq!(sessions, ["session s1"]);
    let empty = OPENED.replace("\"session\"", "2").replace("s1", "");
    assert_eq!(stdout(&joined(&[&empty])).facts(), [""; 0], "no name at all");
}

fn answered(name: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{name}","result":{result}}}"#)
}

/// An agent may respond to `session/load` and replay the history afterwards. Whether it knows the requests that ask for
/// nothing makes no difference.
#[test]
fn the_history_of_a_loaded_session_lasts_until_now() {
    let no = r#"{"code":-32601,"message":"Method not found"}"#;
    let after = |name: &str| [answered(name, "{}"), refused(&format!("\"{name}\""), no)];
    for (past, now) in after("past.1").into_iter().zip(after("now")) {
        let loaded = answered("session load=s1", "{}");
        let (old, new, end) = (named("m0", "old"), named("m1", "new"), stopped("end_turn"));
        let before = [INITIALIZED, &old, &loaded, &old, &past, &old];
        let lines = [&before[..], &[&now, &new, &end]].concat();
        assert_eq!(facts(&lines), ["message m1: new", "end success"]);
        // A new turn without a message has no answer.
        assert_eq!(facts(&[&before[..], &[&now, &end]].concat()), ["end success"]);
    }
    let resumed = answered("session resume=s1", "{}");
    let told = facts(&[INITIALIZED, &resumed, &named("m1", "new"), &stopped("end_turn")]);
    assert_eq!(told, ["message m1: new", "end success"], "one that is resumed tells no past");
}

/// Symptom: a subagent's messages counted as ours, because the response to `session/load` names no session.
#[test]
fn a_loaded_session_has_its_name_from_the_request() {
    for name in ["session load=s1", "session mode=m resume=s1"] {
        let opened = answered(name, r#"{"modes":{"currentModeId":"m"}}"#);
        let other = named("m0", "x").replace("\"s1\"", "\"s2\"");
        let lines = [INITIALIZED, &opened, &answered("now", "{}"), &other, &named("m1", "y"), &stopped("end_turn")];
        let story = stdout(&joined(&lines));
        let expected = ["session s1", "subagent s2 - | - | - | -", "message m1: y", "end success"];
        assert_eq!(story.facts(), expected, "{name}");
    }
}

#[test]
fn a_session_that_cannot_be_prompted_is_a_failure() {
    let long = format!(r#"{{"sessionId":"{}"}}"#, "x".repeat(1001));
    for result in ["{}", "null", r#"{"sessionId":""}"#, r#"{"sessionId":7}"#, r#"{"sessionId":"\ud800"}"#, &long] {
        let told = facts(&[INITIALIZED, &answered("session", result)]);
        let words = "the agent opened a session without an id of 1 to 1000 bytes";
        assert_eq!(told.last(), Some(&format!("end failure engine: {words}")), "{result}");
    }
    let longest = format!(r#"{{"sessionId":"{}"}}"#, "x".repeat(1000));
    assert_eq!(facts(&[INITIALIZED, &answered("session", &longest)]).len(), 1, "its name alone");
}

/// codex-acp interprets an unknown mode as another one, which may permit more.
#[test]
fn an_agent_in_another_mode_is_a_failure() {
    let end = |name: &str, modes: &str| {
        facts(&[INITIALIZED, &answered(name, &format!(r#"{{"sessionId":"s1"{modes}}}"#))]).pop().unwrap_or_default()
    };
    for name in ["session mode=read-only", "session mode=read-only load=s1", "session mode=read-only resume=s1"] {
        let other = end(name, r#","modes":{"currentModeId":"agent"}"#);
        let words = "the agent is in mode agent, but the permission requires mode read-only";
        assert_eq!(other, format!("end failure engine: {words}"), "{name}");
        let words = "the agent does not report its mode, but the permission requires mode read-only";
        for modes in ["", r#","modes":null"#, r#","modes":{"currentModeId":7}"#] {
            assert_eq!(end(name, modes), format!("end failure engine: {words}"), "{name} {modes}");
        }
        assert_eq!(end(name, r#","modes":{"currentModeId":"read-only"}"#), "", "{name}");
    }
    assert_eq!(end("session", r#","modes":{"currentModeId":"agent"}"#), "", "no mode was wanted");
}

/// Our requests have names; once one was seen, a number is not the name of a request.
#[test]
fn a_number_is_not_a_request_id_of_a_live_agent() {
    let error = refused("7", r#"{"code":-32603,"message":"no"}"#);
    let end = answered("prompt.1", r#"{"stopReason":"end_turn"}"#).replace("\"prompt.1\"", "8");
    let told = facts(&[INITIALIZED, OPENED, &error, &end, &named("m1", "x"), &stopped("end_turn")]);
    assert_eq!(told, ["Warning ENGINE_WARNING engine: no", "message m1: x", "end success"]);
    let made_up = answered("prompt", r#"{"stopReason":"end_turn"}"#);
    assert_eq!(facts(&[&made_up]), [""; 0], "no name of ours");
}

#[test]
fn a_numeric_id_is_resolved_by_the_shape_of_the_answer() {
    let numbers = [INITIALIZED, OPENED, &stopped("end_turn")]
        .map(|line| line.replace("\"initialize\"", "1").replace("\"session\"", "2").replace("\"prompt.1\"", "3"));
    let story = stdout(&joined(&numbers.iter().map(String::as_str).collect::<Vec<_>>()));
    let expected =
        ["status working: a 1.2", "session s1", "status session_started", "end success", "status turn_completed"];
    assert_eq!(story.lines(), expected);
}

#[test]
fn the_stop_reason_determines_the_end() {
    let end = |reason: &str| facts(&[&named("m1", "x"), &stopped(reason)]);
    assert_eq!(end("end_turn"), ["message m1: x", "end success"]);
    assert_eq!(end("max_tokens"), ["message m1: x", "end limit engine: max_tokens"]);
    assert_eq!(end("max_turn_requests"), ["message m1: x", "end limit of requests engine: max_turn_requests"]);
    assert_eq!(end("refusal"), ["message m1: x", "end refusal engine: refusal"]);
    assert_eq!(end("cancelled"), ["partial m1: x", "end failure engine: cancelled by the client"]);
    let odd = "the turn ended for an unknown reason: tired";
    assert_eq!(
        end("tired"),
        ["partial m1: x".to_owned(), format!("Error ENGINE_ERROR engine: {odd}"), format!("end failure engine: {odd}")]
    );
    let none = facts(&[r#"{"jsonrpc":"2.0","id":"prompt.1","result":{}}"#]);
    assert_eq!(none[1], "end failure engine: the turn ended for an unknown reason: none");
}

#[test]
fn usage_of_the_answer_or_of_its_meta() {
    let usage = |result: &str| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":"prompt.1","result":{{"stopReason":"end_turn",{result}}}}}"#);
        facts(&[&line])
    };
    let told = r#""usage":{"totalTokens":9,"inputTokens":5,"cachedReadTokens":1,"outputTokens":4,"thoughtTokens":2}"#;
    assert_eq!(usage(told), ["usage 5 4 1 2", "end success"]);
    let in_meta = r#""_meta":{"quota":{"token_count":{"input_tokens":200,"output_tokens":40}}}"#;
    assert_eq!(usage(in_meta), ["usage 200 40 - -", "end success"]);
    assert_eq!(usage(r#""usage":null,"_meta":{"quota":{"token_count":null}}"#), ["end success"]);
    assert_eq!(usage(r#""usage":{"inputTokens":"many"}"#), ["end success"], "figures cost no end");
}

/// codex-acp ends a turn that got HTTP 429 with `end_turn`.
#[test]
fn codex_fails_behind_end_turn() {
    let retry = codex(concat!(
        r#"{"error":{"message":"Reconnecting... 1/1","codexErrorInfo":{"responseStreamDisconnected":"#,
        r#"{"httpStatusCode":429}},"additionalDetails":"exceeded retry limit, last status: 429","willRetry":true}}"#
    ));
    let failed = codex(r#"{"threadStatus":{"type":"systemError"}}"#);
    let words = unnamed("the service said no\\n\\n");
    let expected = [
        "Warning ENGINE_RETRY quota: Reconnecting... 1/1: exceeded retry limit, last status: 429",
        "Error ENGINE_ERROR quota: the service said no",
        "end failure quota: the service said no",
    ];
    for lines in [[&retry, &failed, &words], [&retry, &words, &failed]] {
        let story = stdout(&joined(&[lines[0], lines[1], lines[2], &stopped("end_turn")]));
        assert_eq!(story.facts()[1..], expected, "in either order");
        assert!(!story.lines().iter().any(|line| line.starts_with("delta")), "it is shown nowhere");
    }
    let mute = facts(&[&failed, &stopped("end_turn")]);
    assert_eq!(mute, ["Error ENGINE_ERROR engine: the turn failed", "end failure engine: the turn failed"]);
    assert_eq!(facts(&[&failed, &unnamed("\\n\\n"), &stopped("end_turn")]), mute, "blanks are no words");
    // A retry alone is not a failure, and a turn that works again has not failed.
    let answer = named("m1", "x");
    assert_eq!(facts(&[&retry, &answer, &stopped("end_turn")])[1..], ["message m1: x", "end success"]);
    let active = codex(r#"{"threadStatus":{"type":"active"}}"#);
    let lines = facts(&[&failed, &words, &active, &answer, &stopped("end_turn")]);
    assert_eq!(lines, ["Error ENGINE_ERROR engine: the service said no", "message m1: x", "end success"]);
}

/// The model's text before its stream broke is partial; codex writes the whole text again under another name.
#[test]
fn a_message_that_codex_tries_again_is_partial() {
    let retry = codex(r#"{"error":{"message":"Reconnecting... 1/1","willRetry":true}}"#);
    let lines = facts(&[&named("m1", "ha"), &retry, &named("m2", "half"), &stopped("end_turn")]);
    let retried = "Warning ENGINE_RETRY engine: Reconnecting... 1/1";
    assert_eq!(lines, ["partial m1: ha", retried, "message m2: half", "end success"]);
}

#[test]
fn a_limit_in_codex_words_is_a_limit() {
    let failed = codex(r#"{"threadStatus":{"type":"systemError"}}"#);
    let words = unnamed("Incomplete response returned, reason: max_output_tokens\\n\\n");
    let last = facts(&[&failed, &words, &stopped("end_turn")]).pop();
    let expected = "end limit engine: Incomplete response returned, reason: max_output_tokens";
    assert_eq!(last.as_deref(), Some(expected));
}

#[test]
fn an_error_in_meta_is_a_failure() {
    let line =
        |meta: &str| facts(&[&format!(r#"{{"id":"prompt.2","result":{{"stopReason":"end_turn","_meta":{meta}}}}}"#)]);
    let failed = |words: &str, kind: &str| {
        [format!("Error ENGINE_ERROR {kind}: {words}"), format!("end failure {kind}: {words}")]
    };
    assert_eq!(line(r#"{"codex":{"error":{"message":"no","httpStatusCode":401}}}"#), failed("no", "auth"));
    assert_eq!(line(r#"{"error":"too many requests"}"#), failed("too many requests", "quota"));
    for fine in [r#"{"error":null}"#, r#"{"codex":{"error":null}}"#, r#"{"quota":{}}"#, "{}", "7", "null"] {
        assert_eq!(line(fine), ["end success"], "{fine}");
    }
}

#[test]
fn an_error_in_place_of_an_answer_is_a_failure() {
    let end = |error: &str| facts(&[&refused("\"prompt.1\"", error)]).pop().unwrap_or_default();
    let rate = r#"{"code":-32603,"message":"Internal error: no","data":{"errorKind":"rate_limit"}}"#;
    assert_eq!(end(rate), "end failure quota: Internal error: no");
    let zed = r#"{"code":-32603,"message":"E","data":{"codex_error_info":{"x":{"http_status_code":429}}}}"#;
    assert_eq!(end(zed), "end failure quota: E");
    let used_up =
        r#"{"code":-32603,"message":"E","data":{"codexErrorInfo":"usageLimitExceeded","message":"Ask later"}}"#;
    assert_eq!(end(used_up), "end failure quota: E: Ask later");
    assert_eq!(end(r#"{"code":429,"message":"Slow down"}"#), "end failure quota: Slow down");
    let expected = "end failure auth: Authentication required";
    assert_eq!(end(r#"{"code":-32000,"message":"Authentication required"}"#), expected);
    assert_eq!(end(r#"{"code":-32000,"message":"Log in"}"#), "end failure auth: Log in");
    let key = r#"{"code":-32603,"message":"Internal error: Incorrect API key provided"}"#;
    assert_eq!(end(key), "end failure auth: Internal error: Incorrect API key provided");
    let limit = r#"{"code":-32603,"message":"too long","data":{"errorKind":"max_output_tokens"}}"#;
    assert_eq!(end(limit), "end limit engine: too long");
    assert_eq!(end("7"), "end failure engine: the agent gave no reason");
    assert_eq!(end(r#""words""#), "end failure engine: words");
    assert_eq!(end(r#"{"message":"lone \ud800"}"#), "end failure engine: lone \u{fffd}");
    assert_eq!(facts(&[&refused("3", rate)]).pop().as_deref(), Some("end failure quota: Internal error: no"));
    let expected = Some("end failure engine: no");
    assert_eq!(facts(&[&refused("\"initialize\"", r#"{"message":"no"}"#)]).pop().as_deref(), expected);
}

/// The claude adapter writes its error as a message before it responds with it.
#[test]
fn the_text_of_an_error_is_not_a_message() {
    let rate = r#"{"code":-32603,"message":"Internal error: API Error: (429) no","data":{"errorKind":"rate_limit"}}"#;
    let story = stdout(&joined(&[&named("u1", "API Error: (429) no"), &refused("\"prompt.1\"", rate)]));
    let expected = [
        "session s1",
        "Error ENGINE_ERROR quota: API Error: (429) no",
        "end failure quota: Internal error: API Error: (429) no",
    ];
    assert_eq!(story.facts(), expected, "once");
    assert!(!story.lines().iter().any(|line| line.starts_with("delta")));
    let login = r#"{"code":-32000,"message":"Authentication required"}"#;
    let words = named("u1", "Failed to authenticate. API Error: 401 Incorrect");
    let lines = facts(&[&words, &refused("\"prompt.1\"", login)]);
    assert!(lines[0].starts_with("Error ENGINE_ERROR auth: Failed"), "{lines:?}");
    let lines = facts(&[&named("m1", "I can't"), &named("u1", "API Error: can't help"), &stopped("refusal")]);
    let error = "Error ENGINE_ERROR engine: API Error: can't help";
    assert_eq!(lines, ["message m1: I can't", error, "end refusal engine: refusal"]);
    // A model may mention such errors.
    let lines = facts(&[&named("m1", "API Error 429 means to wait."), &stopped("end_turn")]);
    assert_eq!(lines, ["message m1: API Error 429 means to wait.", "end success"]);
}

#[test]
fn an_unknown_session_is_reported_as_such() {
    let end = |id: &str, error: &str| facts(&[INITIALIZED, &refused(id, error)]).pop().unwrap_or_default();
    let numbers = INITIALIZED.replace("\"initialize\"", "1");
    let by_number = |error: &str| facts(&[&numbers, &refused("2", error)]).pop().unwrap_or_default();
    // The texts of claude-acp, codex-acp, gemini and opencode.
    for (error, words) in [
        (r#"{"code":-32002,"message":"Resource not found"}"#, "session not found: Resource not found"),
        (
            r#"{"code":-32603,"message":"Internal error","data":{"details":"no rollout found for thread id 0"}}"#,
            "Internal error: no rollout found for thread id 0",
        ),
        (
            r#"{"code":-32603,"message":"Internal error","data":{"details":"No previous sessions found for this project."}}"#,
            "session not found: Internal error: No previous sessions found for this project.",
        ),
        (
            r#"{"code":-32603,"message":"Internal error: OpenCode service failure","data":{"service":"session"}}"#,
            "session not found: Internal error: OpenCode service failure",
        ),
    ] {
        assert_eq!(end("\"session\"", error), format!("end failure session: {words}"));
        assert_eq!(end("\"session mode=m load=s1\"", error), format!("end failure session: {words}"));
        assert_eq!(by_number(error), format!("end failure session: {words}"), "by a number");
        assert!(crate::classify::refuses_session(words), "{words}");
    }
    let login = r#"{"code":-32000,"message":"Authentication required"}"#;
    assert_eq!(end("\"session\"", login), "end failure auth: Authentication required");
    let other = r#"{"code":-32603,"message":"out of memory"}"#;
    assert_eq!(end("\"session\"", other), "end failure engine: out of memory");
    let of_prompt = r#"{"code":-32603,"message":"no","data":{"service":"session"}}"#;
    assert_eq!(end("\"prompt.1\"", of_prompt), "end failure engine: no");
}

#[test]
fn an_error_about_something_else_ends_nothing() {
    let lines = facts(&[&refused("\"mode\"", r#"{"code":-32601,"message":"Method not found"}"#)]);
    assert_eq!(lines, ["Warning ENGINE_WARNING engine: Method not found"]);
    let lines = facts(&[r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#]);
    assert_eq!(lines, ["Error ENGINE_ERROR engine: Parse error"]);
}

#[test]
fn extensions_and_services_are_known_and_the_rest_is_named() {
    let line = |line: &str| facts(&[line]);
    for known in [
        r#"{"jsonrpc":"2.0","method":"_auth/status_update","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"elicitation/complete","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"fs/read_text_file","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":"t","method":"terminal/create"}"#,
        r#"{"jsonrpc":"2.0","id":"mode","result":{}}"#,
    ] {
        assert_eq!(line(known), [""; 0], "{known}");
    }
    assert_eq!(line(&update(r#""odd""#)), ["unknown session/update:odd"]);
    assert_eq!(line(&update("7")), ["unknown session/update"]);
    assert_eq!(line(r#"{"jsonrpc":"2.0","method":"session/update"}"#), ["unknown session/update"]);
    assert_eq!(line(r#"{"jsonrpc":"2.0","method":"session/odd","params":{}}"#), ["unknown session/odd"]);
    assert_eq!(line(r#"{"jsonrpc":"2.0","id":1,"method":"_odd/ask"}"#), ["unknown _odd/ask"]);
    assert_eq!(line(r#"{"jsonrpc":"2.0","id":1}"#), ["unknown answer without result"]);
    assert_eq!(line(r#"{"jsonrpc":"2.0"}"#), ["unknown object without method"]);
    assert_eq!(line("[1]"), ["raw: [1]"]);
}

/// Every update that the protocol's own crate knows is known here.
#[test]
fn the_updates_of_the_protocol_are_known() {
    use agent_client_protocol_schema::v1::{
        AvailableCommandsUpdate, ConfigOptionUpdate, ContentBlock, ContentChunk, CurrentModeUpdate, Plan,
        SessionInfoUpdate, SessionNotification, SessionUpdate, TextContent, ToolCall, ToolCallUpdate,
        ToolCallUpdateFields, UsageUpdate,
    };
    let chunk = || ContentChunk::new(ContentBlock::Text(TextContent::new("x")));
    let updates = [
        SessionUpdate::UserMessageChunk(chunk()),
        SessionUpdate::AgentMessageChunk(chunk()),
        SessionUpdate::AgentThoughtChunk(chunk()),
        SessionUpdate::ToolCall(ToolCall::new("c1", "title")),
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("c1", ToolCallUpdateFields::new())),
        SessionUpdate::Plan(Plan::new(Vec::new())),
        SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(Vec::new())),
        SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new("m")),
        SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(Vec::new())),
        SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new()),
        SessionUpdate::UsageUpdate(UsageUpdate::new(1, 2)),
    ];
    for update in updates {
        let params = serde_json::to_value(SessionNotification::new("s1", update)).expect("JSON");
        let line = serde_json::json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string();
        let story = stdout(&joined(&[&line]));
        let is_unknown = |fact: &String| fact.starts_with("unknown") || fact.starts_with("raw");
        assert!(!story.facts().iter().any(is_unknown), "{line}: {:?}", story.facts());
    }
}

#[test]
fn a_cut_last_line_may_show_the_success_end() {
    let line = r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":20"#;
    let cut = |text: &str| stdout(text).facts();
    assert_eq!(cut(line), [&format!("raw: {line}"), "notice END_EVENT_CUT", "end success"]);
    let named = line.replace(":3", ":\"prompt.1\"");
    assert_eq!(cut(&named).len(), 3);
    assert_eq!(cut(&line.replace("end_turn\",", "end_tu")).len(), 1, "the reason itself was cut");
    assert_eq!(cut(&line.replace("end_turn", "cancelled")).len(), 1);
    assert_eq!(cut(&line.replace("\"id\"", "\"method\":\"x\",\"id\"")).len(), 1, "no answer");
    assert_eq!(cut(&line.replace("\"id\"", "\"error\":{},\"id\"")).len(), 1, "an error");
    assert_eq!(cut(&format!("{line}\n")).len(), 1, "not the last line");
    let failed = codex(r#"{"threadStatus":{"type":"systemError"}}"#);
    assert_eq!(facts(&[&failed]).len(), 0);
    let after_failure = stdout(&format!("{failed}\n{line}")).facts();
    assert!(!after_failure.contains(&"end success".to_owned()), "{after_failure:?}");
}

/// qwen reports the usage of each request to the model, in chunks without text.
#[test]
fn usage_in_pieces_is_summed_up() {
    let piece = |input: u64| {
        let usage = format!(r#"{{"inputTokens":{input},"outputTokens":2,"cachedReadTokens":0}}"#);
        let chunk = r#""agent_message_chunk","content":{"type":"text","text":""}"#;
        update(&format!(r#"{chunk},"_meta":{{"usage":{usage}}}"#))
    };
    let told = |end: &str| {
        let story = stdout(&joined(&[INITIALIZED, OPENED, &piece(100), &named("m1", "x"), &piece(7), end]));
        story.lines().into_iter().filter(|line| line.starts_with("usage")).collect::<Vec<_>>()
    };
    let [summed] = told(&stopped("end_turn")).try_into().expect("one line");
    assert!(summed.contains("107") && summed.contains('4'), "{summed}");
    let whole = stopped("end_turn").replace("\"end_turn\"", "\"end_turn\",\"usage\":{\"inputTokens\":55}");
    let [given] = told(&whole).try_into().expect("one line");
    assert!(given.contains("55") && !given.contains("107"), "the answer knows best: {given}");
}
