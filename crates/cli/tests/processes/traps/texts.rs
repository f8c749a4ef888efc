//! Words that look like something they are not.

use crate::traps::tape::Tape;

#[test]
fn the_error_text_of_claude_is_no_question() {
    let tape = Tape::of("claude-quota");
    assert!(tape.stdout().contains(r#""text":"API Error: Request rejected (429)"#));
    let told = tape.fails("quota");
    assert_eq!(told.messages(), Vec::<&str>::new());
}

#[test]
fn the_api_error_text_of_qwen_is_no_question() {
    let tape = Tape::of("qwen-unauthorized");
    assert!(tape.stdout().contains(r#""content":[{"type":"text","text":"[API Error: 401"#));
    assert_eq!(tape.fails("auth").messages(), Vec::<&str>::new());
}

#[test]
fn the_deltas_of_gemini_are_one_message() {
    let tape = Tape::done("gemini");
    assert!(tape.stdout().matches(r#""delta":true"#).count() > 2);
    assert!(!tape.stdout().contains(r#"\"__SKILL_DONE__\": true"#), "the marker stands in no single delta");
    let told = tape.succeeds();
    assert_eq!(told.messages().len(), 1);
    assert!(told.messages()[0].starts_with(r#"{"__SKILL_DONE__": true"#));
}

#[test]
fn an_item_of_type_error_is_a_mere_warning_of_codex() {
    let tape = Tape::done("codex");
    assert!(tape.stdout().contains(r#""type":"error","message":"Model metadata"#));
    let told = tape.succeeds();
    assert_eq!((told.diagnostics("ENGINE_WARNING"), told.diagnostics("ENGINE_ERROR")), (1, 0));
}

#[test]
fn codex_reports_errors_of_tries_that_succeed_later() {
    let tape = Tape::of("codex-retry-then-done");
    assert!(tape.stdout().contains(r#"{"type":"error","message":"Reconnecting"#));
    let told = tape.succeeds();
    assert!(told.diagnostics("ENGINE_RETRY") > 0 && told.diagnostics("ENGINE_ERROR") == 0, "{}", told.0);
}
