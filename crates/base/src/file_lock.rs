//! Locks between processes, on files and folders. The system releases a lock when the file is closed, also when the
//! process is killed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use crate::files::PRIVATE_FILE;
use crate::wait;

/// The result of trying to acquire a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockState {
    Acquired,
    /// Another open file holds the lock.
    Held,
}

/// Opens a file that exists only to be locked, and creates it if it is missing. Its content is left unchanged.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(PRIVATE_FILE).open(path)
}

/// Tries to acquire the lock.
pub fn try_lock(file: &File) -> io::Result<LockState> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(LockState::Acquired),
            Err(TryLockError::WouldBlock) => return Ok(LockState::Held),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Waits for the lock, without a time limit: only for locks that every process holds for a moment.
pub fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Waits for the lock, at most for the time `within`; tries again after each `step`.
pub fn lock_within(file: &File, within: Duration, step: Duration) -> io::Result<LockState> {
    wait::retry(within, step, || try_lock(file), |tried| matches!(tried, Ok(LockState::Held)))
}

/// Whether a path still leads to this open file. A process that locks a file checks it afterwards: another process may
/// have removed the file in the meantime, and then other processes lock another one.
pub fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(1);

    #[test]
    fn a_lock_excludes_other_open_files_until_it_is_closed() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        let (first, second) = (open(&path).expect("opened"), open(&path).expect("opened"));
        assert_eq!(try_lock(&first).expect("tried"), LockState::Acquired);
        assert_eq!(try_lock(&second).expect("tried"), LockState::Held);
        assert_eq!(lock_within(&second, STEP * 5, STEP).expect("tried"), LockState::Held);
        let third = open(&path).expect("opened");
        std::thread::scope(|scope| {
            // Each closes its file when it has the lock, so that the order does not matter.
            let waiting = scope.spawn(move || lock(&second));
            let polling = scope.spawn(move || lock_within(&third, Duration::from_secs(60), STEP));
            drop(first);
            waiting.join().expect("no panic").expect("locked");
            assert_eq!(polling.join().expect("no panic").expect("tried"), LockState::Acquired);
        });
    }

    #[test]
    fn a_folder_can_be_locked() {
        let dir = tempfile::tempdir().expect("a folder");
        let open = || File::open(dir.path()).expect("opened");
        let first = open();
        lock(&first).expect("locked");
        assert_eq!(try_lock(&open()).expect("tried"), LockState::Held);
    }

    #[test]
    fn a_removed_or_replaced_file_is_recognized() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        let file = open(&path).expect("opened");
        assert!(is_at(&file, &path).expect("checked"));
        fs::remove_file(&path).expect("removed");
        assert!(!is_at(&file, &path).expect("checked"));
        open(&path).expect("another one");
        assert!(!is_at(&file, &path).expect("checked"));
    }
}
