use proptest::prelude::*;
use skillrun_model::{ProfileId, Stream};

use crate::Parser;
use crate::profiles::story::{Story, read, read_whole};
use crate::record::{AnswerFrom, RecordKind, Span};

const INIT: &str = r#"{"type":"init","timestamp":"t","session_id":"s1","model":"m"}"#;
const TOOL: &str = r#"{"type":"tool_use","tool_name":"sh","tool_id":"t1","parameters":{"command":"ls"}}"#;
const SUCCESS: &str =
    r#"{"type":"result","status":"success","stats":{"input_tokens":20,"output_tokens":4,"cached":1,"models":{}}}"#;
const FAILURE: &str =
    r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: terminated]"}}"#;

const DOCUMENTS: AnswerFrom = AnswerFrom::FirstOf(&[Stream::Stderr, Stream::Stdout, Stream::Pty]);

fn gemini(streams: &[(Stream, &str)]) -> Story {
    read(ProfileId::GeminiStreamJson, streams)
}

fn stdout(lines: &[&str]) -> Story {
    gemini(&[(Stream::Stdout, &(lines.join("\n") + "\n"))])
}

fn stderr(text: &str) -> Story {
    gemini(&[(Stream::Stderr, text)])
}

fn delta(content: &str) -> String {
    let content = serde_json::Value::from(content);
    format!(r#"{{"type":"message","role":"assistant","content":{content},"delta":true}}"#)
}

fn whole(content: &str) -> String {
    delta(content).replace(r#","delta":true"#, "")
}

#[test]
fn a_turn_from_init_to_success() {
    let story = stdout(&[
        INIT,
        r#"{"type":"message","role":"user","content":"Do it."}"#,
        TOOL,
        r#"{"type":"tool_result","tool_id":"t1","status":"success","output":"a\n"}"#,
        &delta("All "),
        &delta("done."),
        SUCCESS,
    ]);
    let expected = [
        "session s1",
        "status session_started",
        "status input_received",
        r#"tool t1 sh {"command":"ls"}"#,
        "completed t1: a\n",
        "delta: All ",
        "delta: done.",
        "message: All done.",
        "usage 20 4 1 -",
        "end success",
        "status turn_completed",
    ];
    assert_eq!(story.lines(), expected);
    assert_eq!(story.profile, ProfileId::GeminiStreamJson);
    assert_eq!(story.answer_from, AnswerFrom::Only(Stream::Stdout));
    assert!(story.records.iter().all(|record| record.profile == ProfileId::GeminiStreamJson));
}

#[test]
fn a_message_is_made_of_its_deltas_alone() {
    let (first, second) = (delta("a"), delta("b"));
    let story = stdout(&[&first, "noise", &second, SUCCESS]);
    let message = story.records.iter().find(|record| matches!(record.kind, RecordKind::Message { .. }));
    let message = message.expect("a message");
    let len = first.len() as u64 + 1;
    let span = |from, to| Span { stream: Stream::Stdout, from, to };
    assert_eq!(message.span, span(0, 2 * len + 6));
    assert_eq!(message.pieces, [span(0, len), span(len + 6, 2 * len + 6)]);
}

#[test]
fn any_other_event_ends_a_message() {
    let (first, second) = (delta("one"), delta("two"));
    for other in [TOOL, INIT, r#"{"type":"message","role":"user"}"#, r#"{"type":"error","message":"x"}"#] {
        let facts = stdout(&[&first, other, &second, SUCCESS]).facts();
        assert_eq!(facts[0], "message: one", "{other}");
        assert!(facts.contains(&"message: two".to_owned()), "{other}");
    }
    let facts = stdout(&[&first, r#"{"type":"news"}"#, &second, SUCCESS]).facts();
    assert_eq!(facts[..2], ["unknown news", "message: onetwo"], "what is not known ends nothing");
}

#[test]
fn a_whole_message_ends_the_one_before() {
    let facts = stdout(&[&delta("one"), &whole("two"), SUCCESS]).facts();
    assert_eq!(facts[..2], ["message: one", "message: two"]);
}

#[test]
fn empty_deltas_make_no_message() {
    let story = stdout(&[&delta("one"), TOOL, &delta(""), SUCCESS]);
    assert_eq!(story.facts().iter().filter(|line| line.starts_with("message")).count(), 1);
}

#[test]
fn a_message_without_a_good_end_is_partial() {
    assert_eq!(stdout(&[&delta("half")]).facts(), ["partial: half"]);
    assert_eq!(stdout(&[&delta("half"), FAILURE]).facts()[0], "partial: half");
}

#[test]
fn a_failed_result_fails_the_turn() {
    let expected = [
        "Error ENGINE_ERROR network: [API Error: terminated]",
        "end failure network: [API Error: terminated]",
        "status turn_failed",
    ];
    assert_eq!(stdout(&[FAILURE]).lines(), expected);
    let failed = |error: &str| stdout(&[&format!(r#"{{"type":"result","status":"error"{error}}}"#)]).facts();
    let by_code = failed(r#","error":{"message":"no","code":429}"#);
    assert_eq!(by_code, ["Error ENGINE_ERROR quota: no", "end failure quota: no"]);
    assert_eq!(failed(""), ["Error ENGINE_ERROR engine: the turn failed", "end failure engine: -"]);
    assert_eq!(failed(r#","error":[1]"#)[1], "end failure engine: -");
    assert_eq!(failed(r#","error":"lone \ud800""#)[1], "end failure engine: lone \u{fffd}");
}

/// Seen with an empty response: the reason is in an earlier `error` event.
#[test]
fn a_failed_result_takes_its_reason_from_the_error_before() {
    let error = r#"{"type":"error","severity":"error","message":"Model stream ended without a finish reason."}"#;
    let expected = [
        "Error ENGINE_ERROR engine: Model stream ended without a finish reason.",
        "Error ENGINE_ERROR engine: Model stream ended without a finish reason.",
        "end failure engine: Model stream ended without a finish reason.",
    ];
    assert_eq!(stdout(&[error, r#"{"type":"result","status":"error"}"#]).facts(), expected);
}

#[test]
fn an_error_event_is_not_the_end() {
    let error = |severity: &str| stdout(&[&format!(r#"{{"type":"error","severity":"{severity}","message":"m"}}"#)]);
    assert_eq!(error("warning").lines(), ["Warning ENGINE_WARNING engine: m"]);
    assert_eq!(error("error").lines(), ["Error ENGINE_ERROR engine: m"]);
}

#[test]
fn a_failed_tool() {
    let failed = |more: &str| stdout(&[&format!(r#"{{"type":"tool_result","tool_id":"t1","status":"error"{more}}}"#)]);
    assert_eq!(failed(r#","error":{"type":"X","message":"no"},"output":"o""#).lines(), ["failed t1 (no): o"]);
    assert_eq!(failed("").lines(), ["failed t1 (error): -"]);
}

#[test]
fn an_api_error_is_no_message() {
    let expected = ["Error ENGINE_ERROR quota: [API Error: quota exceeded]"];
    assert_eq!(stdout(&[&whole("[API Error: quota exceeded]")]).lines(), expected);
    let story = stdout(&[&delta("[API"), &delta(" Error: quo"), &delta("ta exceeded]"), TOOL]);
    assert_eq!(story.lines()[..4], ["status streaming", "status streaming", "status streaming", expected[0]]);
    let story = stdout(&[&delta("[A"), &delta("PI] is short"), SUCCESS]);
    assert_eq!(story.lines()[..3], ["status streaming", "delta: [API] is short", "message: [API] is short"]);
    assert_eq!(stdout(&[&delta("["), SUCCESS]).facts()[0], "message: [");
}

#[test]
fn a_new_session_retracts_the_end() {
    let facts = stdout(&[INIT, SUCCESS, INIT]).facts();
    assert_eq!(facts, ["session s1", "usage 20 4 1 -", "end success", "session s1", "end taken back"]);
}

#[test]
fn unknown_types_and_shapes_are_kept() {
    let unknown = |line: &str| stdout(&[line]).lines();
    assert_eq!(unknown(r#"{"type":"news"}"#), ["unknown news"]);
    assert_eq!(unknown(r#"{"type":"init"}"#), ["unknown init"]);
    assert_eq!(unknown(r#"{"type":"message","role":"system","content":"x"}"#), ["unknown message"]);
    assert_eq!(unknown(r#"{"type":"message","role":"assistant","content":7}"#), ["unknown message"]);
    assert_eq!(unknown(r#"{"type":"tool_use","tool_id":"t1"}"#), ["unknown tool_use"]);
    assert_eq!(unknown(r#"{"type":"tool_result","tool_id":"t1"}"#), ["unknown tool_result"]);
    assert_eq!(unknown(r#"{"type":"result","status":"paused"}"#), ["unknown result"]);
    assert_eq!(unknown(r#"{"status":"ok"}"#), ["unknown object without type"]);
    assert_eq!(unknown("Hello."), ["raw: Hello."]);
    assert_eq!(stderr("{\"type\":\"init\",\"session_id\":\"s\"}\n").lines().len(), 1, "events are on stdout");
}

#[test]
fn statistics_of_another_shape_cost_the_usage_not_the_end() {
    let odd = r#"{"type":"result","status":"success","stats":{"input_tokens":1.5}}"#;
    assert_eq!(stdout(&[odd]).facts(), ["end success"]);
}

#[test]
fn a_lone_surrogate_spoils_nothing() {
    let line = r#"{"type":"message","role":"assistant","content":"a\ud800b"}"#;
    assert_eq!(stdout(&[line]).lines(), ["message: a\u{fffd}b"]);
    let document = r#"{"session_id":"s1","response":"a\ud800b"}"#;
    assert_eq!(stdout(&[document]).facts()[1], "message: a\u{fffd}b");
}

#[test]
fn a_cut_last_line_may_show_the_success_end() {
    let shown = r#"{"type":"result","timestamp":"t","status":"success","stats":{"input_to"#;
    let cut = |text: &str| gemini(&[(Stream::Stdout, text)]).facts();
    assert_eq!(cut(shown), [&format!("raw: {shown}"), "notice END_EVENT_CUT", "end success"]);
    let facts = cut(&format!("{}\n{shown}", delta("done")));
    assert_eq!(facts[0], "message: done", "the end that was seen ends the message too");
    assert_eq!(facts[2..], ["notice END_EVENT_CUT", "end success"]);
    assert_eq!(cut(&shown.replace("success", "error")).len(), 1);
    assert_eq!(cut(&shown.replace("result", "results")).len(), 1);
    assert_eq!(cut(r#"{"type":"result","timestamp":"t","status":"succ"#).len(), 1);
    let expected = Some("partial: half");
    assert_eq!(cut(&format!("{}\n{}", delta("half"), shown.replace("success", "error"))).pop().as_deref(), expected);
}

const DOCUMENT: &str = r#"{
  "session_id": "s1",
  "response": "Done.",
  "stats": {
    "models": {
      "a": {"tokens": {"input": 3, "prompt": 10, "candidates": 2, "cached": 7, "thoughts": 1}},
      "b": {"tokens": {"input": 5, "candidates": 1}},
      "c": {}
    }
  }
}
"#;
const DOCUMENT_FACTS: [&str; 5] =
    ["session s1", "message: Done.", "usage 15 3 7 1", "end success", "status turn_completed"];

#[test]
fn a_document_on_any_stream() {
    for stream in Stream::ALL {
        let story = gemini(&[(stream, DOCUMENT)]);
        assert_eq!(story.lines()[..5], DOCUMENT_FACTS, "{stream:?}");
        assert_eq!(story.profile, ProfileId::GeminiJson);
        assert_eq!(story.answer_from, DOCUMENTS);
        assert!(story.records.iter().all(|record| record.profile == ProfileId::GeminiJson));
    }
}

#[test]
fn a_document_on_one_line_or_after_noise() {
    let one_line = DOCUMENT.replace('\n', "") + "\n";
    assert_eq!(gemini(&[(Stream::Stdout, &one_line)]).lines(), DOCUMENT_FACTS);
    assert_eq!(stderr(&one_line).lines(), DOCUMENT_FACTS);
    assert_eq!(stderr(&format!("YOLO\n{DOCUMENT}bye\n")).lines()[1..6], DOCUMENT_FACTS);
    assert_eq!(stderr(&format!("Error: x\n    at y\n\n{DOCUMENT}")).lines()[1..], DOCUMENT_FACTS);
}

/// As a terminal without separate streams shows it.
#[test]
fn a_document_on_a_terminal() {
    assert_eq!(stderr(&DOCUMENT.replace('\n', "\r\n")).lines(), DOCUMENT_FACTS);
}

#[test]
fn the_merged_recording_counts_when_it_is_alone() {
    let noise = (Stream::Stdout, "Loaded cached credentials.\n");
    let alone = gemini(&[noise, (Stream::Pty, DOCUMENT)]).facts();
    assert_eq!(alone.iter().filter(|line| *line == "message: Done.").count(), 2, "given out at the end");
    let beside = gemini(&[(Stream::Stderr, DOCUMENT), (Stream::Pty, DOCUMENT)]).facts();
    assert_eq!(beside.iter().filter(|line| *line == "message: Done.").count(), 2, "one per stream");
}

#[test]
fn a_document_gives_session_answer_and_usage() {
    let document = |members: &str| stdout(&[&format!(r#"{{"session_id":"s1",{members}}}"#)]).lines();
    assert_eq!(document(r#""response":"""#)[1..], ["message: ", "end success", "status turn_completed"]);
    let failed = ["Error ENGINE_ERROR auth: no key", "end failure auth: no key", "status turn_failed"];
    assert_eq!(document(r#""error":{"type":"Error","message":"no key","code":401}"#)[1..], failed);
    assert_eq!(document(r#""error":{"type":"FatalAuthenticationError","message":"no key","code":41}"#)[1..], failed);
    assert_eq!(document(r#""response":"Half.","error":{"message":"no key","code":"401"}"#)[1], "message: Half.");
    assert_eq!(document(r#""response":"Half.","error":{"message":"no key","code":"401"}"#)[2..], failed);
    assert_eq!(document(r#""stats":{}"#)[1..], ["status working"]);
    assert_eq!(document(r#""response":null"#), ["unknown object without type"]);
    assert_eq!(document(r#""response":"[API Error: x]""#)[1], "Error ENGINE_ERROR engine: [API Error: x]");
}

#[test]
fn what_is_no_document() {
    assert_eq!(stdout(&[r#"{"response":"x"}"#]).lines(), ["unknown object without type"]);
    assert_eq!(stdout(&[r#"{"session_id":7,"response":"x"}"#]).lines(), ["unknown object without type"]);
    assert_eq!(stderr("{\n  \"a\": 1\n}\n").lines(), ["raw: {", "raw:   \"a\": 1", "raw: }"]);
    assert_eq!(stderr(&DOCUMENT.replace("{\n  \"s", " {\n  \"s")).facts()[0], "raw:  {", "not in column 0");
    let cut = &DOCUMENT[..DOCUMENT.len() - 3];
    assert_eq!(stderr(cut).facts().last().map(String::as_str), Some("notice DOCUMENT_UNCLOSED"));
}

#[test]
fn the_first_event_or_document_determines_the_format() {
    let one_line = DOCUMENT.replace('\n', "");
    let story = stdout(&[INIT, &one_line, SUCCESS]);
    assert_eq!(story.facts(), ["session s1", "unknown object without type", "usage 20 4 1 -", "end success"]);
    assert_eq!(story.profile, ProfileId::GeminiStreamJson);
    let story = stdout(&[&one_line, INIT]);
    assert_eq!(story.facts().last().map(String::as_str), Some("unknown init"));
    assert_eq!(story.profile, ProfileId::GeminiJson);
    let story = gemini(&[(Stream::Stdout, INIT), (Stream::Stderr, DOCUMENT)]);
    assert_eq!(story.profile, ProfileId::GeminiStreamJson, "events prevail");
    assert_eq!(story.answer_from, AnswerFrom::Only(Stream::Stdout));
}

#[test]
fn the_document_profile_reads_documents_alone() {
    let story = read(ProfileId::GeminiJson, &[(Stream::Stdout, INIT), (Stream::Stderr, DOCUMENT)]);
    assert_eq!(story.lines()[0], "unknown init");
    assert_eq!(story.lines()[1..], DOCUMENT_FACTS);
    assert_eq!(Parser::new(ProfileId::GeminiJson).profile(), ProfileId::GeminiJson);
}

const TRACE: &str = "Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {\"error\":{}}
    at throwErrorIfNotOK (file:///x.js:267833:24)

    at async Turn.run (file:///x.js:333001:24) {
  status: 429
}
";

#[test]
fn a_trace_is_one_error() {
    let head = TRACE.lines().next().expect("a line");
    let story = stderr(&format!("Ripgrep is not available.\n{TRACE}\nnext\n"));
    let expected = [
        "raw: Ripgrep is not available.".to_owned(),
        format!("Warning ENGINE_RETRY quota: {head}"),
        "raw: next".to_owned(),
    ];
    assert_eq!(story.lines(), expected);
    let from = "Ripgrep is not available.\n".len() as u64;
    let to = from + TRACE.len() as u64;
    assert_eq!(story.records[1].span, Span { stream: Stream::Stderr, from, to });
    assert_eq!(story.records[1].confidence, 0.8);
    assert_eq!(stderr(TRACE).lines(), expected[1..2], "at the end of the stream");
    assert_eq!(stderr(TRACE.trim_end()).lines(), expected[1..2]);
}

/// gemini is silent for a minute and more between two attempts. The retry was known only with the line after it.
#[test]
fn a_retry_is_known_before_the_next_line() {
    let mut parser = Parser::new(ProfileId::GeminiStreamJson);
    let mut records = Vec::new();
    let (last, before) = TRACE.trim_end().rsplit_once('\n').map(|(before, last)| (last, before)).expect("lines");
    parser.push(Stream::Stderr, format!("{before}\n").as_bytes(), |record| records.push(record));
    assert!(records.is_empty(), "{records:?}");
    parser.push(Stream::Stderr, format!("{last}\n").as_bytes(), |record| records.push(record));
    assert_eq!(records.len(), 1, "{records:?}");
    assert_eq!(records[0].span, Span { stream: Stream::Stderr, from: 0, to: TRACE.len() as u64 });
}

#[test]
fn one_trace_ends_where_the_next_begins() {
    let failed = "Attempt 2 failed: quota exceeded. Max attempts reached";
    let report = "Error when talking to Gemini API Full report available at: /t/e-2026-11-15T01-01-39-403Z.json TypeError: terminated";
    let lines = stderr(&format!("{TRACE}{failed}\n{report}\n    at x {{\n  [cause]: {{\n  }}\n}}\n")).lines();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1], format!("Error ENGINE_ERROR quota: {failed}"));
    assert_eq!(lines[2], format!("Error ENGINE_ERROR network: {report}"), "the time in the name is no status");
}

/// The body of the API's response may come first, over several lines.
#[test]
fn a_trace_with_a_body_at_its_head() {
    let text = "Attempt 1 failed with status 429. Retrying with backoff... GaxiosError: [{\n  \"error\": {\n    \"code\": 429\n  }\n}\n]\n    at Gaxios._request (x)\n";
    assert_eq!(gemini(&[(Stream::Stdout, text)]).lines().len(), 1);
}

#[test]
fn what_begins_a_trace() {
    let error = |line: &str| stderr(&format!("{line}\n")).lines();
    for line in ["TypeError: terminated", "Error [ERR_X]: y", "_ApiError: {}", "Error:", "[API Error: x]"] {
        assert_eq!(
            error(line),
            [format!("Error ENGINE_ERROR {}: {line}", if line.starts_with('T') { "network" } else { "engine" })]
        );
    }
    for line in [
        "An Error: x",
        "Errors: 0",
        "Error executing tool",
        "Attempt x failed",
        "Attempt 1",
        "  Error: x",
        "https://x",
        "}",
    ] {
        assert_eq!(error(line), [format!("raw: {line}")]);
    }
    let resume = "Error resuming session: No previous sessions found for this project.";
    assert_eq!(error(resume), [format!("Error SESSION_NOT_FOUND session: {resume}")]);
    let coloured = "\u{1b}[31mTypeError: x\u{1b}[0m\n\u{1b}[2m    at y\u{1b}[0m\n";
    assert_eq!(stderr(coloured).lines(), ["Error ENGINE_ERROR engine: TypeError: x"]);
}

#[test]
fn a_trace_among_events() {
    let story = stdout(&[&delta("half"), "Error: x", "    at y", FAILURE]);
    assert_eq!(story.facts()[..2], ["Error ENGINE_ERROR engine: Error: x", "partial: half"]);
}

#[test]
fn a_trace_has_a_limit() {
    let line = format!("    at {}\n", "x".repeat(1017));
    let lines = stderr(&format!("Error: x\n{}", line.repeat(70))).lines();
    assert_eq!(lines.len(), 1 + 7, "63 lines fit beside the first");
    assert!(lines[1..].iter().all(|line| line.starts_with("raw:     at x")));
}

#[test]
fn a_trace_does_not_continue_after_an_overlong_line() {
    let long = "x".repeat(crate::LINE_BUDGET + 1);
    let text = format!("Error: x\n{long}\n    at y\n");
    let story = read_whole(ProfileId::GeminiStreamJson, &[(Stream::Stderr, text)]);
    let errors = story.pick(|record| matches!(record.kind, RecordKind::EngineError(_)).then_some(record.span));
    assert_eq!(errors, [Span { stream: Stream::Stderr, from: 0, to: 9 }]);
}

fn any_line() -> impl Strategy<Value = String> {
    let cut = r#"{"type":"result","status":"success","x":{"#;
    let events = [INIT, TOOL, SUCCESS, FAILURE, DOCUMENT, TRACE, cut, r#"{"type":"error","message":"m"}"#];
    let pieces = ["{", "}", "]", "    at x", "Error: x", "", "\u{1b}[0m", "\u{feff}", r#"{"session_id":"s","#];
    let known = [&events[..], &pieces].concat();
    prop_oneof![
        proptest::sample::select(known).prop_map(str::to_owned),
        "[\\[{}\":A-E \\\\]{0,6}".prop_map(|text| delta(&text)),
        "(\\[API Error?)".prop_map(|text| delta(&text)),
        "\\PC{0,20}",
    ]
}

proptest! {
    #[test]
    fn anything_is_read_the_same_in_any_chunking(
        stdout in proptest::collection::vec(any_line(), 0..12),
        stderr in proptest::collection::vec(any_line(), 0..12),
    ) {
        let (stdout, stderr) = (stdout.join("\n"), stderr.join("\n"));
        for profile in [ProfileId::GeminiStreamJson, ProfileId::GeminiJson, ProfileId::OpencodeNdjson] {
            read(profile, &[(Stream::Stdout, &stdout), (Stream::Stderr, &stderr)]);
        }
    }
}
