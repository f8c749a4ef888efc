//! The folder to which changes are applied. Every step goes from an open folder to a name in it and follows no link, so
//! that nothing outside is read or written, whatever the folder has in it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, linkat, mkdirat, openat, readlinkat, renameat, renameat_with,
    statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use skillrun_base::file_lock;
use skillrun_model::{IgnoredError, RunId};

use super::net::{Content, NetChange};
use super::{ApplyError, NAMED, text};
use crate::artifacts::Root;
use crate::data_folder::RunFolder;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);
const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How a path of the target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// As the run found it.
    Before,
    /// As the run left it.
    After,
    Other,
}

#[derive(Debug)]
pub(super) struct Target {
    path: PathBuf,
    root: OwnedFd,
}

/// The folder of a path, and its name in it.
struct Place<'a> {
    folder: Option<OwnedFd>,
    root: &'a OwnedFd,
    name: &'a OsStr,
}

impl Place<'_> {
    fn folder(&self) -> &OwnedFd {
        self.folder.as_ref().unwrap_or(self.root)
    }
}

impl Target {
    /// The folder itself may be reached through a link: the caller vouches for it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { path: path.to_owned(), root: rustix::fs::open(path, flags, Mode::empty())? })
    }

    /// A lock on the folder itself, which leaves no file.
    pub(super) fn lock(&self) -> io::Result<File> {
        // Opened again: a duplicate of the descriptor would hold the lock as long as both are open.
        let file = File::from(openat(&self.root, ".", FOLDER, Mode::empty())?);
        file_lock::lock(&file)?;
        Ok(file)
    }

    fn place<'a>(&'a self, path: &'a [u8]) -> Result<Place<'a>, Errno> {
        let mut names = path.split(|byte| *byte == b'/').map(OsStr::from_bytes);
        // A path has at least one name.
        let mut name = names.next().unwrap_or_default();
        let mut folder: Option<OwnedFd> = None;
        for next in names {
            folder = Some(openat(folder.as_ref().unwrap_or(&self.root), name, FOLDER, Mode::empty())?);
            name = next;
        }
        Ok(Place { folder, root: &self.root, name })
    }

    /// How each path is.
    pub(super) fn standing(&self, changes: &[NetChange]) -> Vec<Standing> {
        let removed: BTreeSet<&[u8]> =
            changes.iter().filter(|change| change.after == Content::Nothing).map(|change| &change.path[..]).collect();
        // Folders that have files the copy never had, such as ignored ones. They stay.
        let mut staying: BTreeSet<&[u8]> = BTreeSet::new();
        let mut standing: Vec<Standing> = Vec::with_capacity(changes.len());
        for change in changes.iter().rev() {
            let mut found = self.standing_of(change);
            let is_removal = change.before == Content::Folder && change.after == Content::Nothing;
            if found == Standing::Before && is_removal && !self.is_emptied(&change.path, &removed, &staying) {
                staying.insert(&change.path);
                found = Standing::After;
            }
            standing.push(found);
        }
        standing.reverse();
        standing
    }

    fn standing_of(&self, change: &NetChange) -> Standing {
        match self.is(&change.path, &change.after) {
            Ok(true) => return Standing::After,
            Ok(false) => {}
            Err(_) => return Standing::Other,
        }
        // A folder cannot replace a file in one step: a process that was killed in between leaves nothing.
        let is_between = || change.is_of_another_kind() && self.is(&change.path, &Content::Nothing).unwrap_or(false);
        match self.is(&change.path, &change.before) {
            Ok(true) => Standing::Before,
            Ok(false) | Err(_) if is_between() => Standing::Before,
            Ok(false) | Err(_) => Standing::Other,
        }
    }

    /// Whether a folder is empty when all that the run removed is gone.
    fn is_emptied(&self, path: &[u8], removed: &BTreeSet<&[u8]>, staying: &BTreeSet<&[u8]>) -> bool {
        let open = || -> Result<Dir, Errno> {
            let place = self.place(path)?;
            Dir::read_from(openat(place.folder(), place.name, FOLDER, Mode::empty())?)
        };
        let Ok(entries) = open() else { return false };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let below = [path, b"/", name].concat();
            if !removed.contains(&below[..]) || staying.contains(&below[..]) {
                return false;
            }
        }
        true
    }

    /// Whether a path has this content.
    fn is(&self, path: &[u8], content: &Content) -> io::Result<bool> {
        let place = match self.place(path) {
            Ok(place) => place,
            // There is no folder for it, or something else is in its place.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(*content == Content::Nothing),
            Err(errno) => return Err(errno.into()),
        };
        has_content(place.folder(), place.name, content)
    }

    /// Applies changes whose paths are as the run found them: all of them or none.
    pub(super) fn carry_out(&self, run: &RunFolder, run_id: RunId, changes: &[&NetChange]) -> Result<(), ApplyError> {
        let beside = OsString::from(format!(".skillrun-apply.{run_id}"));
        let failed =
            |path: &[u8], error: io::Error| ApplyError::Write { folder: self.path.clone(), path: text(path), error };
        // Left by a process that was killed. Nothing in it is needed: each path is in one of its two states, or is
        // about to be of another kind.
        skillrun_collect::tree::remove(&self.path.join(&beside)).ignored();
        let made =
            mkdirat(&self.root, &beside, Mode::RWXU).and_then(|()| openat(&self.root, &beside, FOLDER, Mode::empty()));
        let beside_fd = made.map_err(|errno| failed(beside.as_bytes(), errno.into()))?;
        let staged = Staged { target: self, beside: &beside_fd, kept: self.path.join(&beside) };
        let done = staged.carry_out(run, run_id, changes, &failed);
        match &done {
            Err(ApplyError::NotPutBack { .. }) => {}
            Ok(()) | Err(_) => skillrun_collect::tree::remove(&self.path.join(&beside)).ignored(),
        }
        done
    }
}

