//! Serving artifacts: a file is served as the result of the run only while it is unchanged.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::inside::{Root, is_hard_link};

/// Why a file of a run is not served as its artifact.
#[derive(Debug, thiserror::Error)]
pub enum NotServed {
    #[error("it no longer exists")]
    Gone,
    /// Another name of the same file may be anywhere, and a process that writes there changes it.
    #[error("it is a hard link; copy the file instead of linking it")]
    HardLink,
    #[error("it has changed since the run made it")]
    Changed,
    #[error("it cannot be read ({0})")]
    Unreadable(io::Error),
}

impl From<io::Error> for NotServed {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound {
            Self::Gone
        } else if is_hard_link(&error) {
            Self::HardLink
        } else {
            Self::Unreadable(error)
        }
    }
}

/// When a file was last written, as far as the file system records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub fn size(self) -> u64 {
        self.size
    }

    pub fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self {
            size: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// An artifact whose content was compared with its hash.
#[derive(Debug)]
pub struct Unchanged {
    pub file: File,
    /// Taken before the comparison: as long as it is the same, the content is what was compared.
    pub stamp: Stamp,
}

/// Opens an artifact and compares its content with what the run made. Reads all of it.
pub fn open_unchanged(workspace: &Path, path: &Path, size: u64, hash: &str) -> Result<Unchanged, NotServed> {
    let root = Root::open(workspace)?;
    let file = root.artifact(path)?;
    let stamp = Stamp::of(&file)?;
    if stamp.size != size {
        return Err(NotServed::Changed);
    }
    // A file that grows while it is read is not read to its end.
    let mut budget = size;
    match root.hash(path, &mut budget) {
        Ok((_, found)) if found == hash && Stamp::of(&file)? == stamp => Ok(Unchanged { file, stamp }),
        Ok(_) => Err(NotServed::Changed),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(NotServed::Changed),
        Err(error) => Err(error.into()),
    }
}
