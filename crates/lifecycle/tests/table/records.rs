//! The turn record in addition to its verdict: the limit that was reached, and what the user can do.

use skillrun_lifecycle::advice;
use skillrun_lifecycle::closing::{self, ProcessEnding};
use skillrun_lifecycle::control::ProcessExit;
use skillrun_lifecycle::settle;
use skillrun_model::codes::{ErrorCategory, NextActionKind};
use skillrun_model::rasp::ControlData;
use skillrun_model::rasp::data::{AttemptEnded, TurnLimit};
use skillrun_model::{EndedBy, ExecutionMode, RunId, TurnState};
use skillrun_parse::record::EndKind;

use super::build::{How, Turn, auto, chat, interactive, silent};

fn conversation() -> How {
    interactive().mode(ExecutionMode::Conversation)
}

fn run() -> RunId {
    RunId::new(1, [1; 10])
}

fn record(turn: &Turn, how: &How, ending: &ProcessEnding) -> AttemptEnded {
    let facts = turn.facts();
    let events = closing::attempt_ended(&facts, &settle(&facts, how.control()), ending, run());
    let record = events.into_iter().find_map(|event| {
        let ControlData::AttemptEnded(ended) = event.data else { return None };
        Some(*ended)
    });
    record.expect("a record of the turn")
}

#[test]
fn every_turn_that_did_not_complete_has_next_actions() {
    let failure = |category| chat().ends(EndKind::Failure).end_category(category);
    let turns = [
        failure(ErrorCategory::Quota),
        failure(ErrorCategory::Auth),
        failure(ErrorCategory::Network),
        failure(ErrorCategory::Engine),
        chat().ends(EndKind::Limit),
        chat().endless(),
        silent(),
        chat(),
    ];
    for turn in &turns {
        for how in [auto(), interactive(), conversation()] {
            let hows = [how.clone(), how.clone().canceled(), how.clone().ended_by(EndedBy::Stall).signal()];
            for how in hows {
                let record = record(turn, &how, &ProcessEnding::new(ProcessExit::Unknown, None));
                let is_complete = record.terminal_status == TurnState::Completed;
                assert_eq!(record.next_actions.is_empty(), is_complete, "{turn:?} {how:?}: {record:?}");
                for next in &record.next_actions {
                    let of_run = next.command.contains(&run().to_string());
                    let of_machine = next.action == NextActionKind::LoginEngine;
                    assert!(of_run || of_machine, "{}: {}", next.action, next.command);
                }
            }
        }
    }
}

/// A turn that fails does not end a conversation: the next prompt is the retry, and the user may also give up.
#[test]
fn a_broken_turn_of_a_conversation_suggests_the_next_prompt_first() {
    let failed = chat().ends(EndKind::Failure).end_category(ErrorCategory::Quota);
    let kinds = |turn: &Turn, how: &How| -> Vec<NextActionKind> {
        let facts = turn.facts();
        let verdict = settle(&facts, how.control()).verdict;
        advice::after_turn(&verdict, run()).iter().map(|next| next.action).collect()
    };
    let (reply, close) = (NextActionKind::Reply, NextActionKind::Close);
    let (later, elsewhere) = (NextActionKind::RetryLater, NextActionKind::RetryOtherEngine);
    assert_eq!(kinds(&failed, &conversation()), [reply, later, elsewhere, close]);
    assert_eq!(kinds(&chat(), &conversation()), []);
    assert_eq!(kinds(&failed, &auto()), [later, elsewhere], "the run is over");
}

#[test]
fn a_turn_that_ran_out_of_time_names_its_limit() {
    let cases = [
        (EndedBy::HardTimeout, Some(TurnLimit::HardSec)),
        (EndedBy::Stall, Some(TurnLimit::StallSec)),
        (EndedBy::WaitTimeout, Some(TurnLimit::SessionTimeoutSec)),
        (EndedBy::Budget, Some(TurnLimit::MaxBytes)),
        (EndedBy::MemoryLimit, Some(TurnLimit::MemoryBytes)),
        (EndedBy::ProcessLimit, Some(TurnLimit::Processes)),
        (EndedBy::CpuLimit, Some(TurnLimit::CpuSec)),
        (EndedBy::DiskLimit, Some(TurnLimit::DiskBytes)),
        (EndedBy::Exited, None),
        (EndedBy::Linger, None),
        (EndedBy::Canceled, None),
        (EndedBy::Interrupted, None),
    ];
    for (ended_by, limit) in cases {
        let how = auto().ended_by(ended_by).signal();
        let ending = ProcessEnding::new(ProcessExit::Signal("SIGTERM".to_owned()), Some(ended_by));
        let record = record(&chat().endless(), &how, &ending);
        assert_eq!(record.limit, limit, "{ended_by}");
        let timed_out = record.terminal_status == TurnState::TimedOut;
        assert!(!timed_out || record.limit.is_some(), "{ended_by}");
    }
}
