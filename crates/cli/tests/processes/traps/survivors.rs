//! Cancelling ends everybody, however they hide and whatever they ignore.

use lab::{environment, signal_group};

use crate::traps::lab::Lab;
use crate::traps::tape::Tape;

const TOOL: &str = "session [ pid @tool.pid forever ] wait-file @tool.pid";

#[test]
fn a_signal_to_the_group_leaves_an_unwatched_tool_running() {
    let lab = Lab::new();
    let mut engine = lab.alone("codex", TOOL);
    signal_group(engine.id(), "TERM");
    assert!(!engine.wait().expect("an end").success());
    assert_eq!(lab.alive(), [lab.pid("tool.pid")]);
}

#[test]
fn a_group_signal_does_not_reach_tools_in_other_sessions() {
    for engine in ["codex", "opencode", "gemini"] {
        let lab = Lab::new();
        let run = lab.busy(engine, TOOL);
        assert_eq!(lab.alive().len(), 2, "{engine}");
        run.cancel();
        lab.nobody_is_left();
    }
}

#[test]
fn the_relaunching_parent_of_gemini_ignores_sigint_and_sigterm() {
    // As it was recorded: interrupted in its tool call, it ran on until its time was up.
    Tape::of("gemini-interrupted").fails("timeout");
    let lab = Lab::new();
    let worker = format!("child [ {TOOL} on SIGINT [ exit 0 ] on SIGTERM [ exit 0 ] pid @child.pid forever ]");
    let run = lab.busy("gemini", &format!("ignore SIGINT ignore SIGTERM {worker} wait-file @child.pid"));
    run.cancel();
    assert_eq!(run.process().1.as_deref(), Some("SIGKILL"), "nothing less ends it");
    lab.nobody_is_left();
}

#[test]
fn exit_0_after_a_cancel_is_a_cancel() {
    for engine in ["gemini", "claude"] {
        let lab = Lab::new();
        let run = lab.busy(engine, "on SIGINT [ exit 0 ] on SIGTERM [ exit 0 ]");
        run.cancel();
        assert_eq!(run.process().0, Some(0), "{engine}");
    }
}

#[test]
fn a_tool_that_lost_its_parents_is_found() {
    let lab = Lab::new();
    let run = lab.busy("codex", "daemon [ silence pid @tool.pid forever ] wait-file @tool.pid");
    assert_eq!(lab.alive().len(), 2);
    run.cancel();
    lab.nobody_is_left();
}

#[test]
fn every_process_of_an_attempt_has_its_tag() {
    let lab = Lab::new();
    let run = lab.busy("opencode", TOOL);
    let tag = format!("SKILLRUN_ATTEMPT={}/1/", run.request()["run_id"].as_str().expect("an id"));
    for name in ["main.pid", "tool.pid"] {
        let variables = environment(lab.pid(name));
        assert!(variables.iter().any(|variable| variable.starts_with(&tag)), "{name}: {variables:?}");
    }
    run.cancel();
}

/// Rust's own runtime ignores SIGPIPE in the stand-in that reports, and nothing else.
const SIGPIPE_ALONE: &str = "0000000000001000";

#[test]
fn signals_that_a_shell_ignores_are_not_ignored_by_the_engine() {
    for engine in ["opencode", "gemini"] {
        let lab = Lab::new();
        lab.stand_in(engine, &lab.steps("report"));
        let run = lab.run_after("trap '' INT TERM HUP QUIT", engine);
        assert_eq!(run.report()["sigign"], SIGPIPE_ALONE, "{engine}");
    }
}
