//! Writes the files that an engine needs before it starts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file to write first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileToWrite {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub existing: Existing,
}

/// What happens to a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It belongs to the user or to another program, and stays.
    Keep,
    /// skillrun wrote it, in a start that was interrupted.
    Replace,
}

#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written ({error})", path.display())]
pub struct WriteError {
    pub path: PathBuf,
    #[source]
    pub error: io::Error,
}

/// Writes them, in their order, with their folders. Returns the files that were created, for the caller that removes
/// them later.
pub fn write(files: &[FileToWrite]) -> Result<Vec<PathBuf>, WriteError> {
    let mut made = Vec::new();
    for file in files {
        let outcome = write_one(file).map_err(|error| WriteError { path: file.path.clone(), error })?;
        if outcome == Outcome::Made {
            made.push(file.path.clone());
        }
    }
    Ok(made)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Made,
    Kept,
}

fn write_one(file: &FileToWrite) -> io::Result<Outcome> {
    fs::create_dir_all(file.path.parent().unwrap_or(Path::new("/")))?;
    let opened = match file.existing {
        Existing::Keep => open().create_new(true).open(&file.path),
        Existing::Replace => open().create(true).truncate(true).open(&file.path),
    };
    let mut opened: File = match (opened, file.existing) {
        (Ok(opened), _) => opened,
        (Err(error), Existing::Keep) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Outcome::Kept),
        (Err(error), _) => return Err(error),
    };
    let written = opened.write_all(&file.bytes);
    if written.is_err() && file.existing == Existing::Keep {
        // The next start would keep half a settings file.
        let _ = fs::remove_file(&file.path);
    }
    written.map(|()| Outcome::Made)
}

/// Prompts and settings are readable by the user alone.
fn open() -> OpenOptions {
    let mut options = File::options();
    options.write(true).mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exists_is_kept_unless_it_is_ours() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/b/settings.json");
        let file = |text: &str, existing| FileToWrite { path: path.clone(), bytes: text.into(), existing };
        let content = || fs::read_to_string(&path).expect("text");

        assert_eq!(write(&[file("one", Existing::Keep)]).expect("written"), std::slice::from_ref(&path));
        assert_eq!(write(&[file("two", Existing::Keep)]).expect("kept"), Vec::<PathBuf>::new());
        assert_eq!(content(), "one");
        assert_eq!(write(&[file("3", Existing::Replace)]).expect("written"), std::slice::from_ref(&path));
        assert_eq!(content(), "3");
    }

    #[test]
    fn a_link_to_nowhere_is_kept_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).expect("a link");
        let file = FileToWrite { path, bytes: b"x".to_vec(), existing: Existing::Keep };
        assert_eq!(write(&[file]).expect("kept"), Vec::<PathBuf>::new());
        assert!(!folder.path().join("elsewhere").exists());
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("file"), "").expect("a file");
        let path = folder.path().join("file/under");
        let error = write(&[FileToWrite { path: path.clone(), bytes: Vec::new(), existing: Existing::Keep }]);
        assert!(error.expect_err("no folder").to_string().starts_with(&format!("{}: cannot be", path.display())));
    }
}