/// Whether a name in a folder has this content.
fn has_content(folder: &OwnedFd, name: &OsStr, content: &Content) -> io::Result<bool> {
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(*content == Content::Nothing),
        Err(errno) => return Err(errno.into()),
    };
    match (FileType::from_raw_mode(stat.st_mode), content) {
        (FileType::Directory, Content::Folder) => Ok(true),
        (FileType::Symlink, Content::Link { target }) => Ok(readlinkat(folder, name, Vec::new())?.as_bytes() == target),
        (FileType::RegularFile, Content::File { size, hash, is_executable }) => {
            let is_same = u64::try_from(stat.st_size) == Ok(*size) && (stat.st_mode & 0o111 != 0) == *is_executable;
            if !is_same {
                return Ok(false);
            }
            let mut hasher = blake3::Hasher::new();
            let file = File::from(openat(folder, name, READ, Mode::empty())?);
            hasher.update_reader(file.take(*size))?;
            Ok(hasher.finalize().to_hex().as_str() == hash)
        }
        (_, _) => Ok(false),
    }
}

/// Folder for new content, and for what it replaces.
struct Staged<'a> {
    target: &'a Target,
    beside: &'a OwnedFd,
    kept: PathBuf,
}

/// A step that can be undone.
enum Step<'a> {
    MadeFolder(&'a [u8]),
    RemovedFolder {
        path: &'a [u8],
        mode: Mode,
    },
    /// The old content has this name beside.
    MovedAway {
        path: &'a [u8],
        old: String,
    },
    MovedIn {
        path: &'a [u8],
        new: String,
    },
    /// The old content has the name of the new one beside.
    Exchanged {
        path: &'a [u8],
        new: String,
    },
    /// The old content has this name beside, and the new one its place.
    Replaced {
        path: &'a [u8],
        old: String,
    },
}

type Failed<'a> = &'a dyn Fn(&[u8], io::Error) -> ApplyError;

