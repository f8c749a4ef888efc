//! The folder of one run: names, paths, and how files are opened.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use skillrun_base::files::{self, PRIVATE_FILE};
use skillrun_model::RunId;

use crate::error::LogErrorKind;

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

    /// Creates the folder if it is missing; the runtime may have created it before.
    pub(super) fn make(&self) -> Result<(), LogErrorKind> {
        let made = files::create_private_folder(&self.path);
        made.map_err(|error| failed(&self.path, error))
    }

    /// Syncs the names in the folder, and its own, so that they survive a power failure.
    pub(super) fn sync(&self) -> Result<(), LogErrorKind> {
        let parent = self.path.parent().unwrap_or(Path::new("."));
        for path in [self.path.as_path(), parent] {
            File::open(path).and_then(|folder| folder.sync_all()).map_err(|error| failed(path, error))?;
        }
        Ok(())
    }
}

/// How a file is opened. A closed list, so that every file is opened with the same mode and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    Reading,
    /// Read, and write anywhere; created if missing.
    Writing,
    /// Read, and truncate; it must exist.
    Mending,
    /// Append; it must exist.
    Adding,
    /// A new file, which must not exist yet.
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
    // Logs contain text of engines and users, so only the owner may read them.
    options.mode(PRIVATE_FILE).open(path)
}

pub(super) fn failed(path: &Path, error: io::Error) -> LogErrorKind {
    LogErrorKind::io(path.display().to_string(), error)
}
