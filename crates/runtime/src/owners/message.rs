//! The messages over an owner's socket.

use serde::{Deserialize, Serialize};
use skillrun_lifecycle::run::Refusal;
use skillrun_log::{LogError, LogErrorKind};
use skillrun_model::delegation::{ChildRequest, DelegationResponse};
use skillrun_model::{Classified, ErrorClass, RunId};
use skillrun_runs::record::RecordError;

use crate::error::RuntimeError;
use crate::mailbox::Reply;

pub(super) const VERSION: u32 = 1;

/// Longest line either side reads.
pub(super) const LINE_MAX: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Envelope {
    pub(super) skillrun_client: u32,
    #[serde(flatten)]
    pub(super) ask: OwnerRequest,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum OwnerRequest {
    Reply {
        run: RunId,
        reply: Reply,
    },
    Cancel {
        run: RunId,
        by: String,
    },
    Interrupt {
        run: RunId,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        say: Option<String>,
    },
    Close {
        run: RunId,
        by: String,
    },
    /// Ask the open turn of a run for a child.
    Delegate {
        run: RunId,
        request: Box<ChildRequest>,
    },
    /// Resume a run that no process owns.
    TakeUp {
        run: RunId,
    },
    LetGo {
        run: RunId,
    },
    /// Check that the owner is running.
    Hello,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OwnerReply {
    Done { ok: bool },
    Failed { error: OwnerError },
    Delegated { response: Box<DelegationResponse> },
}

/// Why an owner did not carry out a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct OwnerError {
    pub kind: OwnerErrorKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerErrorKind {
    /// The question is another one, or no question is open.
    Stale,
    /// It was done before, with the same request id.
    Repeated,
    Over,
    /// The state of the run does not allow it: no turn is open, or the run does not wait for the next prompt.
    WrongState,
    NotFound,
    /// Another process owns the run.
    Held,
    /// The owner has other variables than the run was made with.
    OtherVariables,
    /// The client speaks another version.
    Version,
    Other,
}

impl Classified for OwnerError {
    fn class(&self) -> ErrorClass {
        match self.kind {
            OwnerErrorKind::NotFound => ErrorClass::NotFound,
            OwnerErrorKind::Held => ErrorClass::Busy,
            // The cause of `Other` is not known here; the owner has refused, as for the kinds before it.
            OwnerErrorKind::Stale
            | OwnerErrorKind::Repeated
            | OwnerErrorKind::Over
            | OwnerErrorKind::WrongState
            | OwnerErrorKind::OtherVariables
            | OwnerErrorKind::Version
            | OwnerErrorKind::Other => ErrorClass::Conflict,
        }
    }
}

impl OwnerError {
    pub fn of(error: &RuntimeError) -> Self {
        Self { kind: OwnerErrorKind::of(error), message: error.to_string() }
    }
}

impl OwnerErrorKind {
    pub fn of(error: &RuntimeError) -> Self {
        match error {
            RuntimeError::Owner(trouble) => trouble.kind,
            RuntimeError::Refused { refusal, .. } => match refusal {
                Refusal::Stale { .. } => Self::Stale,
                Refusal::Repeated { .. } => Self::Repeated,
                Refusal::RepeatedChild { .. } => Self::Repeated,
                Refusal::Over => Self::Over,
                Refusal::NoOpenTurn { .. }
                | Refusal::NotInterruptible
                | Refusal::OtherPrompt
                | Refusal::NotAtRest { .. }
                | Refusal::NothingHeld { .. }
                | Refusal::NoDelegation
                | Refusal::NoTurnForChild { .. }
                | Refusal::TooManyChildren { .. } => Self::WrongState,
                Refusal::OutOfPlace => Self::Other,
            },
            RuntimeError::Log(LogError { kind: LogErrorKind::NotFound | LogErrorKind::Gone, .. })
            | RuntimeError::Record(RecordError::Missing { .. }) => Self::NotFound,
            RuntimeError::Log(LogError { kind: LogErrorKind::Held { .. }, .. }) => Self::Held,
            RuntimeError::OtherVariables { .. } => Self::OtherVariables,
            RuntimeError::Log(_)
            | RuntimeError::Record(_)
            | RuntimeError::Catalog(_)
            | RuntimeError::Host(_)
            | RuntimeError::Evidence(_)
            | RuntimeError::OwnerSilent { .. }
            | RuntimeError::UnusableText { .. }
            | RuntimeError::File { .. } => Self::Other,
        }
    }
}