impl Staged<'_> {
    fn carry_out(
        &self,
        run: &RunFolder,
        run_id: RunId,
        changes: &[&NetChange],
        failed: Failed<'_>,
    ) -> Result<(), ApplyError> {
        let sources = Sources::open(run, run_id)?;
        let mut lost = Vec::new();
        for (number, change) in changes.iter().enumerate() {
            match &change.after {
                Content::File { .. } => match sources.read(change) {
                    Ok(file) => {
                        self.write_file(number, change, file).map_err(|error| failed(&change.path, error))?;
                        // Another process may have written to it in the meantime.
                        if !self.is_staged(number, change) {
                            lost.push(text(&change.path));
                        }
                    }
                    Err(_) => lost.push(text(&change.path)),
                },
                Content::Link { target } => {
                    symlinkat(OsStr::from_bytes(target), self.beside, new_name(number))
                        .map_err(|errno| failed(&change.path, errno.into()))?;
                }
                Content::Nothing | Content::Folder => {}
            }
        }
        sources.all_there(lost)?;
        // New content is on disk before a name leads to it.
        rustix::fs::syncfs(self.beside).ignored();
        let mut steps = Vec::new();
        let moved = self.move_all(changes, &mut steps);
        match moved {
            Ok(()) => {
                rustix::fs::syncfs(self.beside).ignored();
                Ok(())
            }
            Err((path, error)) => {
                self.undo(steps)?;
                Err(failed(&path, error))
            }
        }
    }

    fn write_file(&self, number: usize, change: &NetChange, mut from: File) -> io::Result<()> {
        let Content::File { size, is_executable, .. } = &change.after else { return Ok(()) };
        // As the umask says, or as the file is now.
        let mode = if *is_executable { 0o777 } else { 0o666 };
        let mut to = File::from(openat(self.beside, new_name(number), NEW, Mode::from_raw_mode(mode))?);
        io::copy(&mut (&mut from).take(*size), &mut to)?;
        if let Ok(place) = self.target.place(&change.path)
            && let Ok(stat) = statat(place.folder(), place.name, AtFlags::SYMLINK_NOFOLLOW)
            && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        {
            let bits = stat.st_mode & 0o777;
            let bits = if *is_executable { bits | (bits & 0o444) >> 2 } else { bits & !0o111 };
            to.set_permissions(Permissions::from_mode(bits))?;
        }
        to.flush()
    }

    fn is_staged(&self, number: usize, change: &NetChange) -> bool {
        let Content::File { hash, .. } = &change.after else { return true };
        let hashed = || -> io::Result<String> {
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(File::from(openat(self.beside, new_name(number), READ, Mode::empty())?))?;
            Ok(hasher.finalize().to_hex().to_string())
        };
        hashed().is_ok_and(|found| found == *hash)
    }

    fn move_all<'a>(&self, changes: &[&'a NetChange], steps: &mut Vec<Step<'a>>) -> Result<(), (Vec<u8>, io::Error)> {
        let at = |change: &NetChange| {
            let path = change.path.clone();
            move |error: io::Error| (path, error)
        };
        // What goes, the content of a folder before it.
        for (number, change) in changes.iter().enumerate().rev() {
            match &change.before {
                Content::Nothing => {}
                Content::Folder if change.after == Content::Folder => {}
                Content::Folder => self.remove_folder(change, steps).map_err(at(change))?,
                Content::File { .. } | Content::Link { .. } => match &change.after {
                    // It is replaced in one step.
                    Content::File { .. } | Content::Link { .. } => {}
                    Content::Nothing | Content::Folder => {
                        self.move_away(number, change, steps).map_err(at(change))?;
                    }
                },
            }
        }
        // What comes, a folder before its content.
        for (number, change) in changes.iter().enumerate() {
            match &change.after {
                Content::Nothing => {}
                Content::Folder => self.make_folders(&change.path, change.path.len(), steps).map_err(at(change))?,
                Content::File { .. } | Content::Link { .. } => {
                    let above = change.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                    self.make_folders(&change.path, above, steps).map_err(at(change))?;
                    let moved = match &change.before {
                        Content::Nothing | Content::Folder => self.move_in(number, change, steps),
                        Content::File { .. } | Content::Link { .. } => self.replace(number, change, steps),
                    };
                    moved.map_err(at(change))?;
                }
            }
        }
        Ok(())
    }

    fn remove_folder<'a>(&self, change: &'a NetChange, steps: &mut Vec<Step<'a>>) -> io::Result<()> {
        let place = self.target.place(&change.path)?;
        let mode = match statat(place.folder(), place.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Mode::from_raw_mode(stat.st_mode & 0o777),
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        match unlinkat(place.folder(), place.name, AtFlags::REMOVEDIR) {
            Ok(()) => {
                steps.push(Step::RemovedFolder { path: &change.path, mode });
                Ok(())
            }
            Err(Errno::NOENT) => Ok(()),
            // It has files that the copy never had, such as ignored ones; so it stays.
            Err(Errno::NOTEMPTY | Errno::EXIST) if change.after == Content::Nothing => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn move_away<'a>(&self, number: usize, change: &'a NetChange, steps: &mut Vec<Step<'a>>) -> io::Result<()> {
        let place = self.target.place(&change.path)?;
        let old = format!("old.{number}");
        match renameat(place.folder(), place.name, self.beside, old.as_str()) {
            Err(Errno::NOENT) => return Ok(()),
            other => other?,
        }
        let is_same = self.beside_is(&old, &change.before);
        steps.push(Step::MovedAway { path: &change.path, old });
        still(is_same)
    }

    /// Puts new content in the place of the old one, so that the path always has one of them.
    fn replace<'a>(&self, number: usize, change: &'a NetChange, steps: &mut Vec<Step<'a>>) -> io::Result<()> {
        let place = self.target.place(&change.path)?;
        let (new, old) = (new_name(number), format!("old.{number}"));
        match renameat_with(self.beside, new.as_str(), place.folder(), place.name, RenameFlags::EXCHANGE) {
            Ok(()) => {
                let is_same = self.beside_is(&new, &change.before);
                steps.push(Step::Exchanged { path: &change.path, new });
                still(is_same)
            }
            // The file system cannot exchange files.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(place.folder(), place.name, self.beside, old.as_str(), AtFlags::empty())?;
                let is_same = self.beside_is(&old, &change.before);
                renameat(self.beside, new.as_str(), place.folder(), place.name)?;
                steps.push(Step::Replaced { path: &change.path, old });
                still(is_same)
            }
            Err(errno) => Err(errno.into()),
        }
    }

    fn beside_is(&self, name: &str, content: &Content) -> io::Result<bool> {
        has_content(self.beside, OsStr::new(name), content)
    }

    fn move_in<'a>(&self, number: usize, change: &'a NetChange, steps: &mut Vec<Step<'a>>) -> io::Result<()> {
        let place = self.target.place(&change.path)?;
        // A file that appeared since the check is not replaced.
        let new = new_name(number);
        match renameat_with(self.beside, new.as_str(), place.folder(), place.name, RenameFlags::NOREPLACE) {
            // The file system does not know the flag.
            Err(Errno::INVAL | Errno::NOSYS) => match statat(place.folder(), place.name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => renameat(self.beside, new.as_str(), place.folder(), place.name)?,
                Ok(_) => return Err(Errno::EXIST.into()),
                Err(errno) => return Err(errno.into()),
            },
            other => other?,
        }
        steps.push(Step::MovedIn { path: &change.path, new });
        Ok(())
    }

    /// Makes the folders on the first `len` bytes of a path that do not exist.
    fn make_folders<'a>(&self, path: &'a [u8], len: usize, steps: &mut Vec<Step<'a>>) -> io::Result<()> {
        let ends = (1..=len).filter(|end| *end == len || path[*end] == b'/');
        for end in ends {
            let folder = &path[..end];
            let place = self.target.place(folder)?;
            match mkdirat(place.folder(), place.name, Mode::from_raw_mode(0o777)) {
                Ok(()) => steps.push(Step::MadeFolder(folder)),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Moves everything back, the last step first.
    fn undo(&self, steps: Vec<Step<'_>>) -> Result<(), ApplyError> {
        for step in steps.into_iter().rev() {
            let (path, undone) = match &step {
                Step::MadeFolder(path) => {
                    (*path, self.target.place(path).and_then(|at| unlinkat(at.folder(), at.name, AtFlags::REMOVEDIR)))
                }
                Step::RemovedFolder { path, mode } => {
                    (*path, self.target.place(path).and_then(|at| mkdirat(at.folder(), at.name, *mode)))
                }
                Step::MovedAway { path, old } => {
                    let back = |at: Place<'_>| renameat(self.beside, old.as_str(), at.folder(), at.name);
                    (*path, self.target.place(path).and_then(back))
                }
                Step::Exchanged { path, new } => {
                    let back = |at: Place<'_>| {
                        renameat_with(self.beside, new.as_str(), at.folder(), at.name, RenameFlags::EXCHANGE)
                    };
                    (*path, self.target.place(path).and_then(back))
                }
                Step::Replaced { path, old } => {
                    let back = |at: Place<'_>| renameat(self.beside, old.as_str(), at.folder(), at.name);
                    (*path, self.target.place(path).and_then(back))
                }
                Step::MovedIn { path, new } => {
                    let back = |at: Place<'_>| renameat(at.folder(), at.name, self.beside, new.as_str());
                    (*path, self.target.place(path).and_then(back))
                }
            };
            undone.map_err(|errno| ApplyError::NotPutBack {
                folder: self.target.path.clone(),
                path: text(path),
                kept: self.kept.clone(),
                error: errno.into(),
            })?;
        }
        Ok(())
    }
}

