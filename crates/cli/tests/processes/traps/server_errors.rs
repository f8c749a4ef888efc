//! The server fails: at once, or after a tool has already been called.

use crate::traps::tape::Tape;

/// A tool that went well makes no success of it.
#[track_caller]
fn fails_after_a_tool(engine: &str, exit: u8) {
    let tape = Tape::failed(&format!("{engine}-server-error-after-tool"), exit, "network");
    let told = tape.auto();
    let tools = told.tools();
    assert!(matches!(tools[..], [(_, "completed")]), "{tools:?}");
}

#[test]
fn codex_500_fails_the_turn() {
    Tape::failed("codex-server-error", 1, "network");
}

#[test]
fn opencode_500_comes_after_more_than_a_minute_without_a_word() {
    let tape = Tape::failed("opencode-server-error", 1, "network");
    let index = tape.text("chunks.1.jsonl");
    let first: u64 =
        index.split_once(r#""t_ns":"#).and_then(|(_, rest)| rest.split(',').next()?.parse().ok()).expect("a time");
    assert!(first > 60_000_000_000, "{first}");
}

#[test]
fn gemini_exits_244_on_500() {
    Tape::failed("gemini-server-error", 244, "network");
}

#[test]
fn claude_500_says_subtype_success_too() {
    let tape = Tape::failed("claude-server-error", 1, "network");
    assert!(tape.stdout().contains(r#""subtype":"success""#));
}

#[test]
fn qwen_500_is_silent_until_it_is_ended() {
    Tape::timed_out("qwen-server-error");
}

#[test]
fn codex_500_after_a_tool_call() {
    fails_after_a_tool("codex", 1);
}

#[test]
fn opencode_500_after_a_tool_call() {
    fails_after_a_tool("opencode", 1);
}

#[test]
fn gemini_500_after_a_tool_call() {
    fails_after_a_tool("gemini", 244);
}

#[test]
fn claude_500_after_a_tool_call() {
    fails_after_a_tool("claude", 1);
}

#[test]
fn qwen_500_after_a_tool_call() {
    let tape = Tape::timed_out("qwen-server-error-after-tool");
    assert_eq!(tape.auto().tools(), [("run_shell_command", "completed")]);
}
