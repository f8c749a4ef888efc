//! The engine's folder for temporary files goes with it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes the folder and all that is in it. What stays does so in a folder for temporary files.
pub(crate) fn remove(folder: &Path) {
    if fs::remove_dir_all(folder).is_err() {
        unlock(folder);
        fs::remove_dir_all(folder).ok();
    }
}

/// Folders that their owner may not write to keep what is in them; some programs make such folders for their caches.
fn unlock(folder: &Path) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // Never through a link: what it leads to is not ours.
        if fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir()) {
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).ok();
            folders.extend(fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
}
