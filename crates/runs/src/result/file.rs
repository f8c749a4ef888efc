//! The file itself.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use skillrun_base::files;
use skillrun_base::whole_file::{self, SyncLevel};
use skillrun_log::{FileLog, LogError};
use skillrun_model::RunId;

use super::{RunResult, result_of};
use crate::data_folder::RunFolder;
use skillrun_model::IgnoredError;

/// Largest file that is read. An answer has at most 8 MiB, an output 4 MiB, and a few thousand artifacts a few more.
pub const MAX_BYTES: u64 = 64 << 20;

/// Writes `result.json`, on disk when this returns: the last event of the run comes after it.
pub fn write(folder: &RunFolder, result: &RunResult) -> io::Result<()> {
    // Replaced whole or not at all. A sync of its name is not worth the cost: it can be regenerated.
    whole_file::replace_with(&folder.result(), &text(result)?, SyncLevel::Content)
}

/// Reads it; none where it does not exist.
pub fn read(folder: &RunFolder) -> io::Result<Option<RunResult>> {
    match files::if_exists(files::read(&folder.result(), MAX_BYTES))? {
        Some(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        None => Ok(None),
    }
}

/// Reads it or, where it is missing or damaged, regenerates it from the Log and writes it again. None where the run is
/// not over and there is none. Any process may do this: for a run that is over it gives the same bytes every time.
pub fn read_or_make(log: &FileLog, folder: &RunFolder, run: RunId) -> Result<Option<RunResult>, LogError> {
    if let Ok(Some(result)) = read(folder)
        && result.run_id == run
    {
        return Ok(Some(result));
    }
    let made = result_of(log, run, folder)?;
    if let Some(result) = &made {
        // A view: the next reader regenerates it.
        write(folder, result).ignored();
    }
    Ok(made)
}

/// Whether the file is clearly not a complete result. Checks only its ends: a reader sees the rest.
pub fn is_lacking(folder: &RunFolder) -> bool {
    let ends = || -> io::Result<bool> {
        let file = File::open(folder.result())?;
        let len = file.metadata()?.len();
        let (mut first, mut last) = ([0; 1], [0; 2]);
        file.read_exact_at(&mut first, 0)?;
        file.read_exact_at(&mut last, len.saturating_sub(2))?;
        Ok(first == *b"{" && last == *b"}\n")
    };
    !ends().unwrap_or(false)
}

/// The content of the file.
pub fn text(result: &RunResult) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(result)?;
    text.push(b'\n');
    Ok(text)
}
