//! The folder of one run: names, places, and files as they are opened here.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use skillrun_model::RunId;

use crate::error::LogErrorKind;

/// Logs hold what engines and users wrote.
const PRIVATE: u32 = 0o600;

#[derive(Debug, Clone)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(runs: &Path, run: RunId) -> Self {
        Self { path: runs.join(run.to_string()) }
    }

    pub(super) fn events(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    pub(super) fn index(&self) -> PathBuf {
        self.path.join("events.idx")
    }

    pub(super) fn epoch(&self) -> PathBuf {
        self.path.join("epoch")
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    pub(super) fn torn(&self, number: u32) -> PathBuf {
        self.path.join(format!("events.torn.{number}"))
    }

    /// Makes the folder where it is missing; the runtime may have been there first.
    pub(super) fn make(&self) -> Result<(), LogErrorKind> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|error| failed(&self.path, error))
    }

    /// Makes the names in the folder, and its own, survive a power failure.
    pub(super) fn sync(&self) -> Result<(), LogErrorKind> {
        let parent = self.path.parent().unwrap_or(Path::new("."));
        for path in [self.path.as_path(), parent] {
            File::open(path).and_then(|folder| folder.sync_all()).map_err(|error| failed(path, error))?;
        }
        Ok(())
    }
}

/// What is done with a file. A closed list, so that every file here is opened with the same mode and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    Reading,
    /// To read it and write anywhere; made when it is missing.
    Writing,
    /// To read it and cut its end; it must be there.
    Mending,
    /// To add to its end; it must be there.
    Adding,
    /// A file that must not be there yet.
    Making,
}

pub(super) fn open(path: &Path, purpose: For) -> io::Result<File> {
    let mut options = OpenOptions::new();
    match purpose {
        For::Reading => options.read(true),
        For::Writing => options.read(true).write(true).create(true).truncate(false),
        For::Mending => options.read(true).write(true),
        For::Adding => options.append(true),
        For::Making => options.write(true).create_new(true),
    };
    options.mode(PRIVATE).open(path)
}

pub(super) fn failed(path: &Path, error: io::Error) -> LogErrorKind {
    LogErrorKind::io(path.display().to_string(), error)
}
