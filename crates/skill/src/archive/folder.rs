//! A folder of installed skills: its lock, the leftovers of killed processes, and its content.
//!
//! ```text
//! NAME/                    a skill
//! .skillrun-new/           being unpacked
//! .skillrun-old-NAME/      the one before, while it is being replaced
//! .skillrun-gone/          being removed
//! ```
//!
//! The folder itself is locked while it is changed, so a hidden folder that exists then was left by a process that
//! died.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::error::{ArchiveError, ArchiveErrorKind};
use crate::search::{FoundSkill, Listing, SearchFolder, SearchPath, SkillOrigin};

const NEW: &str = ".skillrun-new";
const OLD: &str = ".skillrun-old-";
const GONE: &str = ".skillrun-gone";

/// A folder that no other process changes as long as this value lives.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
}

impl Held {
    /// Waits until no other process holds the lock, and cleans the folder up.
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let lock = File::open(path)?;
        lock.lock()?;
        let held = Self { path: path.to_owned(), _lock: lock };
        held.tidy()?;
        Ok(held)
    }

    fn tidy(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name == NEW || name == GONE {
                fs::remove_dir_all(entry.path())?;
            } else if let Some(replaced) = name.strip_prefix(OLD) {
                let place = self.path.join(replaced);
                // Killed between the two renames: the previous skill is restored.
                if place.symlink_metadata().is_err() {
                    fs::rename(entry.path(), place)?;
                } else {
                    fs::remove_dir_all(entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// Where to unpack.
    pub(super) fn new_folder(&self) -> PathBuf {
        self.path.join(NEW)
    }

    /// Moves the unpacked skill to its place.
    pub(super) fn place(&self, name: &str) -> io::Result<PathBuf> {
        let place = self.path.join(name);
        let old = self.path.join(format!("{OLD}{name}"));
        let replaces = place.symlink_metadata().is_ok();
        if replaces {
            fs::rename(&place, &old)?;
        }
        if let Err(error) = fs::rename(self.new_folder(), &place) {
            if replaces {
                fs::rename(&old, &place).ok();
            }
            return Err(error);
        }
        if replaces {
            // The skill is already replaced; leftovers that cannot be removed now are removed the next time.
            fs::remove_dir_all(&old).ok();
        }
        Ok(place)
    }

    fn remove(&self, root: &Path) -> io::Result<()> {
        // By renaming first, so that it exists completely or not at all.
        let gone = self.path.join(GONE);
        fs::rename(root, &gone)?;
        fs::remove_dir_all(gone)
    }
}

fn listing(folder: &Path) -> Listing {
    SearchPath::new(vec![SearchFolder { path: folder.to_owned(), origin: SkillOrigin::Path }]).list()
}

/// The skills in a folder, by name.
pub fn installed(folder: &Path) -> Vec<FoundSkill> {
    listing(folder).skills
}

/// Removes a skill from a folder and returns its former path.
pub fn remove(name: &str, folder: &Path) -> Result<PathBuf, ArchiveError> {
    let failed = |kind: ArchiveErrorKind| ArchiveError::new(folder, kind);
    let not_there = || failed(ArchiveErrorKind::NotInstalled(name.to_owned()));
    if !folder.is_dir() {
        return Err(not_there());
    }
    let held = Held::take(folder).map_err(|e| failed(e.into()))?;
    let found = listing(folder).skills.into_iter().find(|found| found.name == name).ok_or_else(not_there)?;
    if found.root.is_symlink() {
        return Err(failed(ArchiveErrorKind::IsLink(name.to_owned())));
    }
    held.remove(&found.root).map_err(|e| ArchiveError::new(&found.root, e))?;
    Ok(found.root)
}
