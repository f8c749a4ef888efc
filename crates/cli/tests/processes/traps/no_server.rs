//! No server answers at the engine's address. Some engines give up, some wait forever.

use lab::eventually;

use crate::traps::lab::{Lab, plays};
use crate::traps::tape::Tape;

/// The engine reported it by itself.
#[track_caller]
fn gives_up(engine: &str) {
    let told = Tape::of(&format!("{engine}-no-server")).fails("network");
    assert_eq!((told.reason(), told.messages().len()), ("ENGINE_FAILED", 0), "{}", told.0);
}

#[test]
fn codex_waits_forever_for_its_server() {
    let tape = Tape::timed_out("codex-no-server-for-ever");
    assert!(tape.stdout().contains("Reconnecting... waiting for network"));
    assert_eq!(tape.auto().diagnostics("ENGINE_ERROR"), 0, "a try is not a failure");
}

#[test]
fn codex_is_always_started_with_a_bound_on_its_waiting() {
    let lab = Lab::new();
    let (first, second) = (plays("codex-asks-then-done", 1), plays("codex-asks-then-done", 2));
    lab.stand_in("codex", &format!("case \"$*\" in *\" resume \"*) {second};; esac; {first}"));
    let run = lab.run("codex", &["--mode", "interactive"]);
    run.reply("blue");
    run.ends_as("succeeded", "");
    for attempt in [1, 2] {
        let argv = run.argv(attempt);
        let switch = ["--disable", "unbounded_connection_retries"];
        assert!(argv.windows(2).any(|words| words == switch), "{attempt}: {argv:?}");
        assert_eq!(argv.contains(&"resume".to_owned()), attempt == 2);
    }
}

#[test]
fn codex_gives_up_with_the_switch() {
    gives_up("codex");
}

#[test]
fn opencode_says_nothing_of_a_server_that_is_not_there() {
    assert_eq!(Tape::timed_out("opencode-no-server").stdout(), "");
}

#[test]
fn gemini_gives_up_after_its_bounded_tries() {
    gives_up("gemini");
}

#[test]
fn claude_gives_up_by_itself() {
    gives_up("claude");
}

#[test]
fn qwen_says_nothing_of_a_server_that_is_not_there() {
    Tape::timed_out("qwen-no-server");
}

#[test]
fn an_engine_that_waits_forever_is_ended_at_its_timeout() {
    let lab = Lab::new();
    let tried = lab.path("tried");
    let line = r#"{"type":"error","message":"Reconnecting... waiting for network"}"#;
    let works = lab.steps("session [ pid @tool.pid forever ] wait-file @tool.pid forever");
    lab.stand_in("codex", &format!("echo '{line}'; echo yes >'{}'; {works}", tried.display()));
    let run = lab.run("codex", &["--timeout", "2"]);
    run.ends_as("failed", "TIMEOUT");
    eventually("a try", || tried.exists().then_some(()));
    assert_eq!(run.meta()["ended_by"], "hard_timeout");
    lab.nobody_is_left();
}
