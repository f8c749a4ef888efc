//! Why an operation on a run failed.

use std::io;
use std::path::PathBuf;

use skillrun_catalog::CatalogError;
use skillrun_collect::CollectError;
use skillrun_evidence::EvidenceError;
use skillrun_lifecycle::run::Refusal;
use skillrun_log::LogError;
use skillrun_model::{Classified, ErrorClass, RunId};
use skillrun_runs::prompt::{PromptFault, TextKind};
use skillrun_runs::record::RecordError;

use crate::owners::{OwnerError, OwnerErrorKind};
use crate::variables::{ChangedVariable, listed};

#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Host(#[from] CollectError),
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The state of the run does not allow it.
    #[error("run {run}: {refusal}")]
    Refused {
        run: RunId,
        #[source]
        refusal: Refusal,
    },
    /// The error of its owner, another process.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    #[error("run {run}: its owner, process {pid}, does not answer; try again, or terminate that process")]
    OwnerSilent { run: RunId, pid: u32 },
    #[error(
        "run {run} was made with other variables than this process has: {}; nothing was changed, so set them as they were and try again",
        listed(changed)
    )]
    OtherVariables { run: RunId, changed: Vec<ChangedVariable> },
    /// A text that no engine can receive. Nothing was written.
    #[error("run {run}: {}", fault.sentence(*kind))]
    UnusableText { run: RunId, kind: TextKind, fault: PromptFault },
    #[error("{}: cannot be {doing} ({error})", path.display())]
    File {
        path: PathBuf,
        doing: &'static str,
        #[source]
        error: io::Error,
    },
}

impl Classified for RuntimeError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Log(error) => error.class(),
            Self::Catalog(error) => error.class(),
            Self::Record(error) => error.class(),
            Self::Owner(error) => error.class(),
            // The folder is that of a run and not one that the caller names.
            Self::Evidence(_) | Self::Host(_) => ErrorClass::Internal,
            Self::Refused { .. } | Self::OtherVariables { .. } => ErrorClass::Conflict,
            Self::UnusableText { .. } => ErrorClass::Usage,
            Self::OwnerSilent { .. } => ErrorClass::Busy,
            Self::File { error, .. } => ErrorClass::of_io(error),
        }
    }
}

impl RuntimeError {
    /// The kind of the error, reported by this process or by the owner of the run.
    pub fn kind(&self) -> OwnerErrorKind {
        OwnerErrorKind::of(self)
    }

    pub(crate) fn file(path: impl Into<PathBuf>, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::File { path, doing, error }
    }
}
