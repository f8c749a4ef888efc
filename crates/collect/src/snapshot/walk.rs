//! The tree of a workspace in the order of a listing.
//!
//! Every step goes from an open folder to a name in it and never follows a link, so nothing outside the workspace is
//! reached however the tree is rearranged meanwhile, and no path is too long for the kernel. The folders on the path
//! form a bounded stack; one that is moved away during the walk is walked to its end.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use skillrun_evidence::OsText;

use super::entry::{Entry, Kind};
use super::error::SnapshotError;
use super::limits::SnapshotLimits;
use super::rules::{Is, Rules};
use crate::secrets::Secrets;

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(super) struct Walk<'a> {
    rules: &'a Rules,
    limits: &'a SnapshotLimits,
    secrets: &'a Secrets,
    stack: Vec<Level>,
    /// The path of the last entry.
    path: Vec<u8>,
    listed: u64,
    path_bytes: u64,
    truncated: bool,
    hidden: u64,
}

/// A folder on the path.
#[derive(Debug)]
struct Level {
    folder: OwnedFd,
    names: Names,
    /// How many of the names are done.
    done: usize,
    /// The length of this folder's path within the path of the walk.
    path_len: usize,
}

impl Level {
    fn last_name(&self) -> Option<&[u8]> {
        self.names.get(self.done.checked_sub(1)?)
    }
}

