//! Folders that tests of skills and trials of engines left below `DATA/tests`: kept for the user to examine, or left by
//! a process that was killed. They are removed after a week.
//!
//! ```text
//! test-*     a data folder
//! engine-*   one data folder per scenario: <scenario>/data
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use skillrun_model::Timestamp;

use super::carry_out::{LOGIN_KEPT_MS, remove_tree};
use super::measure::runs;
use crate::data_folder::DataFolder;
use crate::login;
use crate::owner_sockets::crashed;
use skillrun_model::IgnoredError;

const KEPT_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// What cannot be removed is retried next time.
pub(super) fn remove_old(data: &DataFolder, now: Timestamp) {
    for folder in folders(&data.tests()) {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let inner = if name.starts_with("test-") {
            vec![DataFolder::new(&folder)]
        } else if name.starts_with("engine-") {
            folders(&folder).into_iter().map(|scenario| DataFolder::new(scenario.join("data"))).collect()
        } else {
            continue;
        };
        if is_older(&folder, KEPT_MS, now) && !inner.iter().any(is_owned) {
            remove(&folder, &inner, now).ignored();
        }
    }
}

fn remove(folder: &Path, inner: &[DataFolder], now: Timestamp) -> io::Result<()> {
    for data in inner {
        for run in runs(data)? {
            login::give_up(data, run)?;
        }
    }
    // A login that was not copied back to the user stays as long as that of any other run.
    let has_login = inner.iter().any(|data| fs::read_dir(data.logins()).is_ok_and(|mut files| files.next().is_some()));
    if has_login && !is_older(folder, LOGIN_KEPT_MS, now) {
        return Ok(());
    }
    remove_tree(folder)
}

/// Whether a process may be working there: any process that is not known to be gone.
fn is_owned(data: &DataFolder) -> bool {
    let gone = crashed(data);
    let entries = fs::read_dir(data.owners()).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sockets = entries.filter(|path| path.extension().is_some_and(|extension| extension == "sock"));
    sockets.any(|socket| !gone.contains(&socket))
}

/// Neither the folder nor its list of runs was changed for this long. A clock that was set back makes nothing old.
fn is_older(folder: &Path, limit_ms: u64, now: Timestamp) -> bool {
    let changed = |path: &Path| fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
    let last = changed(folder).max(changed(&DataFolder::new(folder).runs()));
    let last = last.and_then(|last| Timestamp::try_from(last).ok());
    last.and_then(|last| now.millis_since(last)).is_some_and(|age| age > limit_ms)
}

/// Folders in a folder, without links.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}
