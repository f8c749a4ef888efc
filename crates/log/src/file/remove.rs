//! Removed Logs. `removed.jsonl` distinguishes them from those that never existed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use skillrun_base::files;
use skillrun_model::{RunId, Timestamp};

use super::folder::{Folder, failed};
use super::scan::{Item, Scan};
use crate::error::LogErrorKind;

#[derive(Serialize)]
struct Removed {
    run_id: RunId,
    removed_at: Timestamp,
}

fn list(runs: &Path) -> PathBuf {
    runs.join("removed.jsonl")
}

/// Why there is no Log.
pub(super) fn why_missing(runs: &Path, run: RunId) -> LogErrorKind {
    match is_removed(runs, run) {
        Ok(true) => LogErrorKind::Gone,
        Ok(false) => LogErrorKind::NotFound,
        Err(error) => failed(&list(runs), error),
    }
}

pub(super) fn is_removed(runs: &Path, run: RunId) -> io::Result<bool> {
    let file = match File::open(list(runs)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let name = format!("\"{run}\"");
    let mut scan = Scan::new(&file, 0, file.metadata()?.len());
    loop {
        match scan.next()? {
            Item::Line { line, .. } if memchr::memmem::find(line, name.as_bytes()).is_some() => return Ok(true),
            Item::Line { .. } | Item::TooLong { .. } => {}
            Item::Rest { .. } => return Ok(false),
        }
    }
}

/// Removes the files of a Log; the rest of the folder is up to the caller. The removal is first noted on the disk, so
/// that the run is never reported as one that did not exist.
pub(super) fn remove(runs: &Path, folder: &Folder, run: RunId, at: Timestamp) -> Result<(), LogErrorKind> {
    let path = list(runs);
    note(&path, &Removed { run_id: run, removed_at: at }).map_err(|error| failed(&path, error))?;
    folder.sync()?;
    // The events last: while they exist, the removal can be repeated.
    let mut files = vec![folder.index(), folder.epoch()];
    files.extend((1..).map(|number| folder.torn(number)).take_while(|path| path.exists()));
    files.push(folder.events());
    for path in files {
        files::remove_if_exists(&path).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

fn note(path: &Path, removed: &Removed) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let mut line = Vec::new();
    // A process may have died in the middle of a line.
    let len = file.metadata()?.len();
    let mut last = [b'\n'];
    if len > 0 {
        file.read_exact_at(&mut last, len - 1)?;
    }
    if last != [b'\n'] {
        line.push(b'\n');
    }
    serde_json::to_writer(&mut line, removed)?;
    line.push(b'\n');
    file.write_all(&line)?;
    file.sync_data()
}
