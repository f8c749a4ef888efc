//! One writer per run: a lock on the file `lock`, held while the writer lives. Readers need none.
//!
//! The system releases the lock when its process dies, however it dies. The file itself stays: a process that removed
//! and recreated it could lock another file than the others do.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::folder::{self, Folder, For, failed};
use crate::error::LogErrorKind;
use skillrun_base::file_lock::{self, LockState};
use skillrun_model::IgnoredError;

/// The id of this boot of the machine. None when the system does not provide it; then no two boots count as the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Boot(pub Option<String>);

impl Boot {
    pub fn current() -> Self {
        let name = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        Self(name.ok().map(|name| name.trim().to_owned()))
    }

    /// Whether the machine was not restarted since `other` was recorded.
    pub fn is(&self, other: Option<&str>) -> bool {
        self.0.is_some() && self.0.as_deref() == other
    }
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    pid: Option<u32>,
    boot: Option<String>,
}

/// The note is padded to this length, so that it can be written when the disk is full.
const NOTE: usize = 128;

#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// Whether the last writer worked in this boot of the machine: nothing it wrote can be lost.
    pub(super) is_same_boot: bool,
}

impl Lock {
    /// Acquires the lock, or returns who has it. The folder must exist.
    pub(super) fn take(folder: &Folder, boot: &Boot) -> Result<Self, LogErrorKind> {
        let path = folder.lock();
        loop {
            let file = folder::open(&path, For::Writing).map_err(|error| failed(&path, error))?;
            let note = read(&file);
            match file_lock::try_lock(&file).map_err(|error| failed(&path, error))? {
                LockState::Acquired => {}
                LockState::Held => return Err(LogErrorKind::Held { pid: note.pid }),
            }
            // Another process may have removed the run during the system call.
            if !file_lock::is_at(&file, &path).map_err(|error| failed(&path, error))? {
                continue;
            }
            let is_same_boot = boot.is(note.boot.as_deref());
            // The boot is that of the last writer until its Log is repaired.
            write(&file, &Note { pid: Some(std::process::id()), boot: note.boot });
            return Ok(Self { file, is_same_boot });
        }
    }

    /// The Log is repaired: from here on it is written in this boot.
    pub(super) fn stamp(&self, boot: &Boot) {
        if !self.is_same_boot {
            write(&self.file, &Note { pid: Some(std::process::id()), boot: boot.0.clone() });
        }
    }
}

/// The process that acquired the lock last; it may have released it. Acquires no lock, so it does not block any
/// process.
pub(super) fn last_holder(folder: &Folder) -> Option<u32> {
    folder::open(&folder.lock(), For::Reading).ok().and_then(|file| read(&file).pid)
}

fn read(file: &File) -> Note {
    let mut bytes = [0; NOTE];
    let len = file.read_at(&mut bytes, 0).unwrap_or(0);
    serde_json::from_slice(&bytes[..len]).unwrap_or_default()
}

/// If the note cannot be written, a message lacks a pid, and an epoch is raised unnecessarily.
fn write(file: &File, note: &Note) {
    let Ok(mut bytes) = serde_json::to_vec(note) else { return };
    bytes.resize(bytes.len().max(NOTE - 1), b' ');
    bytes.push(b'\n');
    file.write_all_at(&bytes, 0).ignored();
}
