//! Exit codes of the commands that are about one run: the state of the run as a number. `docs/runs.md` has the same
//! table for users; `failure` has the codes of commands that fail themselves.

use std::process::ExitCode;

use skillrun_lifecycle::run::State;
use skillrun_model::RunStatus;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::rasp::data::RunFailed;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::verdict::RunError;
use skillrun_runs::result::RunResult;

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunOutcome {
    Succeeded,
    Failed,
    TimedOut,
    /// Still queued or running.
    NotOver,
    /// Waiting for a user.
    Waiting,
    OutputInvalid,
    Canceled,
    /// By Ctrl-C here.
    Interrupted,
}

impl RunOutcome {
    #[cfg(test)]
    const ALL: [Self; 8] = [
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::NotOver,
        Self::Waiting,
        Self::OutputInvalid,
        Self::Canceled,
        Self::Interrupted,
    ];

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::Failed => 1,
            Self::TimedOut => 3,
            Self::NotOver => 5,
            Self::Waiting => 6,
            Self::OutputInvalid => 7,
            Self::Canceled => 8,
            Self::Interrupted => 130,
        }
    }

    /// Of the last event of a run.
    pub(crate) fn of(data: &Data) -> Option<Self> {
        let Data::Control(data) = data else { return None };
        if let ControlData::RunFailed(RunFailed { error, .. }) = data {
            return Some(Self::of_error(error));
        }
        data.end().map(|end| if end == RunStatus::Canceled { Self::Canceled } else { Self::Succeeded })
    }

    /// Of a run that is over.
    pub(crate) fn of_result(result: &RunResult) -> Self {
        match result.status {
            RunStatus::Succeeded | RunStatus::Closed => Self::Succeeded,
            RunStatus::Canceled => Self::Canceled,
            RunStatus::Failed | RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser => {
                result.error.as_ref().map_or(Self::Failed, Self::of_error)
            }
        }
    }

    fn of_error(error: &RunError) -> Self {
        if matches!(error.code, Code::OutputSchemaInvalid | Code::OutputMissing) {
            Self::OutputInvalid
        } else if error.category == ErrorCategory::Timeout || error.code == Code::InteractionWaitTimeout {
            Self::TimedOut
        } else {
            Self::Failed
        }
    }

    /// A run that makes no progress until a user answers.
    pub(crate) fn waits(state: &State) -> bool {
        !state.is_over() && state.question.is_some()
    }
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
    fn every_outcome_has_a_code_of_its_own_in_the_docs() {
        let codes: std::collections::BTreeSet<u8> = RunOutcome::ALL.iter().map(|outcome| outcome.code()).collect();
        assert_eq!(codes.len(), RunOutcome::ALL.len());
        let page = std::fs::read_to_string(testkit::paths::workspace().join("docs/runs.md")).expect("a page");
        for code in codes {
            assert!(page.contains(&format!("\n| {code} | ")), "docs/runs.md does not explain the exit code {code}");
        }
    }
}
