//! The stream of the model breaks off in the middle of its answer.

use crate::traps::tape::Tape;

#[test]
fn codex_shows_nothing_of_a_cut_answer() {
    let told = Tape::of("codex-stream-cut").fails("network");
    assert_eq!((told.reason(), told.messages().len()), ("ENGINE_FAILED", 0));
}

#[test]
fn opencode_begins_a_step_again_for_each_cut_answer() {
    let tape = Tape::of("opencode-stream-cut");
    assert!(tape.stdout().matches(r#""type":"step_start""#).count() > 1);
    let told = tape.fails("network");
    assert_eq!((told.reason(), told.messages().len()), ("ENGINE_FAILED", 0));
}

#[test]
fn gemini_has_shown_half_the_marker_when_the_stream_is_cut() {
    let tape = Tape::of("gemini-failure-after-text");
    assert!(tape.stdout().contains(r#"{\"__SKILL_DONE__\""#));
    let told = tape.fails("network");
    assert_eq!((told.reason(), told.word("turn_state")), ("ENGINE_FAILED", "partial_failed"));
}

#[test]
fn gemini_can_fail_behind_the_whole_marker() {
    let failed = |text: String| {
        text.replace(
            r#""status":"success","stats""#,
            r#""status":"error","error":{"type":"unknown","message":"[API Error: terminated]"},"stats""#,
        )
    };
    let told = Tape::done("gemini").with_stdout(failed).auto();
    assert_eq!((told.status(), told.reason()), ("failed", "ENGINE_FAILED"), "{}", told.0);
}

#[test]
fn claude_asks_again_without_a_stream_and_succeeds() {
    let tape = Tape::of("claude-stream-cut");
    assert_eq!(tape.meta()["exit_code"], 0);
    assert_eq!(tape.succeeds().messages().len(), 1, "half an answer is not shown");
}

#[test]
fn qwen_gives_a_cut_answer_up_after_three_tries() {
    let tape = Tape::of("qwen-stream-cut");
    assert!(tape.stdout().contains(r#""subtype":"error_during_execution""#));
    let told = tape.fails("network");
    assert_eq!((told.reason(), told.messages().len()), ("ENGINE_FAILED", 0));
}
