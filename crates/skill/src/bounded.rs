//! Reading untrusted text: regular files only, up to a size limit, and optionally only inside a folder.

use std::io::ErrorKind;
use std::path::Path;

use skillrun_base::files::{self, FileProblem, FileReadError};

use crate::error::{SkillError, SkillErrorKind};

/// The text of a file, without a byte order mark.
pub(crate) fn read_text(path: &Path, max: u64) -> Result<String, SkillError> {
    let failed = |kind: SkillErrorKind| SkillError::new(path, kind);
    let mut text = files::read_text(path, max).map_err(|error| {
        failed(match error {
            FileReadError::Io(error) => or_missing(error),
            FileReadError::Problem(problem) => problem.into(),
        })
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// The same for a file of a folder, which a link must not leave.
pub(crate) fn read_text_inside(root: &Path, relative: &Path, max: u64) -> Result<String, SkillError> {
    check_inside(root, relative)?;
    read_text(&root.join(relative), max)
}

/// Checks that a file exists, is a regular file, and really is in the folder.
pub(crate) fn check_inside(root: &Path, relative: &Path) -> Result<(), SkillError> {
    let path = root.join(relative);
    let failed = |kind: SkillErrorKind| SkillError::new(&path, kind);
    let real_root = root.canonicalize().map_err(|e| failed(or_missing(e)))?;
    let real = path.canonicalize().map_err(|e| failed(or_missing(e)))?;
    if !real.starts_with(&real_root) {
        return Err(failed(SkillErrorKind::Outside));
    }
    // Before it is opened: opening a pipe without a writer would block forever.
    if !real.metadata().map_err(|e| failed(e.into()))?.is_file() {
        return Err(failed(FileProblem::NotAFile.into()));
    }
    Ok(())
}

fn or_missing(error: std::io::Error) -> SkillErrorKind {
    if error.kind() == ErrorKind::NotFound { SkillErrorKind::Missing } else { SkillErrorKind::Io(error) }
}
