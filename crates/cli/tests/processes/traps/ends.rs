//! What a success looks like, and what only looks like one.

use crate::traps::tape::{ENGINES, Tape};

#[test]
fn success_is_exit_0_with_the_end_event_of_the_engine() {
    for engine in ENGINES {
        let told = Tape::done(engine).succeeds();
        assert_eq!((told.0["output"]["status"].as_str(), told.tools().len()), (Some("ok"), 1), "{engine}");
    }
}

#[test]
fn exit_0_with_the_whole_answer_but_no_end_event_is_no_success() {
    for engine in ENGINES {
        let told = Tape::done(engine).without_last_line().auto();
        assert_eq!((told.status(), told.reason()), ("failed", "ENGINE_END_MISSING"), "{engine}: {}", told.0);
    }
}

#[test]
fn claude_says_subtype_success_in_a_failure() {
    let tape = Tape::of("claude-quota");
    assert!(tape.stdout().contains(r#""subtype":"success""#) && tape.stdout().contains(r#""is_error":true"#));
    tape.fails("quota");
    // Neither the exit code nor the word decides, but the flag.
    Tape::of("claude-quota").with(&["--exit-code", "0"]).fails("quota");
    let end = |text: String| text.replace(r#""is_error":false"#, r#""is_error":true"#);
    assert_eq!(Tape::done("claude").with_stdout(end).auto().status(), "failed");
}

#[test]
fn opencode_has_no_end_event_and_an_open_step_is_no_end() {
    let told = Tape::of("opencode-step-left-open").auto();
    assert_eq!((told.status(), told.reason()), ("failed", "ENGINE_END_MISSING"));
    let open = |text: String| text.clone() + text.lines().next().expect("a step that starts") + "\n";
    let told = Tape::done("opencode").with_stdout(open).auto();
    assert_eq!((told.status(), told.reason()), ("failed", "ENGINE_END_MISSING"), "{}", told.0);
}

#[test]
fn opencode_exits_with_0_after_an_unanswered_permission() {
    let tape = Tape::of("opencode-permission-asked");
    assert_eq!(tape.meta()["exit_code"], 0);
    assert!(tape.stdout().trim_end().lines().last().expect("lines").contains(r#""reason":"tool-calls""#));
    let told = tape.fails("engine");
    assert_eq!((told.reason(), told.messages().len()), ("ENGINE_END_MISSING", 0));
}

#[test]
fn opencode_cuts_the_same_tool_output_in_different_places() {
    let tools = [1_100, 51_000].map(|bytes| {
        let long = |text: String| {
            text.replace(r#""output":"2026\nto-stderr\n""#, &format!(r#""output":"{}""#, "x".repeat(bytes)))
        };
        Tape::done("opencode").with_stdout(long).succeeds()
    });
    assert_eq!(tools[0].happened(), tools[1].happened());
}
