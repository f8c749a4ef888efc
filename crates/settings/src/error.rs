//! Why settings cannot be read or written.

use std::fmt;
use std::io;
use std::path::PathBuf;

use skillrun_base::fields::FieldProblem;
use skillrun_base::files::FileProblem;
use skillrun_evidence::PatternError;
use skillrun_model::error_class::{Classified, ErrorClass, file_error_reason as reason};

use super::key::UnknownKey;

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("the current folder does not exist ({0}); change to another one")]
    NoCurrentFolder(String),
    #[error("there is no home folder to keep {what} in; set HOME, or give {option}")]
    NoHome { what: &'static str, option: &'static str },
    #[error("{}: there is no such file (given by {named_by})", path.display())]
    Missing { path: PathBuf, named_by: &'static str },
    #[error("{}: cannot be read ({})", path.display(), reason(error))]
    Read {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{}: cannot be written ({})", path.display(), reason(error))]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("{}: {kind}", path.display())]
    Unusable {
        path: PathBuf,
        #[source]
        kind: FileProblem,
    },
    #[error("{}{}: {problem}", path.display(), LineOf(*line))]
    InFile {
        path: PathBuf,
        line: Option<usize>,
        #[source]
        problem: SettingProblem,
    },
    /// A value that was to be set.
    #[error(transparent)]
    Value(SettingProblem),
    /// A key that does not exist.
    #[error(transparent)]
    UnknownKey(UnknownKey),
    #[error("{key} is not set in {}", path.display())]
    NotSet { key: String, path: PathBuf },
}

impl Classified for SettingsError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::UnknownKey(_) | Self::NotSet { .. } => ErrorClass::NotFound,
            Self::NoCurrentFolder(_)
            | Self::NoHome { .. }
            | Self::Missing { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Unusable { .. }
            | Self::InFile { .. }
            | Self::Value(_) => ErrorClass::Usage,
        }
    }
}

/// What is wrong with a value or with a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingProblem {
    #[error(transparent)]
    Field(#[from] FieldProblem),
    #[error(transparent)]
    UnknownKey(#[from] UnknownKey),
    #[error("{key} must be {expected}, and is {found}")]
    Wrong { key: String, expected: String, found: String },
    #[error("{key}: {error}")]
    Pattern {
        key: String,
        #[source]
        error: PatternError,
    },
}

struct LineOf(Option<usize>);

impl fmt::Display for LineOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}
