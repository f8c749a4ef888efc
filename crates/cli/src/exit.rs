//! Exit codes of the commands that are about one run: the state of the run as a number, from the table of
//! all presenters. `docs/runs.md` has the same table for users; `failure` has the codes of commands that fail themselves.

use std::process::ExitCode;

use skillrun_lifecycle::run::State;
use skillrun_model::RunStatus;
use skillrun_model::presenters::{self, Presenter, RunState};
use skillrun_model::rasp::data::RunFailed;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_runs::result::RunResult;

/// What became of a run, for the command that is about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunOutcome {
    Run(RunState),
    /// By Ctrl-C here.
    Interrupted,
}

impl RunOutcome {
    pub(crate) const SUCCEEDED: Self = Self::Run(RunState::Succeeded);
    pub(crate) const FAILED: Self = Self::Run(RunState::Failed);
    pub(crate) const CANCELED: Self = Self::Run(RunState::Canceled);

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Run(state) => state.exit_code(),
            Self::Interrupted => 130,
        }
    }

    /// Of the last event of a run.
    pub(crate) fn of(data: &Data) -> Option<Self> {
        let Data::Control(data) = data else { return None };
        if let ControlData::RunFailed(RunFailed { error, .. }) = data {
            return Some(Self::Run(RunState::of_error(error)));
        }
        data.end().map(|end| Self::Run(RunState::of(end, None)))
    }

    /// Of a run that is over.
    pub(crate) fn of_result(result: &RunResult) -> Self {
        let error = result.error.as_ref().filter(|_| result.status == RunStatus::Failed);
        Self::Run(error.map_or_else(|| RunState::of(result.status, None), RunState::of_error))
    }

    /// Of a run that is not over.
    pub(crate) fn not_over(state: &State) -> Self {
        Self::Run(run_state(state))
    }

    /// A run that makes no progress until a user answers.
    pub(crate) fn waits(state: &State) -> bool {
        !state.is_over() && state.question.is_some()
    }
}

/// The state of a run, as it is shown.
pub(crate) fn run_state(state: &State) -> RunState {
    let scope = state.question.as_ref().map(|question| question.scope);
    match (state.status, scope) {
        // It waits, whatever the status of the Log was when the question was asked.
        (Some(RunStatus::Queued | RunStatus::Running), Some(_)) => RunState::of(RunStatus::WaitingUser, scope),
        (Some(status), scope) => RunState::of(status, scope),
        (None, _) => RunState::Queued,
    }
}

/// The words for a run in a sentence: "the run …".
pub(crate) fn run_words(state: RunState) -> &'static str {
    presenters::of_run(state, Presenter::Cli).words
}

impl From<RunOutcome> for ExitCode {
    fn from(outcome: RunOutcome) -> Self {
        Self::from(outcome.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `result` of a running run exited with 1, the code of a failed one.
    #[test]
    fn every_exit_code_of_a_run_is_in_the_docs() {
        let outcomes = RunState::ALL.iter().map(|state| RunOutcome::Run(*state)).chain([RunOutcome::Interrupted]);
        let codes: std::collections::BTreeSet<u8> = outcomes.map(RunOutcome::code).collect();
        assert_eq!(codes.len(), 8);
        let page = std::fs::read_to_string(testkit::paths::workspace().join("docs/runs.md")).expect("a page");
        for code in codes {
            assert!(page.contains(&format!("\n| {code} | ")), "docs/runs.md does not explain the exit code {code}");
        }
    }
}
