//! The user's own file, which other processes may read and write too.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;
use std::time::Duration;

use skillrun_base::file_lock::{self, LockState};
use skillrun_base::whole_file::{FileDraft, SyncLevel};

/// How often the lock is retried.
const TRY_AGAIN: Duration = Duration::from_millis(50);

/// Two runs must not check and write at the same time. The lock is on the folder, so that no file is created for it.
pub(super) fn lock(users: &Path, timeout: Duration) -> io::Result<File> {
    let folder = File::open(parent(users))?;
    match file_lock::lock_within(&folder, timeout, TRY_AGAIN)? {
        LockState::Acquired => Ok(folder),
        LockState::Held => {
            let message = format!("another process has locked {}", parent(users).display());
            Err(io::Error::new(io::ErrorKind::WouldBlock, message))
        }
    }
}

/// Replaced whole or not at all, with its mode and owner, also after a power failure. Called with the lock held.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let was = fs::metadata(path)?;
    // The same name for every process, so that a file left by a killed process is found and removed by the next.
    let (draft, mut file) = FileDraft::create(path, ".skillrun.tmp")?;
    file.write_all(bytes)?;
    keep_owner(&file, &was)?;
    file.set_permissions(Permissions::from_mode(was.mode() & 0o777))?;
    draft.keep_synced(&file, SyncLevel::ContentAndName)
}

/// A user could not read a login that has become another user's file.
pub(super) fn keep_owner(file: &File, was: &Metadata) -> io::Result<()> {
    let is = file.metadata()?;
    if (is.uid(), is.gid()) == (was.uid(), was.gid()) {
        return Ok(());
    }
    fchown(file, Some(was.uid()), Some(was.gid()))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}
