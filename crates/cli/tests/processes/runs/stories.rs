//! How runs go.

use lab::runtime::{RuntimeLab, sticky};
use skillrun_model::{ExecutionMode, RunStatus};
use skillrun_runtime::NewRun;

const DONE: &str = "- - output: {answer: blue}\n    done: true\n";

const ASKS: &str =
    "- - ask: {kind: open_text, prompt: Which colour?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

#[test]
fn an_auto_run_succeeds() {
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Auto, DONE);
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
}

fn check_answered(continued: impl Fn(NewRun) -> NewRun) {
    let lab = RuntimeLab::new();
    let (runtime, run) = lab.begin(continued(lab.new_run(ExecutionMode::Interactive, ASKS)));
    lab.answer(&runtime, run, 1, "blue");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
}

#[test]
fn a_question_is_answered_and_the_session_resumed() {
    check_answered(|new| new);
}

#[test]
fn a_sticky_process_over_two_attempts() {
    check_answered(sticky);
}
