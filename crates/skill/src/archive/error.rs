//! Why a package is refused.

use std::error::Error;
use std::path::PathBuf;

use skillrun_model::{Classified, ErrorClass};

use super::plan::{ENTRIES_MAX, ENTRY_MAX, RATIO_MAX, TOTAL_MAX};

/// The package or the folder, and what is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub struct ArchiveError {
    pub path: PathBuf,
    #[source]
    pub kind: ArchiveErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum ArchiveErrorKind {
    #[error("cannot be read or written ({0})")]
    Io(#[from] std::io::Error),
    #[error("is not a zip file that can be read ({0})")]
    NotZip(String),
    #[error("is a zip64 file, which a skill does not need")]
    Zip64,
    #[error("has more than {ENTRIES_MAX} files and folders")]
    TooManyEntries,
    #[error("the entry \"{name}\" {problem}")]
    Entry { name: String, problem: EntryProblem },
    #[error("has two entries of the same name")]
    SameName,
    #[error("unpacks to more than {TOTAL_MAX} bytes")]
    TooLarge,
    #[error("has entries that overlap")]
    Overlap,
    #[error("has no SKILL.md at its root or in its only folder; a package contains one skill")]
    Layout,
    #[error("has no skill: there is no SKILL.md in it, in its folders or in a folder \"skills\" of it")]
    NoSkillInside,
    #[error("has {} skills; name the folder of one: {}", .0.len(), listed(.0))]
    Several(Vec<String>),
    #[error("contains no usable skill: {0}")]
    BadSkill(#[source] Box<dyn Error + Send + Sync>),
    #[error("gives the skill no usable name; put one in the front matter of its SKILL.md")]
    NoName,
    #[error("the skill \"{0}\" already exists")]
    Exists(String),
    #[error("\"{0}\" exists and cannot be replaced: it is a link or a file, not an installed skill")]
    InTheWay(String),
    #[error("there is no skill \"{0}\" in this folder")]
    NotInstalled(String),
    #[error("the skill \"{0}\" is a link; remove it yourself, so that nothing else is removed with it")]
    IsLink(String),
}

/// The first of the folders.
fn listed(folders: &[String]) -> String {
    const LISTED_MAX: usize = 10;
    let more = if folders.len() > LISTED_MAX { ", …" } else { "" };
    format!("{}{more}", folders[..folders.len().min(LISTED_MAX)].join(", "))
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    #[error("has a name that is not UTF-8")]
    NotUtf8,
    #[error("has an absolute path")]
    Absolute,
    #[error("has a drive letter in its path")]
    Drive,
    #[error("has \"..\" in its path")]
    Parent,
    #[error("has a backslash in its path")]
    Backslash,
    #[error("has a control character in its path")]
    Control,
    #[error("has an empty part or \".\" in its path")]
    EmptyPart,
    #[error("has a path that is too long or too deep")]
    TooLong,
    #[error("is a link")]
    Link,
    #[error("is neither a file nor a folder")]
    Special,
    #[error("is a file and a folder at once")]
    FileAndFolder,
    #[error("is encrypted")]
    Encrypted,
    #[error("is packed with a method that is not supported; use deflate or none")]
    Method,
    #[error("is larger than {ENTRY_MAX} bytes")]
    TooLarge,
    #[error("unpacks to more than {RATIO_MAX} times its size, as bombs do")]
    Ratio,
    #[error("is damaged ({0})")]
    Damaged(String),
}

impl Classified for ArchiveError {
    fn class(&self) -> ErrorClass {
        if let ArchiveErrorKind::NotInstalled(_) = self.kind {
            ErrorClass::NotFound
        } else if let ArchiveErrorKind::Exists(_) = self.kind {
            ErrorClass::Conflict
        } else {
            // The caller names the package.
            ErrorClass::Usage
        }
    }
}

impl ArchiveError {
    pub(super) fn new(path: impl Into<PathBuf>, kind: impl Into<ArchiveErrorKind>) -> Self {
        Self { path: path.into(), kind: kind.into() }
    }
}
