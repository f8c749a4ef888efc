//! The disk usage of a folder, measured in small steps, so that the host stays responsive: a workspace can have millions
//! of files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, Mode, openat, statat};

use crate::tree::{FOLDER, Way};

/// Entries between two looks at the clock.
const ENTRIES: usize = 64;

/// Folders that are still to be entered; more of them are not measured. Each keeps its name in memory.
const WAITING: usize = 1_000_000;

/// A walk that is under way.
pub(super) struct Walk {
    way: Way,
    /// The folder that is being listed.
    listing: Option<Dir>,
    bytes: u64,
}

/// Whether a walk is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Paused,
    /// The size in bytes of the folder with everything in it.
    Done(u64),
}

impl Walk {
    /// A folder that does not exist has no bytes. Its path has no link in its last part.
    pub(super) fn new(root: &Path) -> Self {
        let mut walk = Self { way: Way::new(), listing: None, bytes: 0 };
        if let Ok(folder) = rustix::fs::open(root, FOLDER, Mode::empty())
            && walk.way.enter(OsString::new(), folder).is_ok()
        {
            walk.list();
        }
        walk
    }

    /// Goes on until this time. Entries that vanish meanwhile count as nothing; a folder that cannot be read counts as
    /// itself.
    pub(super) fn step(&mut self, until: Instant) -> Step {
        loop {
            for _ in 0..ENTRIES {
                if let Some(done) = self.entry() {
                    return Step::Done(done);
                }
            }
            if Instant::now() >= until {
                return Step::Paused;
            }
        }
    }

    /// The next entry, or the next folder.
    fn entry(&mut self) -> Option<u64> {
        match self.listing.as_mut().and_then(Dir::read) {
            Some(Ok(entry)) => self.count(OsStr::from_bytes(entry.file_name().to_bytes())),
            Some(Err(_)) => self.listing = None,
            None => {
                self.listing = None;
                match self.way.next_waiting() {
                    Some(name) => self.enter(name),
                    // A folder that was moved meanwhile ends the walk; the next one finds it where it is.
                    None => match self.way.leave() {
                        Ok(Some(_)) => {}
                        Ok(None) | Err(_) => return Some(self.bytes),
                    },
                }
            }
        }
        None
    }

    fn enter(&mut self, name: OsString) {
        let Ok(here) = self.way.here() else { return };
        if let Ok(folder) = openat(here, &name, FOLDER, Mode::empty())
            && self.way.enter(name, folder).is_ok()
        {
            self.list();
        }
    }

    fn list(&mut self) {
        self.listing = self.way.here().ok().and_then(|here| Dir::read_from(here).ok());
    }

    fn count(&mut self, name: &OsStr) {
        if name == "." || name == ".." {
            return;
        }
        let Ok(found) = self.way.here().map(|here| statat(here, name, AtFlags::SYMLINK_NOFOLLOW)) else { return };
        let Ok(found) = found else { return };
        let bytes = u64::try_from(found.st_blocks).unwrap_or(0).saturating_mul(512);
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            self.bytes = self.bytes.saturating_add(bytes);
            if self.way.waiting() < WAITING {
                self.way.wait(name);
            }
        } else {
            // A file with many names has its bytes once: each name counts for its share.
            let names = u64::from(found.st_nlink as u32).max(1);
            self.bytes = self.bytes.saturating_add(bytes / names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn measure(root: &Path) -> (u64, usize) {
        let mut walk = Walk::new(root);
        let mut steps = 1;
        loop {
            match walk.step(Instant::now()) {
                Step::Paused => steps += 1,
                Step::Done(bytes) => return (bytes, steps),
            }
        }
    }

    #[test]
    fn all_files_count_once_and_links_lead_nowhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        assert_eq!(measure(&root.join("missing")), (0, 1));
        let before = measure(root).0;
        fs::create_dir_all(root.join("a/b/c")).expect("folders");
        let folders = measure(root).0;
        fs::write(root.join("a/b/c/file"), vec![1; 1 << 20]).expect("written");
        let with_file = measure(root).0;
        assert!((1 << 20..(1 << 20) + 65_536).contains(&(with_file - folders)), "{before} {folders} {with_file}");
        fs::hard_link(root.join("a/b/c/file"), root.join("again")).expect("linked");
        std::os::unix::fs::symlink("/usr", root.join("link")).expect("linked");
        let again = measure(root).0;
        assert!(again < with_file + 65_536, "{again} {with_file}");
    }

    #[test]
    fn many_entries_take_many_steps() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..1000 {
            fs::write(folder.path().join(number.to_string()), "x").expect("written");
        }
        let (_, steps) = measure(folder.path());
        assert!(steps >= 10, "{steps}");
    }

    #[test]
    fn a_folder_is_measured_however_deep_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut deep = folder.path().to_owned();
        for _ in 0..200 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).expect("folders");
        fs::write(deep.join("file"), vec![1; 1 << 20]).expect("written");
        assert!(measure(folder.path()).0 >= 1 << 20);
    }
}
