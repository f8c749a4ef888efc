//! Whole folders, however deep: their disk usage, and their removal.
//!
//! An engine can nest folders so deep that no path and no number of descriptors suffices. So every step goes from an
//! open folder to a name in it, never through a link, and only the last few folders on the path are open. The way back
//! is `..`, and it is trusted only if it leads to the folder that was left.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

/// Maximum number of folders on the path that are open at once.
const OPEN: usize = 32;
/// Maximum number of names of folders still to be removed, on all levels together; one on each level is always allowed.
const WAITING: usize = 1_024;
/// Maximum number of names of folders still to be measured, on all levels together.
const WAITING_MEASURED: usize = 1_000_000;

pub(crate) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// A folder on the path.
pub(crate) struct Level {
    /// Its name in the folder above it.
    name: OsString,
    /// None while it is far up the path.
    folder: Option<OwnedFd>,
    /// Device and number.
    identity: (u64, u64),
    /// Folders in it that are still to be entered.
    waiting: Vec<OsString>,
}

/// The path from the root to the current folder.
pub(crate) struct Way {
    levels: Vec<Level>,
    waiting: usize,
}

impl Way {
    pub(crate) fn new() -> Self {
        Self { levels: Vec::new(), waiting: 0 }
    }

    pub(crate) fn enter(&mut self, name: OsString, folder: OwnedFd) -> io::Result<()> {
        let identity = identity(&folder)?;
        self.levels.push(Level { name, folder: Some(folder), identity, waiting: Vec::new() });
        if let Some(far) = self.levels.len().checked_sub(OPEN + 1) {
            self.levels[far].folder = None;
        }
        Ok(())
    }

    /// Goes back to the parent folder. Returns the folder that was left; none at the root.
    pub(crate) fn leave(&mut self) -> io::Result<Option<Level>> {
        let Some(left) = self.levels.pop() else { return Ok(None) };
        if let (Some(above), Some(below)) = (self.levels.last_mut(), &left.folder)
            && above.folder.is_none()
        {
            let folder = openat(below, c"..", FOLDER, Mode::empty())?;
            if identity(&folder)? != above.identity {
                return Err(io::Error::other("a folder was moved during the walk"));
            }
            above.folder = Some(folder);
        }
        Ok(Some(left))
    }

    /// The next folder to enter.
    pub(crate) fn next_waiting(&mut self) -> Option<OsString> {
        let next = self.levels.last_mut()?.waiting.pop()?;
        self.waiting -= 1;
        Some(next)
    }

    pub(crate) fn wait(&mut self, name: &OsStr) {
        if let Some(level) = self.levels.last_mut() {
            level.waiting.push(name.to_owned());
            self.waiting += 1;
        }
    }

    /// How many folders are still to be entered.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The current folder.
    pub(crate) fn here(&self) -> io::Result<&OwnedFd> {
        let here = self.levels.last().and_then(|level| level.folder.as_ref());
        here.ok_or_else(|| io::Error::other("the folder is not open"))
    }
}

fn identity(folder: &OwnedFd) -> io::Result<(u64, u64)> {
    let found = fstat(folder)?;
    Ok((found.st_dev, found.st_ino))
}

fn is_dots(name: &OsStr) -> bool {
    name == "." || name == ".."
}

/// The disk usage of a folder with its content, links as themselves. Entries that vanish meanwhile count as nothing,
/// and a folder that cannot be read counts as itself.
pub fn disk_bytes(root: &Path) -> io::Result<u64> {
    let found = match fs::symlink_metadata(root) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut bytes = on_disk(&found);
    if !found.is_dir() {
        return Ok(bytes);
    }
    let mut way = Way::new();
    if let Ok(folder) = rustix::fs::open(root, FOLDER, Mode::empty()) {
        way.enter(OsString::new(), folder)?;
        bytes = bytes.saturating_add(measure_here(&mut way)?);
    }
    while !way.levels.is_empty() {
        let Some(name) = way.next_waiting() else {
            way.leave()?;
            continue;
        };
        if let Ok(folder) = openat(way.here()?, &name, FOLDER, Mode::empty()) {
            way.enter(name, folder)?;
            bytes = bytes.saturating_add(measure_here(&mut way)?);
        }
    }
    Ok(bytes)
}

/// The disk usage of a file: its nominal size may be larger.
pub fn on_disk(found: &Metadata) -> u64 {
    found.blocks().saturating_mul(512)
}

/// Measures the current folder; its subfolders are queued.
fn measure_here(way: &mut Way) -> io::Result<u64> {
    let mut bytes = 0_u64;
    let Ok(entries) = Dir::read_from(way.here()?) else { return Ok(0) };
    for entry in entries {
        let Ok(entry) = entry else { break };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if is_dots(name) {
            continue;
        }
        let Ok(found) = statat(way.here()?, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        bytes = bytes.saturating_add(u64::try_from(found.st_blocks).unwrap_or(0).saturating_mul(512));
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            if way.waiting >= WAITING_MEASURED {
                return Err(io::Error::other(format!("more than {WAITING_MEASURED} folders are still to be measured")));
            }
            way.wait(name);
        }
    }
    Ok(bytes)
}

