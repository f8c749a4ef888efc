//! The list of changes of an attempt, as far as artifacts need it: what was at a path, and what is there now.

use std::io;
use std::path::Path;

use serde::Deserialize;
use skillrun_evidence::OsText;

use super::inside;
use crate::changes::{ChangeKind, Entries, FileKind};

/// What was at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Was {
    Nothing,
    File,
    Folder,
    Link,
    Special,
}

/// One change of the workspace.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: OsText,
    pub(super) was: Was,
    pub(super) now: Was,
    /// Of the file that is there now.
    pub(super) size: Option<u64>,
    /// None when it was beyond the limits of the snapshot.
    pub(super) hash: Option<String>,
}

/// Fields that are not needed here are not kept: there may be a million entries.
#[derive(Deserialize)]
struct Version {
    kind: FileKind,
    size: Option<u64>,
    hash: Option<String>,
}

#[derive(Deserialize)]
struct Alone {
    path: OsText,
    #[serde(flatten)]
    version: Version,
}

#[derive(Deserialize)]
struct Modified {
    path: OsText,
    before: Version,
    after: Version,
}

/// Passes every change to `each`, in the order of the file. A file that is not a list of changes, or not complete, is
/// an error; the changes passed before the error are still valid.
pub(super) fn each(path: &Path, each: &mut dyn FnMut(Change)) -> io::Result<()> {
    let mut entries = Entries::new(inside::open_plain(path)?)?;
    while let Some((kind, entry)) = entries.next_entry()? {
        each(change(kind, entry)?);
    }
    Ok(())
}

fn change(kind: ChangeKind, entry: &[u8]) -> io::Result<Change> {
    match kind {
        ChangeKind::Created => {
            let Alone { path, version } = serde_json::from_slice(entry)?;
            Ok(Change { path, was: Was::Nothing, now: version.was(), size: version.size, hash: version.hash })
        }
        ChangeKind::Modified => {
            let Modified { path, before, after } = serde_json::from_slice(entry)?;
            Ok(Change { path, was: before.was(), now: after.was(), size: after.size, hash: after.hash })
        }
        ChangeKind::Deleted => {
            let Alone { path, version } = serde_json::from_slice(entry)?;
            Ok(Change { path, was: version.was(), now: Was::Nothing, size: None, hash: None })
        }
    }
}

impl Version {
    fn was(&self) -> Was {
        match self.kind {
            FileKind::File => Was::File,
            FileKind::Folder => Was::Folder,
            FileKind::Symlink => Was::Link,
            // Pipes, sockets, devices, and entries whose kind could not be determined.
            FileKind::Pipe | FileKind::Socket | FileKind::CharDevice | FileKind::BlockDevice | FileKind::Unknown => {
                Was::Special
            }
        }
    }
}
