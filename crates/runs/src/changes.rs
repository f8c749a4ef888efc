//! Which files an attempt changed: reads `fs-diff.N.json`, whose format is described in `collect::snapshot`. It has one
//! entry per line, so that a list of a million changes is never in memory.
//!
//! - `Entries`: the lines, and the part of the file that each is in. [`Changes`]: the same, decoded.
//! - [`why_none`]: why there is no such file.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillrun_evidence::OsText;
use skillrun_model::{AttemptNumber, word_enum};

use crate::artifacts::open_plain;
use crate::data_folder::RunFolder;
use crate::record::{RunRecord, Snapshot};

/// A line has a path and at most one difference of two texts of 64 KiB, escaped.
const LONGEST_LINE: u64 = 2 << 20;

/// One change of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WorkspaceChange")]
pub struct WorkspaceChange {
    pub change: ChangeKind,
    /// Relative to the root of the workspace.
    pub path: OsText,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<FileVersion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<FileVersion>,
    /// How its text changed, line by line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Why there is no difference: a word such as `binary` or `too_large`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff_omitted: Option<String>,
    /// Whether secrets in the difference are masked, so that it is not the exact one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub diff_masked: bool,
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Created,
    Modified,
    Deleted,
}

/// What was at a path. A fact that its kind does not have, or that could not be read, is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileVersion {
    pub kind: FileKind,
    /// Permission bits, octal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtime_ns: Option<i64>,
    /// blake3. None when it was beyond the limits of the snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Where a link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<OsText>,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

word_enum! {
    /// The kind of a path.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub FileKind {
        File = "file",
        Folder = "folder",
        Symlink = "symlink",
        Pipe = "pipe",
        Socket = "socket",
        CharDevice = "char_device",
        BlockDevice = "block_device",
        /// The kind could not be determined, or has no name here.
        #[serde(other)]
        Unknown = "unknown",
    }
}

/// An entry of a part that has only new or only old files.
#[derive(Deserialize)]
struct Alone {
    path: OsText,
    #[serde(flatten)]
    version: FileVersion,
    /// Of a deleted file.
    diff: Option<String>,
    diff_omitted: Option<String>,
    #[serde(default)]
    diff_masked: bool,
}

#[derive(Deserialize)]
struct Modified {
    path: OsText,
    before: FileVersion,
    after: FileVersion,
    diff: Option<String>,
    diff_omitted: Option<String>,
    #[serde(default)]
    diff_masked: bool,
}

/// The list of changes of an attempt cannot be read, or not to its end. The changes read before the error are still
/// valid.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct ChangesError {
    pub path: PathBuf,
    pub error: io::Error,
}

/// The entries of a list of changes as they are in the file, in its order.
#[derive(Debug)]
pub(crate) struct Entries<R> {
    input: BufReader<R>,
    /// The part of the file that is being read; none after the last.
    part: Option<ChangeKind>,
    line: Vec<u8>,
}

impl<R: Read> Entries<R> {
    pub(crate) fn new(input: R) -> io::Result<Self> {
        let input = BufReader::with_capacity(64 << 10, input);
        let mut entries = Self { input, part: Some(ChangeKind::Created), line: Vec::new() };
        entries.read_line()?;
        if !entries.line.starts_with(b"{\"attempt\":") || !entries.line.ends_with(b",\"created\":[") {
            return Err(bad("it is not a list of changes"));
        }
        Ok(entries)
    }

    /// The next entry. None after the last; a file that ends before that is an error.
    pub(crate) fn next_entry(&mut self) -> io::Result<Option<(ChangeKind, &[u8])>> {
        while let Some(part) = self.part {
            self.read_line()?;
            self.part = match (part, self.line.as_slice()) {
                (ChangeKind::Created, b"],\"modified\":[") => Some(ChangeKind::Modified),
                (ChangeKind::Modified, b"],\"deleted\":[") => Some(ChangeKind::Deleted),
                (ChangeKind::Deleted, foot) if foot.starts_with(b"],\"counts\":") => None,
                (_, _) => return Ok(Some((part, self.line.strip_suffix(b",").unwrap_or(&self.line)))),
            };
        }
        Ok(None)
    }

