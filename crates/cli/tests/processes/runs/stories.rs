//! How runs go.

use lab::runtime::{RuntimeLab, reply, sticky};
use skillrun_model::{ExecutionMode, RunStatus};

const DONE: &str = "- - output: {answer: blue}\n    done: true\n";

const ASKS: &str =
    "- - ask: {kind: open_text, prompt: Which colour?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

#[test]
fn an_auto_run_succeeds() {
    let lab = RuntimeLab::new();
    let runtime = lab.runtime();
    let run = runtime.submit(lab.new_run(ExecutionMode::Auto, DONE)).expect("accepted");
    let state = lab.wait_over(run);
    assert_eq!(state.status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
    assert!(runtime.wait_idle(lab::TEST_TIMEOUT));
    lab.check_whole(run);
}

#[test]
fn a_question_is_answered_and_the_session_resumed() {
    let lab = RuntimeLab::new();
    let runtime = lab.runtime();
    let run = runtime.submit(lab.new_run(ExecutionMode::Interactive, ASKS)).expect("accepted");
    lab.wait_asked(run, 1);
    runtime.reply(run, reply(1, "blue")).expect("answered");
    let state = lab.wait_over(run);
    assert_eq!(state.status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
    assert!(runtime.wait_idle(lab::TEST_TIMEOUT));
    lab.check_whole(run);
}

#[test]
fn a_sticky_process_over_two_attempts() {
    let lab = RuntimeLab::new();
    let runtime = lab.runtime();
    let run = runtime.submit(sticky(lab.new_run(ExecutionMode::Interactive, ASKS))).expect("accepted");
    lab.wait_asked(run, 1);
    runtime.reply(run, reply(1, "blue")).expect("answered");
    let state = lab.wait_over(run);
    assert_eq!(state.status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
    assert!(runtime.wait_idle(lab::TEST_TIMEOUT));
    lab.check_whole(run);
}
