//! Folders that are no longer needed are removed when everything was measured. Where many files were removed a moment ago,
//! some file systems take a hundred times as long to make new ones, and what is measured then is that.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use skillrun_base::sync::lock;

/// Files above this size are emptied at once: their content would take space, and be written to the disk meanwhile.
const LARGE: u64 = 1 << 20;

static WAITING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn waiting() -> MutexGuard<'static, Vec<PathBuf>> {
    lock(&WAITING)
}

/// Puts a folder aside, so that its name is free.
pub(crate) fn remove(folder: &Path) {
    let mut waiting = waiting();
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(format!("-removed-{}", waiting.len()));
    let aside = folder.with_file_name(name);
    empty(folder);
    // What cannot be put aside is in the way of the next one, so it goes at once.
    match fs::rename(folder, &aside) {
        Ok(()) => waiting.push(aside),
        Err(_) => drop(fs::remove_dir_all(folder)),
    }
}

fn empty(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            empty(&entry.path());
        } else if kind.is_file() && entry.metadata().is_ok_and(|data| data.len() > LARGE) {
            OpenOptions::new().write(true).truncate(true).open(entry.path()).ok();
        }
    }
}

/// Now.
pub(crate) fn remove_all() {
    for folder in waiting().drain(..) {
        fs::remove_dir_all(folder).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_free_at_once_and_the_files_go_later() {
        let folder = std::env::temp_dir().join(format!("skillrun-later-{}", std::process::id()));
        for _ in 0..2 {
            fs::create_dir_all(folder.join("inner")).unwrap();
            fs::write(folder.join("inner/large"), vec![0; 2 << 20]).unwrap();
            fs::write(folder.join("small"), "text").unwrap();
            remove(&folder);
            assert!(!folder.exists());
        }
        let aside: Vec<_> = waiting().iter().filter(|path| path.to_string_lossy().contains("later")).cloned().collect();
        assert_eq!(aside.len(), 2);
        assert_eq!(fs::metadata(aside[0].join("inner/large")).unwrap().len(), 0);
        assert_eq!(fs::metadata(aside[1].join("small")).unwrap().len(), 4);
        remove_all();
        assert!(aside.iter().all(|path| !path.exists()));
    }
}
