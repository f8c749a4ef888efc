//! Questions inside a turn: the engine asks before it uses a tool, the attempt stays open, and the answer goes to the
//! living process.

use lab::runtime::{RuntimeLab, reply, speaking, sticky};
use skillrun_engine::Permission;
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::data::ResolutionMode;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{AttemptNumber, Code, ExecutionMode, ProfileId, RunId, RunStatus};
use skillrun_runtime::{NewRun, Options};

const ASKS: &str = "
- - say: I begin.
  - permission: {tool: Bash, input: {command: rm -rf build}}
  - output: {answer: '{{permission}}'}
    done: true
";

fn request(lab: &RuntimeLab, mode: ExecutionMode, options: Options) -> NewRun {
    let new = speaking(sticky(lab.new_run(mode, ASKS)), ProfileId::ClaudeStreamJson);
    NewRun { options: Options { linger_sec: Some(1.0), ..options }, ..new }
}

fn answer(lab: &RuntimeLab, run: RunId) -> String {
    let output = lab.result(run).output.expect("an output");
    output["answer"].as_str().expect("a text").to_owned()
}

#[test]
fn the_user_allows_or_denies_and_the_turn_continues() {
    for (words, expected) in [("allow", "allow"), ("yes", "allow"), ("keep it", "deny: keep it")] {
        let lab = RuntimeLab::new();
        let (runtime, run) = lab.begin(request(&lab, ExecutionMode::Interactive, Options::default()));
        let state = lab.wait_asked(run, 1);
        let question = state.question.expect("a question");
        assert_eq!(question.scope, Scope::Call);
        assert!(question.prompt.contains("Bash") && question.prompt.contains("rm -rf build"), "{}", question.prompt);
        assert!(question.deadline.is_some(), "the column of the process");
        assert!(state.attempt_is_open, "the turn is not over");
        runtime.reply(run, reply(1, words)).expect("answered");
        assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
        assert_eq!(answer(&lab, run), expected);
        assert_eq!(lab.state(run).attempt, AttemptNumber(1));
    }
}

#[test]
fn an_unanswered_permission_is_decided() {
    // A reply is needed: the process is ended, its turn has a record, and the run fails.
    let lab = RuntimeLab::new();
    let options = Options { session_timeout_sec: Some(0.3), ..Options::default() };
    let (runtime, run) = lab.begin(request(&lab, ExecutionMode::Interactive, options));
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Failed));
    assert_eq!(lab.failure(run), Some(Code::InteractionWaitTimeout));
    let types = lab.types(run);
    let tail = ["attempt.ended", "run.failed"];
    assert_eq!(types[types.len() - 2..], tail, "{types:?}");

    // It is not: the safe default of a permission is no.
    let lab = RuntimeLab::new();
    let options = Options { session_timeout_sec: Some(0.3), require_user_reply: Some(false), ..Options::default() };
    let (runtime, run) = lab.begin(request(&lab, ExecutionMode::Interactive, options));
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
    assert_eq!(lab.resolutions(run), [ResolutionMode::AutoDecideTimeout]);
    let decided = lab.events(run).into_iter().find_map(|event| {
        let Data::Control(ControlData::AutoDecision(decision)) = event.data else { return None };
        Some(decision.instruction)
    });
    assert_eq!(decided.as_deref(), Some("No answer came in time. The default was taken: deny"), "and it chose deny");
    assert!(answer(&lab, run).starts_with("deny"), "{}", answer(&lab, run));
}

#[test]
fn in_auto_mode_what_it_may_do_decides_at_once() {
    for (permission, expected) in [(Permission::Full, "allow"), (Permission::Workspace, "deny")] {
        let lab = RuntimeLab::new();
        let options = Options { permission: Some(permission), auto_decision_limit: Some(0), ..Options::default() };
        let (runtime, run) = lab.begin(request(&lab, ExecutionMode::Auto, options));
        let state = lab.finish(&runtime, run);
        assert_eq!(state.status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
        assert_eq!(lab.resolutions(run), [ResolutionMode::PermissionPolicy]);
        assert_eq!(state.auto_decisions, 0, "outside of the limit");
        let waited = |data: &Data| *data == ControlData::status(RunStatus::WaitingUser).into();
        assert!(!lab.events(run).iter().any(|event| waited(&event.data)), "no answer was waited for");
        assert!(answer(&lab, run).starts_with(expected), "{}", answer(&lab, run));
    }
}

#[test]
fn another_owner_finds_the_question_once() {
    let lab = RuntimeLab::new();
    let (runtime, run) = lab.begin(request(&lab, ExecutionMode::Interactive, Options::default()));
    lab.wait_asked(run, 1);
    let runtime = lab.next_owner(runtime, run);
    runtime.reply(run, reply(1, "allow")).expect("answered");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
    let asked = lab.types(run).iter().filter(|word| **word == "interaction.requested").count();
    assert_eq!((asked, answer(&lab, run).as_str()), (1, "allow"));
}

#[test]
fn a_cancel_ends_a_turn_that_waits() {
    let lab = RuntimeLab::new();
    let (runtime, run) = lab.begin(request(&lab, ExecutionMode::Interactive, Options::default()));
    lab.wait_asked(run, 1);
    runtime.cancel(run, "test").expect("canceled");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Canceled));
    let events = lab.events(run);
    let Some(Data::Control(ControlData::RunCanceled(canceled))) = events.last().map(|event| &event.data) else {
        panic!("no end")
    };
    assert_eq!(canceled.by.as_deref(), Some("test"));
}
