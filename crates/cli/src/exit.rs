//! Exit codes of the commands that follow a run: the state of the run as a number.

use std::process::ExitCode;

use skillrun_lifecycle::run::State;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::rasp::Data;
use skillrun_model::rasp::data::RunFailed;
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
        match data {
            Data::RunCompleted(_) => Some(Self::Succeeded),
            Data::RunFailed(RunFailed { error, .. }) => Some(Self::of_error(error)),
            Data::RunCanceled(_) => Some(Self::Canceled),
            Data::RunStarted(_)
            | Data::RunStatus(_)
            | Data::RunHeartbeat(_)
            | Data::MessageDelta(_)
            | Data::MessageFinal(_)
            | Data::ReasoningSummary(_)
            | Data::InteractionRequested(_)
            | Data::InteractionReplied(_)
            | Data::InteractionTimeout(_)
            | Data::AutoDecision(_)
            | Data::ToolCallStarted(_)
            | Data::ToolCallCompleted(_)
            | Data::ToolCallFailed(_)
            | Data::ArtifactCreated(_)
            | Data::ArtifactIndexed(_)
            | Data::ArtifactPreviewReady(_)
            | Data::ParserWarning(_)
            | Data::ParserError(_)
            | Data::EngineError(_)
            | Data::RawStdout(_)
            | Data::RawStderr(_)
            | Data::AttemptStarted(_)
            | Data::AttemptEnded(_)
            | Data::TurnUsage(_) => None,
        }
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
