//! What the record of a turn has in addition to its verdict: the limit that was reached, when it was over, and what the
//! user can do; the same for every owner that settles the turn.

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, impatient, with};
use serde_json::json;
use skillrun_inspect::verify::{Check, VerifyOutcome, verify};
use skillrun_log::FileLog;
use skillrun_model::codes::NextActionKind;
use skillrun_model::rasp::data::{AttemptEnded, TurnLimit};
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{ExecutionMode, RunId, Timestamp, TurnState};
use skillrun_runtime::Options;

use crate::runs::acp::{agent_lab, request};

type SetLimit = fn(&mut Options);

const HANGS: &str = "- - say: I begin.\n  - hang\n";

fn records(lab: &RuntimeLab, run: RunId) -> Vec<AttemptEnded> {
    let records = lab.events(run).into_iter().filter_map(|event| {
        let Data::Control(ControlData::AttemptEnded(ended)) = event.data else { return None };
        Some(*ended)
    });
    records.collect()
}

/// Everything in the Log can be derived again from the evidence.
fn check_derived(lab: &RuntimeLab, run: RunId) {
    let report = verify(&lab.data(), &FileLog::new(lab.data().runs()), run).expect("a report");
    let is_other = |check: &&Check| matches!(check.outcome, VerifyOutcome::Different { .. });
    let others: Vec<&Check> = report.checks.iter().filter(is_other).collect();
    assert!(others.is_empty(), "{others:#?}");
}

fn started_at(lab: &RuntimeLab, run: RunId) -> Timestamp {
    let host = lab.evidence_json(run, "host.1.json");
    host["started_at"].as_str().expect("a moment").parse().expect("a moment")
}

#[test]
fn a_turn_that_runs_out_of_time_names_its_limit_and_deadline() {
    let cases: [(SetLimit, TurnLimit); 2] = [
        (|options| options.hard_timeout_sec = Some(0.4), TurnLimit::HardSec),
        (|options| options.stall_timeout_sec = Some(0.4), TurnLimit::StallSec),
    ];
    for (limited, limit) in cases {
        let lab = RuntimeLab::new();
        let (runtime, run) = lab.begin(with(impatient(lab.new_run(ExecutionMode::Conversation, HANGS)), limited));
        lab.wait(run, "rest", |state| state.is_at_rest());
        let [record] = &records(&lab, run)[..] else { panic!("one record") };
        assert_eq!((record.terminal_status, record.limit), (TurnState::TimedOut, Some(limit)));
        assert_eq!(record.timeout_ms, Some(400));
        let deadline = record.deadline_at.expect("a deadline");
        let after = deadline.millis_since(started_at(&lab, run)).expect("after the start");
        assert!(after >= 400, "{limit}: {after} ms after the start of the process");
        let settled = lab.events(run).last().map(|event| event.ts).expect("an event");
        assert!(deadline <= settled, "{limit}: {deadline} is not after {settled}");
        let kinds: Vec<NextActionKind> = record.next_actions.iter().map(|next| next.action).collect();
        assert_eq!((kinds.first(), kinds.last()), (Some(&NextActionKind::Reply), Some(&NextActionKind::Close)));
        check_derived(&lab, run);
        runtime.close_anywhere(run, "the test").expect("closed");
        assert!(runtime.wait_idle(TEST_TIMEOUT));
    }
}

/// The process goes on while no owner is there, and its host ends it: the next owner finds the same deadline.
#[test]
fn another_owner_writes_the_same_limit_and_deadline() {
    let lab = RuntimeLab::new();
    let limited = |options: &mut Options| options.hard_timeout_sec = Some(2.0);
    let (runtime, run) = lab.begin(with(impatient(lab.new_run(ExecutionMode::Auto, HANGS)), limited));
    lab.wait_said(run, "I begin.");
    let runtime = lab.next_owner(runtime, run);
    lab.finish(&runtime, run);
    let [record] = &records(&lab, run)[..] else { panic!("one record") };
    assert_eq!(record.limit, Some(TurnLimit::HardSec));
    let host = lab.evidence_json(run, "host.1.json");
    assert_eq!(json!(record.deadline_at), host["deadline_at"], "the host's own deadline");
    assert!(!record.next_actions.is_empty());
    check_derived(&lab, run);
}

/// A question inside the turn waited too long: the owner ends the process, which is not a cancel.
#[test]
fn a_turn_whose_question_is_not_answered_has_the_deadline_of_the_question() {
    let lab = agent_lab();
    let limited = |options: &mut Options| options.session_timeout_sec = Some(0.3);
    let (runtime, run) = lab.begin(with(request(&lab, ExecutionMode::Interactive, "permission"), limited));
    lab.finish(&runtime, run);
    let asked = lab.events(run).into_iter().find_map(|event| {
        let Data::Control(ControlData::InteractionRequested(question)) = event.data else { return None };
        question.deadline
    });
    let [record] = &records(&lab, run)[..] else { panic!("one record") };
    assert_eq!(record.limit, Some(TurnLimit::SessionTimeoutSec));
    assert_eq!((record.timeout_ms, record.deadline_at), (Some(300), asked));
    assert!(asked.is_some());
    check_derived(&lab, run);
}

#[test]
fn a_turn_that_completes_has_neither_a_limit_nor_next_actions() {
    let lab = RuntimeLab::new();
    let lingers = "- - output: {answer: blue}\n    done: true\n  - end\n  - hang\n";
    let new = with(lab.new_run(ExecutionMode::Auto, lingers), |options| options.linger_sec = Some(0.1));
    let (runtime, run) = lab.begin(new);
    lab.finish(&runtime, run);
    let [record] = &records(&lab, run)[..] else { panic!("one record") };
    assert_eq!(record.terminal_status, TurnState::Completed);
    assert_eq!((record.limit, record.deadline_at, &record.next_actions[..]), (None, None, &[][..]));
    check_derived(&lab, run);
}
