//! Exit codes of the commands that follow a run: the state of the run as a number.

use std::process::ExitCode;

use skillrun_lifecycle::run::State;
use skillrun_model::RunStatus;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::rasp::data::RunFailed;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::verdict::RunError;

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunOutcome {
    Succeeded,
    Failed,
    TimedOut,
    /// Waiting for a user.
    Waiting,
    OutputInvalid,
    Canceled,
    /// By Ctrl-C here.
    Interrupted,
}

impl RunOutcome {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::Failed => 1,
            Self::TimedOut => 3,
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

    pub(crate) fn of_error(error: &RunError) -> Self {
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
