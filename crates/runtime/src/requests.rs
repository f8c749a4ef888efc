//! Requests with a key of the caller: sent again, they do not create a second run. `runs::request_entries` has the entry
//! of each key on disk.

#[cfg(test)]
mod tests;

use skillrun_model::{Classified, ErrorClass, RunId};
use skillrun_runs::request_entries::EntryError;

use crate::accept::AcceptError;
use crate::error::RuntimeError;

/// The run of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submitted {
    pub run: RunId,
    pub was_new: WasNew,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WasNew {
    New,
    /// The same request was accepted before. Its run may have been removed since.
    Before,
}

#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("this key was used for another request, which is run {run}; use a new key for a new request")]
    KeyReused { run: RunId },
    #[error("a request with the same key is still being accepted; try again")]
    Busy,
    #[error(transparent)]
    Accept(#[from] AcceptError),
}

impl Classified for SubmitError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::KeyReused { .. } => ErrorClass::Conflict,
            Self::Busy => ErrorClass::Busy,
            Self::Accept(error) => error.class(),
        }
    }
}

impl From<EntryError> for SubmitError {
    fn from(error: EntryError) -> Self {
        match error {
            EntryError::KeyReused { run } => Self::KeyReused { run },
            EntryError::Busy => Self::Busy,
            EntryError::File(error) => Self::Accept(error.into()),
            EntryError::Log(error) => Self::Accept(RuntimeError::from(error).into()),
        }
    }
}
