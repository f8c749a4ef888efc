//! Requests with a key of the caller: sent again, they do not create a second run.
//!
//! ```text
//! requests/<key>    "<run id> <fingerprint>\n"; the name is blake3 over the key, the fingerprint blake3 over the request,
//!                   both in hexadecimal
//! ```
//!
//! An entry is on disk before the run it names is created, and locked (flock) from before it is read until the run
//! exists. So of several that arrive at once, in any process, one creates the run; and after a crash at any point, an
//! entry that names a run without a first event means that nothing was created.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillrun_base::file_lock::{self, LockState};
use skillrun_base::files;
use skillrun_base::wait::retry;
use skillrun_base::whole_file::sync_folder;
use skillrun_log::{EventLog, FileLog, LogError, LogErrorKind, Seq};
use skillrun_model::{Classified, ErrorClass, RunId, Timestamp};

use crate::data_folder::DataFolder;

/// How long another process may take to accept the same request; it may have large files.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// An entry is kept this long after its run is gone.
const KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// Longest entry that is read.
const ENTRY_MAX: u64 = 200;

/// The caller's own id for a request: 1 to 255 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestKey(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key must have 1 to 255 visible ASCII characters, without spaces")]
pub struct KeyError;

impl RequestKey {
    pub fn new(key: &str) -> Result<Self, KeyError> {
        let is_good = (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
        if is_good { Ok(Self(key.to_owned())) } else { Err(KeyError) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where the entry of this key is.
    pub fn path(&self, data: &DataFolder) -> PathBuf {
        data.requests().join(blake3::hash(self.0.as_bytes()).to_hex().as_str())
    }
}

/// The file of an entry cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written ({error})", path.display())]
pub struct EntryFileError {
    pub path: PathBuf,
    #[source]
    pub error: io::Error,
}

/// Why a key cannot be used for a request now.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    #[error("this key was used for another request, which is run {run}; use a new key for a new request")]
    KeyReused { run: RunId },
    #[error("a request with the same key is still being accepted; try again")]
    Busy,
    #[error(transparent)]
    File(#[from] EntryFileError),
    #[error(transparent)]
    Log(#[from] LogError),
}

/// The result of looking up a key.
#[derive(Debug)]
pub enum RequestEntry {
    Before(RunId),
    /// No run; one may be created as long as the entry is held.
    Free(Entry),
}

/// Looks a key up, and waits for the process that holds it.
pub fn find(
    data: &DataFolder,
    log: &FileLog,
    key: &RequestKey,
    fingerprint: blake3::Hash,
) -> Result<RequestEntry, EntryError> {
    let mut entry = Entry::take(&key.path(data))?;
    let Some(noted) = entry.noted()? else { return Ok(RequestEntry::Free(entry)) };
    if !was_made(log, noted.run)? {
        return Ok(RequestEntry::Free(entry));
    }
    entry.end = End::Stays;
    if noted.fingerprint == fingerprint {
        Ok(RequestEntry::Before(noted.run))
    } else {
        Err(EntryError::KeyReused { run: noted.run })
    }
}

/// Whether a run was ever accepted; it may be gone since.
pub fn was_made(log: &FileLog, run: RunId) -> Result<bool, LogError> {
    match log.head(run) {
        Ok(head) => Ok(head.next_seq > Seq(1)),
        // A damaged first event was never reported to any client.
        Err(LogError { kind: LogErrorKind::Damaged(damage), .. }) => Ok(damage.seq != Seq(1)),
        Err(error) => match error.class() {
            ErrorClass::NotFound => Ok(false),
            ErrorClass::Gone => Ok(true),
            ErrorClass::Usage
            | ErrorClass::Conflict
            | ErrorClass::Busy
            | ErrorClass::StorageFull
            | ErrorClass::Internal => Err(error),
        },
    }
}

/// The content of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Noted {
    run: RunId,
    fingerprint: blake3::Hash,
}

impl Noted {
    /// None for an entry that was never written completely.
    fn parse(text: &str) -> Option<Self> {
        let (run, fingerprint) = text.strip_suffix('\n')?.split_once(' ')?;
        Some(Self { run: run.parse().ok()?, fingerprint: blake3::Hash::from_hex(fingerprint).ok()? })
    }
}

/// The locked entry of a key: no other process reads or changes it.
#[derive(Debug)]
pub struct Entry {
    path: PathBuf,
    file: File,
    end: End,
}

/// What happens to an entry that is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Stays,
    /// It names no run.
    Goes,
}

impl Drop for Entry {
    fn drop(&mut self) {
        match self.end {
            End::Stays => {}
            End::Goes => drop(fs::remove_file(&self.path)),
        }
    }
}

impl Entry {
    fn take(path: &Path) -> Result<Self, EntryError> {
        let locked = || {
            let file = open(path)?;
            Ok((lock(&file, path)?, file))
        };
        let is_transient = |tried: &io::Result<_>| matches!(tried, Ok((Locked::Replaced | Locked::Held, _)));
        match retry(CLAIM_TIMEOUT, POLL_INTERVAL, locked, is_transient) {
            Ok((Locked::Ours, file)) => Ok(Self { path: path.to_owned(), file, end: End::Goes }),
            Ok((Locked::Replaced | Locked::Held, _)) => Err(EntryError::Busy),
            Err(error) => Err(EntryFileError { path: path.to_owned(), error }.into()),
        }
    }

    fn noted(&self) -> Result<Option<Noted>, EntryFileError> {
        let mut text = Vec::new();
        let read = (&self.file).take(ENTRY_MAX).read_to_end(&mut text);
        read.map_err(|error| EntryFileError { path: self.path.clone(), error })?;
        Ok(std::str::from_utf8(&text).ok().and_then(Noted::parse))
    }

    /// Names the run that is created next. When this returns, that is on disk.
    pub fn name(&mut self, run: RunId, fingerprint: blake3::Hash) -> Result<(), EntryFileError> {
        let text = format!("{run} {}\n", fingerprint.to_hex());
        let written = (|| {
            self.file.set_len(0)?;
            self.file.write_all_at(text.as_bytes(), 0)?;
            self.file.sync_all()?;
            sync_folder(self.path.parent().unwrap_or(Path::new(".")))
        })();
        written.map_err(|error| EntryFileError { path: self.path.clone(), error })?;
        // From now on the Log shows whether the run was created.
        self.end = End::Stays;
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let open = || {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(path)
    };
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(Path::new("."));
            files::create_private_folder(folder)?;
            sync_folder(folder.parent().unwrap_or(Path::new(".")))?;
            open()
        }
        other => other,
    }
}

/// The result of trying to lock an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Locked {
    Ours,
    Held,
    /// It was removed meanwhile, so other processes hold another one.
    Replaced,
}