    fn read_line(&mut self) -> io::Result<()> {
        self.line.clear();
        (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.line)?;
        match self.line.pop() {
            Some(b'\n') => Ok(()),
            Some(_) | None => Err(bad("a line is not terminated")),
        }
    }
}

/// The changes of one attempt, in the order of the file.
#[derive(Debug)]
pub struct Changes<R> {
    path: PathBuf,
    entries: Entries<R>,
}

impl Changes<File> {
    /// None when there is no list; [`why_none`] returns the reason.
    pub fn open(run: &RunFolder, attempt: AttemptNumber) -> Result<Option<Self>, ChangesError> {
        let path = run.audit().join(format!("fs-diff.{attempt}.json"));
        match open_plain(&path) {
            Ok(file) => Self::new(path, file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ChangesError { path, error }),
        }
    }
}

impl<R: Read> Changes<R> {
    /// `path` is for error messages.
    pub fn new(path: PathBuf, input: R) -> Result<Self, ChangesError> {
        match Entries::new(input) {
            Ok(entries) => Ok(Self { path, entries }),
            Err(error) => Err(ChangesError { path, error }),
        }
    }

    /// None after the last.
    pub fn next_change(&mut self) -> Result<Option<WorkspaceChange>, ChangesError> {
        self.next_with(change)
    }

    /// The next one as it is in the file.
    pub fn next_value(&mut self) -> Result<Option<(ChangeKind, Value)>, ChangesError> {
        self.next_with(|kind, entry| Ok((kind, serde_json::from_slice(entry)?)))
    }

    fn next_with<T>(&mut self, read: impl Fn(ChangeKind, &[u8]) -> io::Result<T>) -> Result<Option<T>, ChangesError> {
        let next = self.entries.next_entry();
        let next = next.and_then(|entry| entry.map(|(kind, entry)| read(kind, entry)).transpose());
        next.map_err(|error| ChangesError { path: self.path.clone(), error })
    }
}

/// Decodes one entry.
fn change(change: ChangeKind, entry: &[u8]) -> io::Result<WorkspaceChange> {
    let alone = |entry| serde_json::from_slice::<Alone>(entry);
    Ok(match change {
        ChangeKind::Created | ChangeKind::Deleted => {
            let Alone { path, version, diff, diff_omitted, diff_masked } = alone(entry)?;
            let (before, after) = match change {
                ChangeKind::Deleted => (Some(version), None),
                ChangeKind::Created | ChangeKind::Modified => (None, Some(version)),
            };
            WorkspaceChange { change, path, before, after, diff, diff_omitted, diff_masked }
        }
        ChangeKind::Modified => {
            let Modified { path, before, after, diff, diff_omitted, diff_masked } = serde_json::from_slice(entry)?;
            let (before, after) = (Some(before), Some(after));
            WorkspaceChange { change, path, before, after, diff, diff_omitted, diff_masked }
        }
    })
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Why there is no list of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoChanges {
    /// Snapshots were turned off for the run.
    SnapshotOff,
    /// No engine was started yet.
    NoAttempt,
    /// It was removed with the evidence.
    Removed,
    /// It is written when an attempt is over.
    NotYet,
}

/// `last` is the last attempt that began. The record may be unreadable.
pub fn why_none(run: &RunFolder, record: Option<&RunRecord>, last: AttemptNumber) -> NoChanges {
    let was_off = record.is_some_and(|record| record.request.snapshot == Snapshot::Off);
    if was_off {
        NoChanges::SnapshotOff
    } else if last == AttemptNumber::BEFORE_FIRST {
        NoChanges::NoAttempt
    } else if crate::retention::is_evidence_removed(&run.audit()) {
        NoChanges::Removed
    } else {
        NoChanges::NotYet
    }
}
