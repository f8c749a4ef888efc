//! Why a skill cannot be used, copied, patched or found.

use std::path::PathBuf;

use skillrun_base::files::FileProblem;
use skillrun_model::{Classified, ErrorClass};

use crate::package::name::NameProblem;
use crate::schema::SchemaErrorKind;

/// A file or folder, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub struct SkillError {
    pub path: PathBuf,
    #[source]
    pub kind: SkillErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum SkillErrorKind {
    #[error("cannot be read or written ({0})")]
    Io(#[from] std::io::Error),
    #[error("is not a folder")]
    NoFolder,
    #[error("there is no such folder")]
    MissingFolder,
    #[error("is not a skill: it has no SKILL.md")]
    NoSkillFile,
    #[error("there is no such file")]
    Missing,
    #[error(transparent)]
    File(#[from] FileProblem),
    #[error("is empty")]
    Empty,
    #[error("is outside of the skill's folder")]
    Outside,
    #[error("is not usable: {0}")]
    BadRunner(String),
    #[error(transparent)]
    Schema(SchemaErrorKind),
    /// The first of the findings that are errors.
    #[error("cannot be run as it is: {0}")]
    Unusable(String),
    #[error("is a link to {}, which is outside of the skill or could be; a skill is copied as a whole", .0.display())]
    LinkOut(PathBuf),
    #[error("is a link to {}, which does not exist", .0.display())]
    LinkBroken(PathBuf),
    #[error("is neither file nor folder nor link, and is not copied")]
    Special,
    #[error("has more than {0} files and folders")]
    TooManyFiles(usize),
    #[error("is larger than {0} bytes in all")]
    TooMuchData(u64),
    #[error("is nested more than {0} folders deep")]
    TooDeep(usize),
    #[error("already exists, and is not overwritten")]
    Exists,
    #[error("the name \"{0}\" {1}")]
    BadName(String, NameProblem),
    #[error("this layer must contain {0}")]
    LayerLacks(&'static str),
    #[error("this layer must not contain the line {0}, which marks where it begins or ends")]
    LayerMarker(&'static str),
    #[error("this layer has the placeholder {{{{{0}}}}}, which is unknown")]
    LayerPlaceholder(String),
}

impl Classified for SkillError {
    /// The caller names the skill, so that a file in it that cannot be read is input too.
    fn class(&self) -> ErrorClass {
        ErrorClass::Usage
    }
}

impl SkillError {
    pub(crate) fn new(path: impl Into<PathBuf>, kind: impl Into<SkillErrorKind>) -> Self {
        Self { path: path.into(), kind: kind.into() }
    }

    /// For a path where a folder is needed: nothing is there, or something else.
    pub(crate) fn no_folder(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let is_missing = path.metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        Self::new(path, if is_missing { SkillErrorKind::MissingFolder } else { SkillErrorKind::NoFolder })
    }
}