fn lock(file: &File, path: &Path) -> io::Result<Locked> {
    Ok(match file_lock::try_lock(file)? {
        LockState::Held => Locked::Held,
        LockState::Acquired if file_lock::is_at(file, path)? => Locked::Ours,
        LockState::Acquired => Locked::Replaced,
    })
}

/// Removes entries that are old and whose run is gone; returns how many. Entries that cannot be removed are retried
/// next time.
pub fn tidy(data: &DataFolder, now: Timestamp) -> usize {
    let entries = fs::read_dir(data.requests()).into_iter().flatten().flatten();
    entries.filter(|entry| tidy_entry(data, &entry.path(), now).is_some()).count()
}

/// None where it stays.
fn tidy_entry(data: &DataFolder, path: &Path, now: Timestamp) -> Option<()> {
    let name = path.file_name()?.to_str()?;
    blake3::Hash::from_hex(name).ok()?;
    let is_old = |found: &fs::Metadata| {
        let written = found.modified().ok().and_then(|written| Timestamp::try_from(written).ok());
        written.and_then(|written| now.millis_since(written)).is_some_and(|age| age > KEPT_MS)
    };
    fs::symlink_metadata(path).ok().filter(|found| found.is_file() && is_old(found))?;
    let file = open(path).ok()?;
    if lock(&file, path).ok()? != Locked::Ours {
        return None;
    }
    let mut entry = Entry { path: path.to_owned(), file, end: End::Stays };
    // It may be a new one by now.
    entry.file.metadata().ok().filter(is_old)?;
    let noted = entry.noted().ok()?;
    if noted.is_some_and(|noted| data.run(noted.run).events().exists()) {
        return None;
    }
    entry.end = End::Goes;
    Some(())
}