/// Removes a folder with everything in it, or a file. A link is removed, its target is not. A missing path is not an
/// error.
pub fn remove(path: &Path) -> io::Result<()> {
    let gone = |removed: io::Result<()>| match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return gone(fs::remove_file(path)),
        Err(error) => return gone(Err(error)),
    }
    let folder = match rustix::fs::open(path, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            fs::set_permissions(path, Permissions::from_mode(0o700))?;
            rustix::fs::open(path, FOLDER, Mode::empty())?
        }
        other => other?,
    };
    let mut way = Way::new();
    way.enter(OsString::new(), folder)?;
    while !way.levels.is_empty() {
        if let Some(name) = way.next_waiting() {
            if let Some(folder) = open_to_remove(way.here()?, &name)? {
                way.enter(name, folder)?;
            }
            continue;
        }
        clear_here(&mut way)?;
        if way.levels.last().is_some_and(|level| !level.waiting.is_empty()) {
            continue;
        }
        // It is empty.
        if let Some(left) = way.leave()?
            && !way.levels.is_empty()
        {
            unlink(way.here()?, &left.name, AtFlags::REMOVEDIR)?;
        }
    }
    gone(fs::remove_dir(path))
}

/// Removes everything but folders from the current folder; as many folders as allowed are queued.
fn clear_here(way: &mut Way) -> io::Result<()> {
    let here = way.here()?;
    let entries = match Dir::read_from(here) {
        Err(Errno::ACCESS) => {
            fchmod(here, Mode::RWXU)?;
            Dir::read_from(here)?
        }
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if is_dots(name) {
            continue;
        }
        let here = way.here()?;
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            kind = match statat(here, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => FileType::from_raw_mode(found.st_mode),
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
        }
        if kind == FileType::Directory {
            way.wait(name);
            if way.waiting >= WAITING {
                return Ok(());
            }
        } else {
            unlink(here, name, AtFlags::empty())?;
        }
    }
    Ok(())
}

fn unlink(folder: &OwnedFd, name: &OsStr, flags: AtFlags) -> io::Result<()> {
    let removed = match unlinkat(folder, name, flags) {
        // Some tools remove the write permission from their files.
        Err(Errno::ACCESS) => {
            fchmod(folder, Mode::RWXU)?;
            unlinkat(folder, name, flags)
        }
        other => other,
    };
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder that is to be removed. None: it is gone, or it was not a folder and has been removed.
fn open_to_remove(above: &OwnedFd, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    let opened = match openat(above, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            unlock(above, name)?;
            openat(above, name, FOLDER, Mode::empty())
        }
        other => other,
    };
    match opened {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) => unlink(above, name, AtFlags::empty()).map(|()| None),
        Err(error) => Err(error.into()),
    }
}

/// Gives the owner all rights to a folder. By a descriptor, so that no link is followed.
fn unlock(above: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(above, name, flags, Mode::empty()) {
        // The parent folder may lack permissions as well.
        Err(Errno::ACCESS) => {
            fchmod(above, Mode::RWXU)?;
            openat(above, name, flags, Mode::empty())
        }
        other => other,
    };
    match folder {
        Ok(folder) => {
            fs::set_permissions(format!("/proc/self/fd/{}", folder.as_raw_fd()), Permissions::from_mode(0o700))
        }
        // Reported when it is opened.
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Folders within a folder; no path reaches the last of them.
    fn deep(root: &Path, levels: usize) {
        fs::create_dir_all(root).expect("a folder");
        let mut at = rustix::fs::open(root, FOLDER, Mode::empty()).expect("open");
        for _ in 0..levels {
            rustix::fs::mkdirat(&at, "folder", Mode::RWXU).expect("a folder");
            at = openat(&at, "folder", FOLDER, Mode::empty()).expect("open");
        }
        rustix::fs::openat(&at, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).expect("a file");
    }

    #[test]
    fn a_folder_that_no_path_reaches_is_measured_and_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("root");
        deep(&root, 3_000);
        fs::symlink_metadata(root.join("folder/".repeat(3_000))).expect_err("or this test shows nothing");
        let folder = on_disk(&fs::symlink_metadata(&root).expect("there"));
        assert!(disk_bytes(&root).expect("measured") >= folder * 3_000);
        remove(&root).expect("removed");
        assert!(fs::symlink_metadata(&root).is_err());
        remove(&root).expect("nothing to do");
        assert_eq!(disk_bytes(&root).expect("nothing"), 0);
    }

    #[test]
    fn many_folders_side_by_side_and_within_each_other_are_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("root");
        for number in 0..1_100 {
            fs::create_dir_all(root.join(format!("{number}/a/b"))).expect("folders");
        }
        for number in 0..1_100 {
            fs::write(root.join(format!("7/a/{number}")), "x").expect("a file");
        }
        remove(&root).expect("removed");
        assert!(!root.exists());
    }

    #[test]
    fn links_go_and_what_they_lead_to_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let (root, users) = (dir.path().join("root"), dir.path().join("users"));
        fs::create_dir_all(root.join("a")).expect("a folder");
        fs::create_dir(&users).expect("a folder");
        fs::write(users.join("kept"), "x").expect("a file");
        symlink(&users, root.join("a/link")).expect("a link");
        symlink(&users, dir.path().join("link")).expect("a link");
        remove(&root).expect("removed");
        remove(&dir.path().join("link")).expect("removed");
        assert!(users.join("kept").exists() && !root.exists());
    }

    #[test]
    fn folders_that_their_maker_closed_are_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("a/b")).expect("folders");
        fs::write(root.join("a/b/file"), "x").expect("a file");
        for path in ["a/b", "a", ""] {
            fs::set_permissions(root.join(path), Permissions::from_mode(0o500)).expect("closed");
        }
        remove(&root).expect("removed");
        assert!(!root.exists());
    }
}
