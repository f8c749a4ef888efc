//! What is wrong with a cases file, in one sentence that names the file and the place.

use std::fmt;
use std::path::PathBuf;

use skillrun_base::fields::FieldProblem;
use skillrun_base::files::FileProblem;

#[derive(Debug, thiserror::Error)]
#[error("{}{place}: {problem}", path.display())]
pub struct CasesError {
    pub path: PathBuf,
    pub place: CasePlace,
    #[source]
    pub problem: Box<CasesProblem>,
}

/// Where in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CasePlace {
    Whole,
    Case {
        /// From 1.
        number: usize,
        /// As far as it has one.
        name: Option<String>,
        /// Such as `expect.status`; none for the case as a whole.
        key: Option<String>,
    },
}

impl fmt::Display for CasePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Case { number, name, key } = self else { return Ok(()) };
        write!(f, ": case {number}")?;
        if let Some(name) = name {
            write!(f, " \"{name}\"")?;
        }
        key.as_ref().map_or(Ok(()), |key| write!(f, ", {key}"))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CasesProblem {
    #[error("cannot be read ({0})")]
    Io(std::io::Error),
    #[error(transparent)]
    File(FileProblem),
    #[error(transparent)]
    Field(#[from] FieldProblem),
    #[error("contains no cases")]
    NoCase,
    #[error("has more than {0}")]
    TooMany(&'static str),
    #[error("case {0} has the same name")]
    SameName(usize),
    #[error("there is no code \"{0}\"; `skillrun explain` lists them")]
    UnknownCode(String),
    #[error("is not a regular expression: {0}")]
    NotRegex(String),
    #[error("there is no file {}", .0.display())]
    NoFile(PathBuf),
}
