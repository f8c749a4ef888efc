//! A session that the engine does not know. Most say so on stderr alone, before any event.

use crate::traps::tape::Tape;

#[track_caller]
fn is_unknown(engine: &str, exit: u8, words: &str) {
    let tape = Tape::of(&format!("{engine}-unknown-session"));
    assert_eq!(tape.meta()["exit_code"], exit);
    assert!(tape.text("stderr.1.log").contains(words));
    let told = tape.fails("session");
    assert_eq!(told.word("error.code"), "SESSION_NOT_FOUND", "{}", told.0);
}

#[test]
fn codex_has_no_rollout_for_an_unknown_session() {
    is_unknown("codex", 1, "no rollout found for thread id");
}

#[test]
fn opencode_does_not_find_an_unknown_session() {
    is_unknown("opencode", 1, "Session not found");
}

#[test]
fn gemini_exits_42_for_an_unknown_session() {
    is_unknown("gemini", 42, "Error resuming session");
}

#[test]
fn claude_reports_an_unknown_session_in_its_result_too() {
    is_unknown("claude", 1, "No conversation found");
    assert!(Tape::of("claude-unknown-session").stdout().contains("error_during_execution"));
}

#[test]
fn qwen_takes_an_unknown_session_for_a_title() {
    is_unknown("qwen", 1, "No saved session found with title");
}
