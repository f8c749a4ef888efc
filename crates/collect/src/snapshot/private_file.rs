//! Files of the host next to the workspace. An engine may be able to write there: nothing is opened through a link that
//! it could have left, and only regular files are opened.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use skillrun_base::files::{self, SymbolicLinks};
use skillrun_base::whole_file::FileDraft;

/// A new file that only its owner may access; an existing one is removed first.
pub(super) fn create(path: &Path) -> io::Result<File> {
    files::remove_if_exists(path)?;
    // A link is not followed either.
    files::create_private(path)
}

/// An existing file, for reading.
pub(super) fn open(path: &Path) -> io::Result<File> {
    Ok(files::open(path, SymbolicLinks::Refused)?)
}

/// What the name of a file ends with while it is written.
const DRAFT: &str = ".tmp";

/// The name under which a file is written.
pub(super) fn draft_path(path: &Path) -> PathBuf {
    let mut beside = path.to_owned().into_os_string();
    beside.push(DRAFT);
    beside.into()
}

/// A file being written under a temporary name.
pub(super) fn draft(path: &Path) -> io::Result<(FileDraft, File)> {
    FileDraft::create(path, DRAFT)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_that_lies_in_wait_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        let (outside, name) = (dir.path().join("outside"), dir.path().join("x.json"));
        fs::write(&outside, "precious").expect("a file");
        symlink(&outside, dir.path().join("x.json.tmp")).expect("a link");
        let (draft, _file) = draft(&name).expect("created");
        draft.keep().expect("renamed");
        assert_eq!(fs::read(&outside).expect("still there"), b"precious");
        let made = fs::symlink_metadata(&name).expect("there");
        assert!(made.is_file());
        assert_eq!(made.permissions().mode() & 0o777, 0o600);
        fs::remove_file(&name).expect("removed");
        symlink(&outside, &name).expect("a link");
        open(&name).expect_err("a link is not opened for reading either");
    }
}
