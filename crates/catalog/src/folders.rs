//! Scans `runs/`: which Logs there are, and how far they go. Only the epochs are read.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;
use skillrun_model::RunId;

use super::trouble::CatalogError;
use skillrun_log::cursor::Epoch;
use skillrun_log::error::DamageKind;

/// How far a Log goes, or how far a row goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Mark {
    pub(super) inode: u64,
    pub(super) epoch: Epoch,
    pub(super) bytes: u64,
}

/// The content of the folder of a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// No event: an acceptance that was interrupted, or a run that was removed.
    Nothing,
    Log(Mark),
    Unreadable(String),
}

/// The folder of all runs at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderStamp {
    inode: u64,
    modified: (i64, u64),
}

/// A Log as one `stat` shows it. Any change of the Log changes it: a Log that is cut, and written again up to the same
/// size, has another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogStamp {
    inode: u64,
    bytes: i64,
    changed: (i64, u64),
}

/// The folder of all runs. None when the folder does not exist, so there are no runs.
#[derive(Debug)]
pub(super) struct Runs {
    folder: Option<OwnedFd>,
    path: PathBuf,
    place: String,
}

impl Runs {
    pub(super) fn open(path: &Path) -> Result<Self, CatalogError> {
        let (place, path) = (path.display().to_string(), path.to_owned());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, &path, flags, Mode::empty()) {
            Ok(folder) => Ok(Self { folder: Some(folder), path, place }),
            Err(Errno::NOENT) => Ok(Self { folder: None, path, place }),
            Err(error) => Err(CatalogError::Runs { place, source: error.into() }),
        }
    }

    /// Calls `each` for every folder with the name of a run.
    pub(super) fn each(&self, mut each: impl FnMut(RunId, Seen)) -> Result<(), CatalogError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let failed = |error: Errno| CatalogError::Runs { place: self.place.clone(), source: error.into() };
        let mut path = Vec::with_capacity(64);
        for entry in Dir::read_from(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if let Some(run) = run_of(entry.file_name().to_bytes()) {
                each(run, inspect(folder, entry.file_name().to_bytes(), &mut path));
            }
        }
        Ok(())
    }

    /// Calls `each` for every run that has a folder.
    pub(super) fn each_name(&self, mut each: impl FnMut(RunId)) -> Result<(), CatalogError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let failed = |error: Errno| CatalogError::Runs { place: self.place.clone(), source: error.into() };
        for entry in Dir::read_from(folder).map_err(failed)? {
            if let Some(run) = run_of(entry.map_err(failed)?.file_name().to_bytes()) {
                each(run);
            }
        }
        Ok(())
    }

    /// Changes when a folder is added or removed; none when that cannot be known.
    pub(super) fn stamp(&self) -> Option<FolderStamp> {
        let found = fstat(self.folder.as_ref()?).ok()?;
        Some(FolderStamp { inode: found.st_ino, modified: (found.st_mtime, found.st_mtime_nsec) })
    }

    /// The size of the list of removed runs, which only grows.
    pub(super) fn removals(&self) -> i64 {
        let listed = self.folder.as_ref().map(|folder| statat(folder, "removed.jsonl", AtFlags::empty()));
        listed.and_then(Result::ok).map_or(0, |found| found.st_size)
    }

    /// None when there is no Log, or that cannot be known. This costs half of an [`Self::inspect`].
    pub(super) fn log_stamp(&self, run: RunId) -> Option<LogStamp> {
        let path = format!("{run}/events.jsonl");
        let found = statat(self.folder.as_ref()?, path, AtFlags::empty()).ok()?;
        Some(LogStamp { inode: found.st_ino, bytes: found.st_size, changed: (found.st_ctime, found.st_ctime_nsec) })
    }

    pub(super) fn inspect(&self, run: RunId) -> Seen {
        match &self.folder {
            Some(folder) => inspect(folder, run.to_string().as_bytes(), &mut Vec::new()),
            // The first run of all may have been created since: another process may have a row of it already, and that
            // row must not be taken for one without a folder.
            None => match Self::open(&self.path) {
                Ok(Self { folder: Some(folder), .. }) => inspect(&folder, run.to_string().as_bytes(), &mut Vec::new()),
                Ok(Self { folder: None, .. }) => Seen::Nothing,
                Err(error) => Seen::Unreadable(error.to_string()),
            },
        }
    }
}

/// Only the spelling that skillrun itself writes: another one would be a second folder for the same run.
fn run_of(name: &[u8]) -> Option<RunId> {
    let is_ours = name.len() == 36 && !name.iter().any(u8::is_ascii_uppercase);
    std::str::from_utf8(name).ok().filter(|_| is_ours).and_then(|name| RunId::from_str(name).ok())
}

/// A file in the folder of a run; `path` is a buffer for many calls.
fn at<'p>(path: &'p mut Vec<u8>, name: &[u8], file: &[u8]) -> &'p [u8] {
    path.clear();
    path.extend_from_slice(name);
    path.push(b'/');
    path.extend_from_slice(file);
    path
}

fn inspect(folder: &OwnedFd, name: &[u8], path: &mut Vec<u8>) -> Seen {
    // Before the Log is read, so that a row never claims more than what was read.
    let found = match statat(folder, at(path, name, b"events.jsonl"), AtFlags::empty()) {
        Ok(found) => found,
        Err(Errno::NOENT | Errno::NOTDIR) => return Seen::Nothing,
        Err(error) => return Seen::Unreadable(format!("events.jsonl: {}", io::Error::from(error))),
    };
    let bytes = u64::try_from(found.st_size).unwrap_or(0);
    if bytes == 0 {
        // The partial first event was moved aside, and no other was written.
        let was_cut = statat(folder, at(path, name, b"events.torn.1"), AtFlags::empty()).is_ok();
        return match was_cut {
            true => Seen::Unreadable(format!("damaged: {}", DamageKind::FirstEventCut)),
            false => Seen::Nothing,
        };
    }
    match epoch(folder, at(path, name, b"epoch")) {
        Ok(epoch) => Seen::Log(Mark { inode: found.st_ino, epoch, bytes }),
        Err(error) => Seen::Unreadable(format!("epoch: {error}")),
    }
}

fn epoch(folder: &OwnedFd, path: &[u8]) -> io::Result<Epoch> {
    // Mostly there is none, and a `stat` costs a third of an `open`.
    if matches!(statat(folder, path, AtFlags::empty()), Err(Errno::NOENT)) {
        return Ok(Epoch::FIRST);
    }
    let file = match openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(Epoch::FIRST),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = [0; 16];
    let read = rustix::io::read(&file, &mut bytes)?;
    let number = std::str::from_utf8(&bytes[..read]).ok().and_then(|text| text.trim_end().parse().ok());
    number.map(Epoch).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "is not a number"))
}
