//! Why a run cannot be inspected.

use skillrun_log::LogError;
use skillrun_model::{Classified, ErrorClass};
use skillrun_runs::RecordError;

#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl Classified for InspectError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Log(error) => error.class(),
            Self::Record(error) => error.class(),
        }
    }
}
