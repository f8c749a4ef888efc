//! Why an engine's file cannot be used, and why there is no engine with a given name.

use std::error::Error;
use std::fmt;

use skillrun_base::fields::FieldProblem;
use skillrun_base::files::{FileProblem, FileReadError};
use skillrun_base::suggest::hint;
use skillrun_base::text::shortened;
use skillrun_model::{Classified, ErrorClass};

use crate::descriptor::DescriptorOrigin;

/// One sentence: the file, the line, the key, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    pub origin: DescriptorOrigin,
    /// From 1; none when the file as a whole is wrong.
    pub line: Option<usize>,
    /// With the tables it stands in: `permission.workspace.flags`.
    pub key: Option<String>,
    pub kind: LoadErrorKind,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ", key \"{}\"", short(key))?;
        }
        write!(f, ": {}", short(&self.kind.to_string()))
    }
}

/// Longest part of a message; a file may have a key of a megabyte.
const WORDS_MAX: usize = 500;

fn short(words: &str) -> String {
    shortened(words, WORDS_MAX)
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.kind)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadErrorKind {
    #[error("cannot be read ({0})")]
    Io(String),
    #[error(transparent)]
    File(FileProblem),
    #[error(transparent)]
    Field(#[from] FieldProblem),
    #[error("there is no placeholder {{{{{given}}}}}{}", hint(suggestion.as_deref(), known))]
    UnknownPlaceholder { given: String, suggestion: Option<String>, known: Vec<String> },
    #[error("{{{{ has no }}}} on its line")]
    OpenPlaceholder,
    #[error("{{{{{name}}}}} {reason}")]
    Misplaced { name: &'static str, reason: &'static str },
    #[error("must have {{{{{0}}}}} in it, once")]
    Lacks(&'static str),
}

impl From<FileReadError> for LoadErrorKind {
    fn from(error: FileReadError) -> Self {
        match error {
            FileReadError::Io(error) => Self::Io(error.to_string()),
            FileReadError::Problem(problem) => Self::File(problem),
        }
    }
}

/// Why there is no engine with a given name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GetError {
    #[error("there is no engine \"{given}\"{}", hint(suggestion.as_deref(), known))]
    Unknown { given: String, suggestion: Option<String>, known: Vec<String> },
    #[error("the engine \"{name}\" cannot be used: {error}")]
    Broken {
        name: String,
        #[source]
        error: Box<LoadError>,
    },
}

impl Classified for GetError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Unknown { .. } => ErrorClass::NotFound,
            Self::Broken { .. } => ErrorClass::Usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing: the message was as long as the faulty text in the file.
    #[test]
    fn an_error_message_has_a_bounded_length() {
        let kind = FieldProblem::UnknownWord { given: "é".repeat(100_000), suggestion: None, known: Vec::new() }.into();
        let key = Some("k".repeat(100_000));
        let error = LoadError { origin: DescriptorOrigin::Shipped("x.toml"), line: Some(1), key, kind };
        let words = error.to_string();
        assert!(words.chars().count() < 1_100, "{}", words.chars().count());
        assert!(words.contains("kk…\": \"é"), "{words}");
    }
}
