//! The rules that need an outside event beside the script: a cancel, a host that is killed, a program that goes away.
//!
//! `HOST_ERROR` of rule 5 needs a host that cannot write; a full disk brings it about in the tests of `capture`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use lab::runtime::{LONG, RuntimeLab, kill_hard, sticky, with};
use serde_json::Value;
use skillrun_lifecycle::run::State;
use skillrun_model::{Code, ExecutionMode, RunStatus};
use skillrun_runtime::NewRun;
use skillrun_runtime::runtime::TakenUp;

use crate::SKILLRUN;
use crate::runs::offline::{check_probe, rows};

const DONE_AND_HANGS: &str = "- - output: {answer: blue}\n    done: true\n  - end\n  - hang\n";

/// Its process may hang after its end for as long as the test takes.
fn patient(new: NewRun) -> NewRun {
    with(new, |options| options.linger_sec = Some(LONG))
}

#[test]
fn an_earlier_cancel_settles_the_attempt() {
    let (lab, runtime) = RuntimeLab::running();
    let said = "- - output: {answer: blue}\n    done: true\n  - end\n  - hang\n";
    let silent = "- - say: I begin.\n  - hang\n";
    let fails = "- - say: I begin.\n  - fail: the model is gone\n  - hang\n";
    for (script, words) in [(said, "blue"), (silent, "I begin"), (fails, "I begin")] {
        let run = runtime.submit(patient(lab.new_run(ExecutionMode::Auto, script))).expect("accepted");
        lab.wait_said(run, words);
        runtime.cancel(run, "somebody").expect("canceled");
        lab.finish(&runtime, run);
        assert_eq!(rows(&lab, run), ["1 interrupted interrupted CANCELED canceled"]);
        let result = lab.result(run);
        assert_eq!((result.status, result.output, result.error), (RunStatus::Canceled, None, None));
        check_probe(&lab, run, ExecutionMode::Auto);
    }
}

#[test]
fn a_host_that_is_killed_loses_its_attempt_unless_it_was_done() {
    let (lab, runtime) = RuntimeLab::running();
    let (auto, interactive) = (ExecutionMode::Auto, ExecutionMode::Interactive);
    let done = "completed completed DONE_MARKER_FOUND succeeded +HOST_LOST_AFTER_DONE";
    let lost = "5 interrupted interrupted ATTEMPT_LOST failed ATTEMPT_LOST";
    let cases = [
        (auto, "- - say: I begin.\n  - hang\n", "agent_message", lost),
        (interactive, "- - ask: {prompt: Which?}\n  - hang\n", "agent_message", lost),
        (interactive, DONE_AND_HANGS, "turn.completed", &format!("3b {done}")),
        (auto, DONE_AND_HANGS, "turn.completed", &format!("3c {done}")),
    ];
    for (mode, script, words, is) in cases {
        let run = runtime.submit(patient(lab.new_run(mode, script))).expect("accepted");
        lab.wait_recorded(run, 1, words);
        kill_hard(host_pid(&lab.state(run)));
        lab.finish(&runtime, run);
        assert_eq!(rows(&lab, run), [is], "{script}");
        check_probe(&lab, run, mode);
    }
}

#[test]
fn a_host_killed_during_a_question_loses_the_session() {
    let lab = RuntimeLab::new();
    let script = "- - ask: {prompt: Which?}\n- - say: never\n";
    let (runtime, run) = lab.begin(sticky(lab.new_run(ExecutionMode::Interactive, script)));
    let state = lab.wait_asked(run, 1);
    kill_hard(host_pid(&state));
    lab.finish(&runtime, run);
    assert_eq!(lab.failure(run), Some(Code::SessionLost));
}

fn host_pid(state: &State) -> u32 {
    state.started.as_ref().and_then(|started| started.host_pid).expect("a host")
}

#[test]
fn a_program_that_went_away_before_the_start_was_never_started() {
    let not_found = "5b failed interrupted ENGINE_NOT_FOUND failed ENGINE_NOT_FOUND";
    let not_started = "5b failed interrupted ENGINE_NOT_STARTED failed ENGINE_NOT_STARTED";
    for (mode, is) in [(None, not_found), (Some(0o644), not_started)] {
        let mut lab = RuntimeLab::new();
        lab.program = lab.path("engine");
        fs::copy(SKILLRUN, &lab.program).expect("copied");
        let runtime = lab.runtime();
        let run = runtime.accept(lab.new_run(ExecutionMode::Auto, "- - say: never\n")).expect("accepted");
        match mode {
            None => fs::remove_file(&lab.program).expect("removed"),
            Some(mode) => fs::set_permissions(&lab.program, fs::Permissions::from_mode(mode)).expect("changed"),
        }
        assert_eq!(runtime.take_up(run).expect("taken up"), TakenUp::Working);
        lab.finish(&runtime, run);
        assert_eq!(rows(&lab, run), [is]);
        assert_eq!(lab.result(run).attempts, 1);
        check_probe(&lab, run, ExecutionMode::Auto);
    }
}

/// A host always learns how its process exited, so the exit is taken out of its record by hand.
#[test]
fn an_unknown_exit_without_an_end_is_not_a_success() {
    let unknown = "7b interrupted unknown EXIT_UNKNOWN failed EXIT_UNKNOWN";
    let known = "9 completed completed OUTPUT_VALID succeeded +COMPLETED_WITHOUT_DONE_MARKER";
    for (script, is) in [
        ("- - output: {answer: blue}\n  - sleep_ms: 300\n  - exit: 0\n", unknown),
        ("- - output: {answer: blue}\n  - sleep_ms: 300\n", known),
    ] {
        let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Auto, script);
        lab.wait_said(run, "blue");
        drop(runtime);
        assert!(!lab.state(run).is_over(), "its owner is gone, and no process has settled it");
        let audit = lab.data().run(run).audit();
        let record = audit.join("host.1.json");
        for file in [record, audit.join("meta.1.json")] {
            let read = || serde_json::from_slice::<Value>(&fs::read(&file).unwrap_or_default()).unwrap_or_default();
            lab.wait_until("exit in the record", || read()["exit_code"] == 0);
            let mut value = read();
            value["exit_code"] = Value::Null;
            fs::write(&file, value.to_string()).expect("written");
        }
        let runtime = lab.runtime();
        runtime.take_up(run).expect("taken up");
        lab.finish(&runtime, run);
        assert_eq!(rows(&lab, run), [is]);
        check_probe(&lab, run, ExecutionMode::Auto);
    }
}