/// Why a folder is not entered.
enum Closed {
    Vanished,
    Unreadable(String),
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        root: &Path,
        rules: &'a Rules,
        limits: &'a SnapshotLimits,
        secrets: &'a Secrets,
        breathe: &mut dyn FnMut(),
    ) -> Result<Self, SnapshotError> {
        let unreadable = |errno: Errno| SnapshotError::read(root, errno);
        // The root itself may be a link: the user chose it as the workspace.
        let folder = retry_on_intr(|| rustix::fs::open(root, FOLDER, Mode::empty())).map_err(unreadable)?;
        let (stack, path) = (Vec::new(), Vec::new());
        let mut walk =
            Self { rules, limits, secrets, stack, path, listed: 0, path_bytes: 0, truncated: false, hidden: 0 };
        if let Some(names) = walk.names(&folder, breathe).map_err(unreadable)? {
            walk.stack.push(Level { folder, names, done: 0, path_len: 0 });
        }
        Ok(walk)
    }

    /// Whether folders were skipped because there are too many entries.
    pub(super) fn truncated(&self) -> bool {
        self.truncated
    }

    /// How many entries were excluded because their names contain a secret.
    pub(super) fn hidden(&self) -> u64 {
        self.hidden
    }

    /// Whether the root itself was skipped for that reason, at the beginning of a walk.
    pub(super) fn is_blind(&self) -> bool {
        self.truncated && self.stack.is_empty()
    }

    /// The next entry. An entry of a file is complete except for the hash: see [`Walk::open`].
    pub(super) fn next(&mut self, breathe: &mut dyn FnMut()) -> Option<Entry> {
        loop {
            breathe();
            let depth = self.stack.len().checked_sub(1)?;
            let level = &mut self.stack[depth];
            let Some(name) = level.names.get(level.done) else {
                self.stack.pop();
                continue;
            };
            level.done += 1;
            self.path.truncate(level.path_len);
            if !self.path.is_empty() {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name);
            if let Some(entry) = self.examine(breathe) {
                return Some(entry);
            }
        }
    }

    /// Examines the last name of the top level. None: it has vanished, or a rule excludes it.
    fn examine(&mut self, breathe: &mut dyn FnMut()) -> Option<Entry> {
        let level = self.stack.last()?;
        let name = OsStr::from_bytes(level.last_name()?);
        let path = || OsText::from(OsStr::from_bytes(&self.path));
        let stat = match retry_on_intr(|| rustix::fs::statat(&level.folder, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return None,
            Err(errno) => return Some(Entry { error: Some(in_words(errno)), ..Entry::unknown(path()) }),
        };
        let mut entry = Entry::new(path(), &stat);
        let is = if entry.kind == Kind::Folder { Is::Folder } else { Is::Other };
        if self.rules.leaves_out(entry.path.as_path(), is) {
            return None;
        }
        if self.secrets.are_in(&self.path) {
            self.hidden += 1;
            return None;
        }
        match entry.kind {
            Kind::Folder => match self.descend(&mut entry, breathe) {
                Ok(level) => self.stack.push(level),
                Err(Closed::Vanished) => return None,
                Err(Closed::Unreadable(why)) => entry.error = Some(why),
            },
            Kind::Symlink => match rustix::fs::readlinkat(&level.folder, name, Vec::new()) {
                Ok(target) => {
                    let mut target = target.into_bytes();
                    self.secrets.mask(&mut target);
                    entry.target = Some(OsStr::from_bytes(&target).into());
                }
                Err(Errno::NOENT) => return None,
                Err(errno) => entry.error = Some(in_words(errno)),
            },
            Kind::File | Kind::Pipe | Kind::Socket | Kind::CharDevice | Kind::BlockDevice | Kind::Unknown => {}
        }
        Some(entry)
    }

    /// Opens the file of the last entry. It may be something else by now: check what was opened.
    pub(super) fn open(&self) -> Result<File, Errno> {
        let level = self.stack.last().ok_or(Errno::NOENT)?;
        let name = level.last_name().ok_or(Errno::NOENT)?;
        retry_on_intr(|| rustix::fs::openat(&level.folder, name, FILE, Mode::empty())).map(File::from)
    }

    fn descend(&mut self, entry: &mut Entry, breathe: &mut dyn FnMut()) -> Result<Level, Closed> {
        let closed = |errno| match errno {
            Errno::NOENT => Closed::Vanished,
            // It was replaced between the check and the opening.
            Errno::LOOP | Errno::NOTDIR => Closed::Unreadable("replaced while it was being opened".to_owned()),
            errno => Closed::Unreadable(in_words(errno)),
        };
        if self.stack.len() >= self.limits.depth || self.path.len() > self.limits.path {
            return Err(Closed::Unreadable("folders are nested too deep".to_owned()));
        }
        let parent = self.stack.last().ok_or(Closed::Vanished)?;
        let name = parent.last_name().ok_or(Closed::Vanished)?;
        let flags = FOLDER.union(OFlags::NOFOLLOW);
        let folder =
            retry_on_intr(|| rustix::fs::openat(&parent.folder, name, flags, Mode::empty())).map_err(closed)?;
        entry.learn(&rustix::fs::fstat(&folder).map_err(closed)?);
        match self.names(&folder, breathe).map_err(closed)? {
            Some(names) => Ok(Level { folder, names, done: 0, path_len: self.path.len() }),
            None => Err(Closed::Unreadable("too many entries".to_owned())),
        }
    }

    /// The names in a folder, in order. None: there are more than fit into the listing, or it is full already.
    fn names(&mut self, folder: &OwnedFd, breathe: &mut dyn FnMut()) -> Result<Option<Names>, Errno> {
        if self.truncated {
            return Ok(None);
        }
        let (mut listed, mut path_bytes) = (self.listed, self.path_bytes);
        let mut names = Names::default();
        for found in Dir::read_from(folder)? {
            let found = found?;
            let name = found.file_name().to_bytes();
            if name == b"." || name == b".." || self.rules.leaves_out_name(name, self.stack.len()) {
                continue;
            }
            listed += 1;
            if listed % 1024 == 0 {
                breathe();
            }
            path_bytes += (self.path.len() + 1 + name.len()) as u64;
            if listed > self.limits.entries || path_bytes > self.limits.path_bytes {
                self.truncated = true;
                return Ok(None);
            }
            names.push(name);
        }
        names.sort();
        (self.listed, self.path_bytes) = (listed, path_bytes);
        Ok(Some(names))
    }
}

/// Names of one folder in one buffer: there may be a million.
#[derive(Debug, Default)]
struct Names {
    bytes: Vec<u8>,
    /// Begin and length of each.
    spans: Vec<(u32, u32)>,
}

impl Names {
    fn push(&mut self, name: &[u8]) {
        // The limit `path_bytes` is far below the range of a u32; a larger limit would only lose names.
        if let (Ok(at), Ok(len)) = (u32::try_from(self.bytes.len()), u32::try_from(name.len())) {
            self.bytes.extend_from_slice(name);
            self.spans.push((at, len));
        }
    }

    fn sort(&mut self) {
        let Self { bytes, spans } = self;
        spans.sort_unstable_by_key(|span| slice(bytes, *span));
        bytes.shrink_to_fit();
        spans.shrink_to_fit();
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        self.spans.get(index).map(|span| slice(&self.bytes, *span))
    }
}

fn slice(bytes: &[u8], (at, len): (u32, u32)) -> &[u8] {
    &bytes[at as usize..(at + len) as usize]
}

/// Why something could not be read, as recorded in an entry.
pub(super) fn in_words(error: impl Into<io::Error>) -> String {
    error.into().to_string()
}
