//! The lock of the folder of private installs: one process at a time changes it.

use std::fs::File;
use std::time::Duration;

use skillrun_base::file_lock::{self, LockState};
use skillrun_base::wait;
use skillrun_engine::install::Programs;

use super::error::InstallError;

/// How often the lock is retried.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// Held until the file is dropped. `tell` is called once if another process has the lock.
pub(super) fn lock(
    places: Programs<'_>,
    timeout: Duration,
    is_stopped: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(),
) -> Result<File, InstallError> {
    let path = places.lock();
    let file = File::create(&path).map_err(InstallError::file(&path, "locked"))?;
    let mut is_told = false;
    let attempt = || match file_lock::try_lock(&file).map_err(InstallError::file(&path, "locked"))? {
        LockState::Held if is_stopped() => Err(InstallError::Stopped),
        LockState::Held => {
            if !is_told {
                tell();
                is_told = true;
            }
            Ok(LockState::Held)
        }
        LockState::Acquired => Ok(LockState::Acquired),
    };
    match wait::retry(timeout, TRY_AGAIN, attempt, |tried| matches!(tried, Ok(LockState::Held)))? {
        LockState::Acquired => Ok(file),
        LockState::Held => Err(InstallError::Busy(timeout)),
    }
}
