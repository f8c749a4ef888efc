//! The epoch of a Log: a number in a file that is written atomically.

use std::fs;
use std::io::{self, Write};

use skillrun_base::whole_file::{FileDraft, SyncLevel};

use super::folder::{Folder, failed};
use crate::cursor::Epoch;
use crate::error::LogErrorKind;

pub(super) fn read(folder: &Folder) -> Result<Epoch, LogErrorKind> {
    let path = folder.epoch();
    match fs::read_to_string(&path) {
        Ok(text) => text.trim_end().parse().map(Epoch).map_err(|_| {
            let advice = "is not a number; write one larger than any it ever had, or all cursors could be wrong";
            failed(&path, io::Error::new(io::ErrorKind::InvalidData, advice))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Epoch::FIRST),
        Err(error) => Err(failed(&path, error)),
    }
}

/// Raises the epoch; it is on the disk when this returns. Nothing is written in place of truncated lines before this is
/// done, so a reader that finds the same epoch before and after its read has not mixed old and new lines.
pub(super) fn raise(folder: &Folder) -> Result<Epoch, LogErrorKind> {
    let next = read(folder)?.next();
    let path = folder.epoch();
    let written = FileDraft::create(&path, ".tmp").and_then(|(draft, mut file)| {
        writeln!(file, "{next}")?;
        draft.keep_synced(&file, SyncLevel::Content)
    });
    written.map_err(|error| failed(&path, error))?;
    folder.sync()?;
    Ok(next)
}
