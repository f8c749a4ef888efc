//! Commands that run after the turn of a run that would succeed.

use skillrun_model::checks::{CheckCommand, CheckEnded, CheckOutput, CheckStatus};
use skillrun_model::rasp::data::Exit;

use super::*;

pub(super) fn ended(check: u32, status: CheckStatus) -> CheckEnded {
    let output = || CheckOutput { bytes: 0, hash: None };
    let code = Some(i32::from(status != CheckStatus::Passed));
    CheckEnded {
        check,
        name: format!("check {check}"),
        command: CheckCommand::Line("make test".to_owned()),
        status,
        exit: Exit { code, signal: None, ended_by: Some(EndedBy::Exited) },
        elapsed_ms: 1,
        stdout: output(),
        stderr: output(),
        evidence: format!(".audit/checks/{check}"),
        recording: 1,
        host_hash: None,
        output_tail: Some("2 tests failed\n".to_owned()),
        details: None,
    }
}

fn checked(checks: u32) -> RunOptions {
    RunOptions { checks, ..RunOptions::default() }
}

/// A run whose turn has ended this way.
fn after_turn(checks: u32, status: RunStatus) -> World {
    let mut world = World::new(checked(checks));
    world.all(&[Happening::Accept, Happening::HostReady, Happening::Settle(status)]);
    world
}

impl World {
    /// Does what the worker would do until the run is over. `outcome`: how each check ends.
    fn work(&mut self, outcome: impl Fn(u32) -> CheckStatus) {
        for _ in 0..20 {
            match next_step(&self.state, None) {
                RunStep::Check(number) => {
                    let canceled = self.state.canceling.is_some();
                    let status = if canceled { CheckStatus::Canceled } else { outcome(number) };
                    let end = Input::CheckEnded(Box::new(ended(number, status)));
                    self.happens(end).expect("noted");
                }
                RunStep::End => {
                    let decision = self.recovery(HostState::Ended, SessionLeft::Lost);
                    self.carry_out(decision);
                }
                RunStep::Over => return,
                other @ (RunStep::Start(_)
                | RunStep::Follow
                | RunStep::Settle
                | RunStep::Between
                | RunStep::Conduct
                | RunStep::EndChildren
                | RunStep::AwaitExit
                | RunStep::Wait
                | RunStep::LetGo) => panic!("{other:?} after {:?}", self.types()),
            }
        }
        panic!("no end: {:?}", self.types());
    }

    fn statuses(&self) -> Vec<CheckStatus> {
        let status = |event: &Event| match &event.data {
            Data::Control(ControlData::CheckEnded(end)) => Some(end.status),
            Data::Control(_) | Data::Evidence(_) => None,
        };
        self.log.iter().filter_map(status).collect()
    }
}

#[test]
fn run_succeeds_after_its_last_check_has_passed() {
    let mut world = after_turn(2, RunStatus::Succeeded);
    assert_eq!(next_step(&world.state, None), RunStep::Check(1));
    assert_eq!(world.state.status, Some(RunStatus::Running), "{:?}", world.types());
    world.work(|_| CheckStatus::Passed);
    let checks = ["attempt.ended", "run.status", "check.ended", "run.status", "check.ended", "run.completed"];
    assert_eq!(world.types()[5..], checks, "{:?}", world.types());
    assert_eq!(world.state.status, Some(RunStatus::Succeeded));
    world.check();
}

#[test]
fn first_check_that_fails_ends_the_run_and_not_the_turn() {
    for status in [CheckStatus::Failed, CheckStatus::TimedOut, CheckStatus::NotStarted] {
        let mut world = after_turn(3, RunStatus::Succeeded);
        world.work(|check| if check == 2 { status } else { CheckStatus::Passed });
        assert_eq!(world.failure(), Code::CheckFailed);
        assert_eq!(world.statuses(), [CheckStatus::Passed, status], "no check follows one that failed");
        assert_eq!(world.state.verdict.as_ref().map(|verdict| verdict.turn), Some(TurnState::Completed));
        world.check();
    }
}

#[test]
fn only_a_run_that_would_succeed_is_checked() {
    for status in [RunStatus::Failed, RunStatus::Canceled] {
        let world = after_turn(1, status);
        assert_eq!((world.statuses().len(), next_step(&world.state, None)), (0, RunStep::Over), "{status}");
    }
    let world = after_turn(1, RunStatus::WaitingUser);
    assert_eq!(next_step(&world.state, None), RunStep::Wait);
}

#[test]
fn canceled_run_ends_after_its_open_check() {
    let mut world = after_turn(2, RunStatus::Succeeded);
    world.all(&[Happening::Cancel]);
    assert_eq!((world.state.is_over(), next_step(&world.state, None)), (false, RunStep::Check(1)));
    world.work(|_| panic!("no check is run"));
    assert_eq!((world.state.status, world.statuses()), (Some(RunStatus::Canceled), vec![CheckStatus::Canceled]));
    world.check();
}

/// A host that was ended by a signal reports a cancel, and no user has canceled the run.
#[test]
fn check_that_was_canceled_by_nobody_has_failed() {
    let mut world = after_turn(1, RunStatus::Succeeded);
    world.work(|_| CheckStatus::Canceled);
    assert_eq!(world.failure(), Code::CheckFailed);
}

#[test]
fn check_ends_once() {
    let mut world = after_turn(2, RunStatus::Succeeded);
    world.happens(Input::CheckEnded(Box::new(ended(2, CheckStatus::Passed)))).expect("ignored");
    assert_eq!(world.statuses(), []);
    world.happens(Input::CheckEnded(Box::new(ended(1, CheckStatus::Passed)))).expect("noted");
    world.happens(Input::CheckEnded(Box::new(ended(1, CheckStatus::Failed)))).expect("ignored");
    assert_eq!(world.statuses(), [CheckStatus::Passed]);
}

/// The owner dies at each event of the Log; the next one comes to the same end, and runs only what has no end in the
/// Log.
#[test]
fn end_does_not_depend_on_where_a_log_was_cut() {
    for failing in [None, Some(1), Some(2)] {
        let outcome = |check| if Some(check) == failing { CheckStatus::Failed } else { CheckStatus::Passed };
        let mut whole = after_turn(2, RunStatus::Succeeded);
        let settled = whole.types().iter().position(|name| *name == "attempt.ended").expect("a turn record");
        whole.work(outcome);
        for kept in settled + 1..=whole.log.len() {
            let mut cut = World::new(checked(2));
            cut.log = whole.log[..kept].to_vec();
            cut.state = State::of(&cut.log);
            let decision = cut.recovery(HostState::Ended, SessionLeft::Lost);
            cut.carry_out(decision);
            cut.work(outcome);
            assert_eq!(cut.types(), whole.types(), "cut after {kept}");
            assert_eq!(cut.statuses(), whole.statuses(), "cut after {kept}");
        }
    }
}

#[test]
fn cancel_counts_wherever_it_comes_between_turn_and_end() {
    let mut whole = after_turn(2, RunStatus::Succeeded);
    let settled = whole.types().iter().position(|name| *name == "attempt.ended").expect("a turn record");
    whole.work(|_| CheckStatus::Passed);
    for kept in settled + 1..whole.log.len() {
        let mut cut = World::new(checked(2));
        cut.log = whole.log[..kept].to_vec();
        cut.state = State::of(&cut.log);
        cut.all(&[Happening::Cancel]);
        cut.work(|_| panic!("no check is run"));
        assert_eq!(cut.state.status, Some(RunStatus::Canceled), "cut after {kept}: {:?}", cut.types());
    }
}
