//! Why a folder of evidence could not be read.

use std::path::PathBuf;

use skillrun_model::{Classified, ErrorClass};

use crate::patterns::PatternError;

/// A file or folder that could not be read, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub struct EvidenceError {
    pub path: PathBuf,
    #[source]
    pub kind: EvidenceErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum EvidenceErrorKind {
    #[error("cannot be read ({0})")]
    Io(#[from] std::io::Error),
    #[error("is not a folder; give one that has .audit/ in it, or the .audit folder itself")]
    NoFolder,
    #[error("has no recorded attempt (no stdout.N.log, stderr.N.log, pty-output.N.log or meta.N.json)")]
    NoAttempt,
    #[error("has no attempt {0}; its attempts: {1}")]
    NoSuchAttempt(u32, String),
    #[error("is not a run record ({0})")]
    BadRunRecord(#[source] serde_json::Error),
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

impl Classified for EvidenceError {
    /// The caller names the folder, so that a file in it that cannot be read is input too.
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }
}

impl EvidenceError {
    pub(crate) fn new(path: impl Into<PathBuf>, kind: impl Into<EvidenceErrorKind>) -> Self {
        Self { path: path.into(), kind: kind.into() }
    }
}
