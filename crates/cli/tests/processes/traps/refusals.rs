//! The server refuses: 429, 401, 400. Every engine reports it in its own way, and none of it is an answer or a question.

use crate::traps::tape::Tape;

#[test]
fn codex_429_fails_the_turn() {
    let tape = Tape::failed("codex-turn-failed", 1, "quota");
    assert!(tape.stdout().contains("turn.failed"));
}

#[test]
fn opencode_429_is_an_error_event_after_nine_silent_tries() {
    let tape = Tape::failed("opencode-quota", 1, "quota");
    assert_eq!(tape.stdout().lines().count(), 1, "the tries were not reported");
}

#[test]
fn gemini_exits_173_on_429() {
    Tape::failed("gemini-quota", 173, "quota");
}

#[test]
fn claude_reports_a_429_in_an_assistant_message() {
    let tape = Tape::failed("claude-quota", 1, "quota");
    assert!(tape.stdout().contains(r#""model":"<synthetic>""#));
}

#[test]
fn qwen_429_is_tried_again_for_ten_minutes() {
    let tape = Tape::of("qwen-quota");
    assert!(tape.stdout().contains(r#""delayMs":60000"#), "it reported that it waits a minute");
    // It was still at it when its time was up; a retry is neither an end nor a question. It is reported on both streams,
    // and the status stands on stderr alone.
    let told = tape.fails("timeout");
    assert_eq!((told.reason(), told.messages().len(), told.diagnostics("ENGINE_RETRY")), ("TIMEOUT", 0, 2));
}

#[test]
fn codex_401_fails_the_turn() {
    Tape::failed("codex-unauthorized", 1, "auth");
}

#[test]
fn opencode_401_is_an_error_event_without_a_step() {
    let tape = Tape::failed("opencode-unauthorized", 1, "auth");
    assert!(!tape.stdout().contains("step_start"));
}

#[test]
fn gemini_exits_145_on_401() {
    Tape::failed("gemini-unauthorized", 145, "auth");
}

#[test]
fn claude_401_says_subtype_success_too() {
    let tape = Tape::failed("claude-unauthorized", 1, "auth");
    assert!(tape.stdout().contains(r#""subtype":"success""#));
}

#[test]
fn qwen_401_is_error_during_execution() {
    let tape = Tape::failed("qwen-unauthorized", 1, "auth");
    assert!(tape.stdout().contains(r#""subtype":"error_during_execution""#));
}

#[test]
fn opencode_400_is_an_error_event() {
    Tape::failed("opencode-bad-request", 1, "engine");
}

#[test]
fn gemini_exits_144_on_400() {
    Tape::failed("gemini-bad-request", 144, "engine");
}

#[test]
fn codex_without_its_key_fails_the_turn() {
    let tape = Tape::failed("codex-key-missing", 1, "auth");
    assert!(tape.stdout().contains("Missing environment variable"));
}
