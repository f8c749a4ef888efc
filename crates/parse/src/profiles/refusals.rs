//! What the engines print when a service refuses them: 401 and 429, as recorded in November 2026 against a scripted
//! service. Members that do not matter are left out.

use skillrun_model::codes::ErrorCategory::{self, Auth, Quota};
use skillrun_model::{ProfileId, Stream};

use super::story;
use crate::record::{End, EndKind, EngineError, Record, RecordKind};
use crate::reset::Reset;

struct Refusal {
    profile: ProfileId,
    stdout: &'static str,
    stderr: &'static str,
    category: ErrorCategory,
}

const CODEX_401: &str = r#"{"type":"thread.started","thread_id":"01a1e072"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for `fake-model` not found. Defaulting to fallback metadata; this can degrade performance and cause issues."}}
{"type":"turn.started"}
{"type":"error","message":"Reconnecting... 1/1 (unexpected status 401 Unauthorized: Incorrect API key provided: dummy, url: http://127.0.0.1:28417/v1/responses)"}
{"type":"error","message":"unexpected status 401 Unauthorized: Incorrect API key provided: dummy, url: http://127.0.0.1:28417/v1/responses"}
{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Incorrect API key provided: dummy, url: http://127.0.0.1:28417/v1/responses"}}
"#;

const CODEX_429: &str = r#"{"type":"thread.started","thread_id":"01a1dcb6"}
{"type":"turn.started"}
{"type":"error","message":"Reconnecting... 1/1 (exceeded retry limit, last status: 429 Too Many Requests)"}
{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}
"#;

const CLAUDE_401: &str = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":1,"retry_delay_ms":611,"error_status":401,"error":"authentication_failed","session_id":"a4299fb6"}
{"type":"assistant","message":{"id":"809d3486","model":"<synthetic>","role":"assistant","type":"message","content":[{"type":"text","text":"Failed to authenticate. API Error: 401 Incorrect API key provided: dummy"}]},"parent_tool_use_id":null,"session_id":"a4299fb6","error":"authentication_failed","is_api_error_message":true,"api_error_status":401,"api_error_type":"authentication_error"}
{"duration_api_ms":0,"stop_reason":"stop_sequence","session_id":"a4299fb6","terminal_reason":"api_error","is_error":true,"num_turns":1,"subtype":"success","api_error_status":401,"result":"Failed to authenticate. API Error: 401 Incorrect API key provided: dummy","type":"result"}
"#;

const CLAUDE_429: &str = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":1,"retry_delay_ms":1000,"error_status":429,"error":"rate_limit","session_id":"7eeb2e38"}
{"type":"assistant","message":{"id":"52cde326","model":"<synthetic>","role":"assistant","type":"message","content":[{"type":"text","text":"API Error: Request rejected (429) · Rate limit reached for fake-model: quota exceeded"}]},"parent_tool_use_id":null,"session_id":"7eeb2e38","error":"rate_limit","is_api_error_message":true,"api_error_status":429}
{"session_id":"7eeb2e38","terminal_reason":"api_error","is_error":true,"subtype":"success","api_error_status":429,"result":"API Error: Request rejected (429) · Rate limit reached for fake-model: quota exceeded","type":"result"}
"#;

const GEMINI_401: &str = r#"{"type":"init","timestamp":"2026-11-15T18:22:15.534Z","session_id":"f12bec95","model":"gemini-2.5-flash"}
{"type":"result","timestamp":"2026-11-15T18:22:15.637Z","status":"error","error":{"type":"unknown","message":"[API Error: {\"error\":{\"code\":401,\"message\":\"Incorrect API key provided: dummy\",\"status\":\"UNAUTHENTICATED\"}}]"},"stats":{"total_tokens":0}}
"#;

const GEMINI_401_STDERR: &str = r#"Error when talking to Gemini API Full report available at: /tmp/gemini-client-error-Turn.run-sendMessageStream-2026-11-15T18-22-15-606Z.json _ApiError: {"error":{"code":401,"message":"Incorrect API key provided: dummy","status":"UNAUTHENTICATED"}}
    at throwErrorIfNotOK (file:///bundle/chunk-JDPZ4CE3.js:267833:24)
"#;

const GEMINI_429: &str = r#"{"type":"init","timestamp":"2026-11-15T01:13:38.299Z","session_id":"53cf477c","model":"gemini-2.5-flash"}
{"type":"result","timestamp":"2026-11-15T01:13:42.303Z","status":"error","error":{"type":"unknown","message":"[API Error: Rate limit reached for fake-model: quota exceeded]\nPlease wait and try again later. To increase your limits, request a quota increase through AI Studio, or switch to another /auth method"},"stats":{"total_tokens":0}}
"#;

const GEMINI_429_STDERR: &str = r#"Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429,"message":"Rate limit reached for fake-model: quota exceeded","status":"RESOURCE_EXHAUSTED"}}
    at throwErrorIfNotOK (file:///bundle/chunk-JDPZ4CE3.js:267833:24)
"#;

const OPENCODE_401: &str = r#"{"type":"error","timestamp":1794766943523,"sessionID":"ses_e1f8","error":{"name":"APIError","data":{"message":"Incorrect API key provided: dummy","statusCode":401,"isRetryable":false,"responseHeaders":{"content-length":"119"},"responseBody":"{\"error\": {\"code\": \"invalid_api_key\"}}"}}}
"#;

const OPENCODE_429: &str = r#"{"type":"error","timestamp":1794704418347,"sessionID":"ses_e234","error":{"name":"APIError","data":{"message":"Rate limit reached for fake-model: quota exceeded","statusCode":429,"isRetryable":true,"responseHeaders":{"content-length":"137","date":"Sun, 15 Nov 2026 01:00:18 GMT","retry-after":"1"},"responseBody":"{\"error\": {\"code\": \"rate_limit_exceeded\"}}"}}}
"#;

const QWEN_401: &str = r#"{"type":"assistant","session_id":"02c36a05","parent_tool_use_id":null,"message":{"id":"e3b8b33d","type":"message","role":"assistant","model":"fake-model","content":[{"type":"text","text":"[API Error: 401 Incorrect API key provided: dummy]"}]}}
{"type":"result","subtype":"error_during_execution","session_id":"02c36a05","is_error":true,"num_turns":1,"error":{"message":"[API Error: 401 Incorrect API key provided: dummy]"}}
"#;

const QWEN_429: &str = r#"{"type":"assistant","session_id":"f27849eb","parent_tool_use_id":null,"message":{"id":"e3b8b33e","type":"message","role":"assistant","model":"fake-model","content":[{"type":"text","text":"[API Error: 429 Rate limit reached for fake-model: quota exceeded]"}]}}
{"type":"result","subtype":"error_during_execution","session_id":"f27849eb","is_error":true,"error":{"message":"[API Error: 429 Rate limit reached for fake-model: quota exceeded]"}}
"#;

const fn refusal(profile: ProfileId, stdout: &'static str, stderr: &'static str, category: ErrorCategory) -> Refusal {
    Refusal { profile, stdout, stderr, category }
}

const REFUSALS: [Refusal; 10] = [
    refusal(ProfileId::CodexNdjson, CODEX_401, "Reading additional input from stdin...\n", Auth),
    refusal(ProfileId::CodexNdjson, CODEX_429, "Reading additional input from stdin...\n", Quota),
    refusal(ProfileId::ClaudeStreamJson, CLAUDE_401, "", Auth),
    refusal(ProfileId::ClaudeStreamJson, CLAUDE_429, "", Quota),
    refusal(ProfileId::GeminiStreamJson, GEMINI_401, GEMINI_401_STDERR, Auth),
    refusal(ProfileId::GeminiStreamJson, GEMINI_429, GEMINI_429_STDERR, Quota),
    refusal(ProfileId::OpencodeNdjson, OPENCODE_401, "", Auth),
    refusal(ProfileId::OpencodeNdjson, OPENCODE_429, "", Quota),
    refusal(ProfileId::QwenStreamJson, QWEN_401, "", Auth),
    refusal(ProfileId::QwenStreamJson, QWEN_429, "", Quota),
];

#[test]
fn every_word_about_a_refusal_has_its_category() {
    for Refusal { profile, stdout, stderr, category } in REFUSALS {
        let story = story::read(profile, &[(Stream::Stdout, stdout), (Stream::Stderr, stderr)]);
        let mut seen = 0;
        for record in &story.records {
            // codex does not know the model, which is a separate problem.
            if let RecordKind::EngineError(EngineError { category: told, message, .. }) = &record.kind
                && !message.starts_with("Model metadata")
            {
                assert_eq!(*told, category, "{profile}: {message}");
                seen += 1;
            }
            if let RecordKind::End(End { kind: EndKind::Failure, category: told, .. }) = &record.kind {
                assert_eq!(*told, category, "{profile}: its end");
                seen += 1;
            }
        }
        assert!(seen >= 2, "{profile} {category}: an error and an end");
    }
}

const CODEX_404: &str = r#"{"type":"error","message":"{\"error\":{\"message\":\"The model `gpt-9` does not exist\",\"type\":\"invalid_request_error\"}}"}
{"type":"turn.failed","error":{"message":"unexpected status 404 Not Found: {\"error\":{\"message\":\"The model `gpt-9` does not exist\",\"code\":\"model_not_found\"}}, url: http://127.0.0.1:1/v1/responses"}}
"#;

/// Found in real use: the user saw the body of the response as it came.
#[test]
fn codex_errors_are_shown_as_text() {
    let lines = story::read(ProfileId::CodexNdjson, &[(Stream::Stdout, CODEX_404)]).facts();
    let words = "The model `gpt-9` does not exist";
    let whole = format!("unexpected status 404 Not Found: {words}, url: http://127.0.0.1:1/v1/responses");
    assert_eq!(
        lines,
        [
            format!("Warning ENGINE_RETRY engine: {words}"),
            format!("end failure engine: {whole}"),
            format!("Error ENGINE_ERROR engine: {whole}"),
        ]
    );
    let of = |message: &str| {
        let line = serde_json::json!({"type": "turn.failed", "error": {"message": message}}).to_string() + "\n";
        story::read(ProfileId::CodexNdjson, &[(Stream::Stdout, &line)]).facts().pop().unwrap_or_default()
    };
    assert_eq!(of(r#"{"error":{"message":"{\"detail\":\"No\"}"}}"#), "Error ENGINE_ERROR engine: No", "one in another");
    assert_eq!(of(r#"bad {"a":1}"#), r#"Error ENGINE_ERROR engine: bad {"a":1}"#, "a document without words");
    assert_eq!(of("bad {"), "Error ENGINE_ERROR engine: bad {");
    let quota = r#"{"error":{"type":"insufficient_quota","message":"Check your plan"}}"#;
    assert_eq!(of(quota), "Error ENGINE_ERROR quota: Check your plan", "the whole text determines the category");
}

/// Found in real use: every healthy run of codex warned that part of its output was guessed at.
#[test]
fn harmless_lines_of_stderr_are_known() {
    let read = |profile, line: &str| story::read(profile, &[(Stream::Stderr, &format!("{line}\n"))]).records;
    for line in ["Reading additional input from stdin...", "Reading prompt from stdin..."] {
        let [Record { kind: RecordKind::Raw(_), confidence, .. }] = &read(ProfileId::CodexNdjson, line)[..] else {
            panic!("{line}")
        };
        assert_eq!(*confidence, 1.0, "{line}");
    }
    let [other] = &read(ProfileId::CodexNdjson, "thread panicked")[..] else { panic!("one record") };
    assert_eq!(other.confidence, 0.3);
    let flood = "Reading additional input from stdin...\n".repeat(10_010);
    let story = story::read(ProfileId::CodexNdjson, &[(Stream::Stderr, &flood)]);
    assert!(story.records.last().is_some_and(|last| last.confidence < 0.7), "a flood of it is not a healthy run");
}

const GEMINI_LOOP: &str = r#"{"type":"init","session_id":"s","model":"gemini-2.5-flash"}
{"type":"message","role":"assistant","content":"Again.","delta":true}
{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}
"#;

/// Found in real use: a turn that gemini stopped at its own limit was a success.
#[test]
fn a_loop_that_gemini_stops_is_a_limit() {
    let result = r#"{"type":"result","status":"success","stats":{}}"#;
    let end = |lines: &str| story::read(ProfileId::GeminiStreamJson, &[(Stream::Stdout, lines)]).facts().pop();
    let limit = Some("end limit of requests engine: Loop detected, stopping execution".to_owned());
    assert_eq!(end(&format!("{GEMINI_LOOP}{result}\n")), limit);
    let call = r#"{"type":"tool_use","tool_name":"shell","tool_id":"t","parameters":{}}"#;
    assert_eq!(end(&format!("{GEMINI_LOOP}{call}\n{result}\n")), Some("end success".to_owned()), "it went on");
    let turns = r#"{"type":"result","status":"error","error":{"type":"x","message":"Maximum session turns exceeded"}}"#;
    assert_eq!(
        end(&format!("{turns}\n")),
        Some("end limit of requests engine: Maximum session turns exceeded".to_owned())
    );
}

fn resets(profile: ProfileId, stdout: &str) -> Vec<(ErrorCategory, Option<Reset>)> {
    let story = story::read(profile, &[(Stream::Stdout, stdout)]);
    let error = |kind: RecordKind| {
        let RecordKind::EngineError(error) = kind else { return None };
        Some((error.category, error.reset))
    };
    story.records.into_iter().filter_map(|record| error(record.kind)).collect()
}

#[test]
fn opencode_reports_the_reset_header_of_the_service() {
    assert_eq!(resets(ProfileId::OpencodeNdjson, OPENCODE_429), [(Quota, Reset::of_header("1"))]);
    assert_eq!(resets(ProfileId::OpencodeNdjson, OPENCODE_401), [(Auth, None)]);
    let odd = OPENCODE_429.replace(r#""retry-after":"1""#, r#""retry-after":7"#);
    assert_eq!(resets(ProfileId::OpencodeNdjson, &odd), [(Quota, None)], "headers of another shape cost nothing else");
}

/// The shape is that of claude 2.1.325; there is no recording of one, since it takes a subscription.
#[test]
fn claude_reports_when_a_subscription_limit_resets() {
    let event =
        |info: &str| format!(r#"{{"type":"rate_limit_event","rate_limit_info":{info},"session_id":"s"}}"#) + "\n";
    let rejected = event(r#"{"status":"rejected","resetsAt":1794772800,"rateLimitType":"five_hour"}"#);
    let reset = Reset::since_epoch(1_794_772_800);
    assert!(reset.is_some());
    assert_eq!(resets(ProfileId::ClaudeStreamJson, &rejected), [(Quota, reset)]);
    assert_eq!(resets(ProfileId::ClaudeStreamJson, &event(r#"{"status":"rejected"}"#)), [(Quota, None)]);
    for fine in [r#"{"status":"allowed","resetsAt":1794772800}"#, "7", r#"{"status":["rejected"]}"#] {
        assert_eq!(resets(ProfileId::ClaudeStreamJson, &event(fine)), [], "{fine}");
    }
}
