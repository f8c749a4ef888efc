//! Checks: commands that run one after the other when the run would succeed. Each is announced in the Log before its
//! process is started, and its end is in the Log before the end of the run. The turn before them keeps its verdict.

use serde::{Deserialize, Serialize};
use skillrun_model::RunId;
use skillrun_model::RunStatus;
use skillrun_model::checks::{CheckEnded, CheckStatus};
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::rasp::data::RunStatusChange;
use skillrun_model::rasp::{ControlData, Level};
use skillrun_model::status::Phase;
use skillrun_model::verdict::RunError;

use super::decision::Decision;
use super::options::RunOptions;
use super::start::failed;
use super::state::State;
use crate::closing;

/// How far a run is with its checks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckProgress {
    /// The number of checks that have passed, which are the first ones.
    pub passed: u32,
    /// The next one was announced, and its end is not in the Log.
    pub is_open: bool,
    /// The check that did not pass. No other one follows it.
    pub failed: Option<Box<CheckEnded>>,
}

impl State {
    /// The number of the check that was announced and has not ended.
    pub fn open_check(&self) -> Option<u32> {
        self.checks.is_open.then(|| self.checks.passed + 1)
    }

    pub(super) fn check_ended(&mut self, end: &CheckEnded) {
        self.checks.is_open = false;
        match end.status {
            CheckStatus::Passed => self.checks.passed += 1,
            // The run is canceled, and not failed.
            CheckStatus::Canceled if self.canceling.is_some() => {}
            CheckStatus::Failed | CheckStatus::TimedOut | CheckStatus::NotStarted | CheckStatus::Canceled => {
                self.checks.failed = Some(Box::new(end.clone()));
            }
        }
    }
}

/// A check has ended. What follows from it, the state says.
pub(super) fn ended(state: &State, end: CheckEnded) -> Decision {
    if state.open_check() != Some(end.check) {
        return Decision::default();
    }
    let level = match end.status {
        CheckStatus::Passed | CheckStatus::Canceled => Level::Info,
        CheckStatus::Failed | CheckStatus::TimedOut | CheckStatus::NotStarted => Level::Error,
    };
    let events = vec![closing::control(level, ControlData::CheckEnded(Box::new(end)))];
    Decision { events, ..Decision::default() }
}

/// The end of a run waits for the end of a check that was announced. The end of a run that would succeed is replaced: by
/// the announcement of the next check, or by the failure of the one that did not pass.
pub(super) fn hold_end(state: &State, options: RunOptions, run_id: RunId, mut decision: Decision) -> Decision {
    let Some(end) = decision.events.iter().position(|event| event.data.end().is_some()) else { return decision };
    if state.open_check().is_some() {
        decision.events.truncate(end);
        return decision;
    }
    if decision.events[end].data.end() != Some(RunStatus::Succeeded) {
        return decision;
    }
    if let Some(check) = &state.checks.failed {
        let error = RunError::new(ErrorCategory::Output, Code::CheckFailed, check.failure());
        decision.events.splice(end.., failed(run_id, error).events);
    } else if state.checks.passed < options.checks {
        let words = format!("check {} of {}", state.checks.passed + 1, options.checks);
        // A turn that asked something inside it has left the run waiting.
        let change = RunStatusChange::new(Some(RunStatus::Running), Some(Phase::Checking), Some(words));
        let announced = closing::control(Level::Info, ControlData::RunStatus(change));
        decision.events.splice(end.., [announced]);
    }
    decision
}