/// What was moved must be what was checked: another process may have written to it in between.
fn still(is_same: io::Result<bool>) -> io::Result<()> {
    if is_same? { Ok(()) } else { Err(io::Error::other("it is being changed")) }
}

fn new_name(number: usize) -> String {
    format!("new.{number}")
}

/// The workspace of the run.
struct Sources {
    run_id: RunId,
    root: Root,
}

impl Sources {
    fn open(run: &RunFolder, run_id: RunId) -> Result<Self, ApplyError> {
        let workspace = run.workspace();
        let root = Root::open(&workspace).map_err(|error| ApplyError::Target { path: workspace, error })?;
        Ok(Self { run_id, root })
    }

    /// The file that the run left, if it has the size of it.
    fn read(&self, change: &NetChange) -> io::Result<File> {
        let file = self.root.artifact(change.as_path())?;
        let is_same = matches!(&change.after, Content::File { size, .. } if file.metadata()?.len() == *size);
        if is_same { Ok(file) } else { Err(io::Error::other("changed")) }
    }

    fn all_there(&self, mut lost: Vec<String>) -> Result<(), ApplyError> {
        if lost.is_empty() {
            return Ok(());
        }
        let more = lost.len().saturating_sub(NAMED);
        lost.truncate(NAMED);
        Err(ApplyError::Lost { run: self.run_id, paths: lost, more })
    }
}

/// Whether the workspace still has what the run left there.
pub(super) fn check_sources(run: &RunFolder, run_id: RunId, changes: &[&NetChange]) -> Result<(), ApplyError> {
    let sources = Sources::open(run, run_id)?;
    let mut lost = Vec::new();
    for change in changes {
        let Content::File { hash, size, .. } = &change.after else { continue };
        let mut budget = *size;
        let found = sources.root.hash(change.as_path(), &mut budget);
        if !found.is_ok_and(|(_, found)| found == *hash) {
            lost.push(text(&change.path));
        }
    }
    sources.all_there(lost)
}
