//! What is copied of a folder, in order. Every step goes from an open folder to a name in it, and no name may be a link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat, statat};
use rustix::io::Errno;
use skillrun_base::files;
use skillrun_collect::is_engine_folder;
use skillrun_evidence::OsText;

use super::ignores::{RULES_MAX, Rules, is_ignored};
use super::repository::Repository;
use super::{CopyError, CopySource, LEFT_OUT_NAMED, LeftOut};

/// Folders within folders; each holds a descriptor open.
const DEPTH_MAX: usize = 64;

/// Longest path of a folder in a copy: the place of the copy is longer than that of the folder.
const PATH_MAX: usize = 2048;

/// Names that are looked at for each entry that may be copied: most files of a folder may be ignored.
const NAMES_PER_ENTRY: u64 = 4;

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// An entry that is copied.
#[derive(Debug)]
pub(super) struct Found<'a> {
    /// Relative to the folder that is copied.
    pub(super) path: &'a Path,
    pub(super) kind: Kind,
    folder: &'a OwnedFd,
    name: &'a OsStr,
}

#[derive(Debug)]
pub(super) enum Kind {
    Folder { mode: u32 },
    File { size: u64 },
    Link { target: OsString },
}

impl Found<'_> {
    /// Opens a file. It is not one any more if it was replaced.
    pub(super) fn open(&self) -> io::Result<File> {
        let file = File::from(openat(self.folder, self.name, FILE, Mode::empty())?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file")),
        }
    }
}

/// Which files of a folder are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    NotIgnored,
    /// The folder is ignored, or has settings of an engine.
    Tracked,
}

#[derive(Debug)]
pub(super) struct Walk<'a> {
    source: &'a CopySource<'a>,
    repository: Option<&'a Repository>,
    /// Of the folders on the path.
    rules: Vec<Rules>,
    /// Device and number of the data folder.
    data: Option<(u64, u64)>,
    entries: u64,
    names: u64,
    left_out: Vec<LeftOut>,
    left_out_count: u64,
}

type Each<'a> = &'a mut dyn FnMut(Found<'_>) -> Result<(), CopyError>;

impl<'a> Walk<'a> {
    pub(super) fn new(source: &'a CopySource<'a>, repository: Option<&'a Repository>) -> Self {
        let data = source.data.metadata().ok().map(|found| (found.dev(), found.ino()));
        let rules = repository.map(|repository| Rules::new(0, &repository.exclude)).into_iter().collect();
        let (left_out, left_out_count) = (Vec::new(), 0);
        Self { source, repository, rules, data, entries: 0, names: 0, left_out, left_out_count }
    }

    /// The first entries that are not copied, and the number of all of them. Ignored files are not among them.
    pub(super) fn left_out(self) -> (Vec<LeftOut>, u64) {
        (self.left_out, self.left_out_count)
    }

    pub(super) fn all(&mut self, each: Each<'_>) -> Result<(), CopyError> {
        let root = self.source.folder;
        let unreadable = |errno: Errno| CopyError::Read { path: root.to_owned(), error: errno.into() };
        let folder = rustix::fs::open(root, FOLDER, Mode::empty()).map_err(unreadable)?;
        self.folder(&folder, &mut Vec::new(), DEPTH_MAX, Scope::NotIgnored, each)
    }

    fn folder(
        &mut self,
        folder: &OwnedFd,
        path: &mut Vec<u8>,
        depth: usize,
        scope: Scope,
        each: Each<'_>,
    ) -> Result<(), CopyError> {
        let names = match self.names(folder) {
            Ok(names) => names,
            Err(Unread::Io(why)) => {
                self.leave_out(path, &format!("it cannot be read ({why})"));
                return Ok(());
            }
            Err(Unread::TooMany) => return Err(self.too_many()),
        };
        let has_rules = self.repository.is_some() && self.read_rules(folder, path);
        let len = path.len();
        for name in &names {
            path.truncate(len);
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
            self.entry(folder, name, path, depth, scope, each)?;
        }
        path.truncate(len);
        if has_rules {
            self.rules.pop();
        }
        Ok(())
    }

    fn entry(
        &mut self,
        folder: &OwnedFd,
        name: &OsStr,
        path: &mut Vec<u8>,
        depth: usize,
        scope: Scope,
        each: Each<'_>,
    ) -> Result<(), CopyError> {
        let is_top = depth == DEPTH_MAX;
        if name.eq_ignore_ascii_case(".git") {
            match (is_top, self.repository) {
                // It has one of its own.
                (true, Some(_)) => {}
                (true, None) => self.leave_out(path, "it is not a repository that can be read"),
                (false, _) => self.leave_out(path, "it belongs to another repository"),
            }
            return Ok(());
        }
        // No change of it is recorded either.
        if name == ".audit" {
            return Ok(());
        }
        let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => {
                self.leave_out(path, &format!("it cannot be read ({errno})"));
                return Ok(());
            }
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_folder = kind == FileType::Directory;
        let is_settings = is_top && is_engine_folder(name.as_bytes());
        let is_out = match scope {
            Scope::Tracked => true,
            Scope::NotIgnored => is_settings || is_ignored(self.rules.iter(), path, is_folder),
        };
        if is_out && !self.is_tracked(path, is_folder) {
            return Ok(());
        }
        if is_folder && self.data == Some((stat.st_dev, stat.st_ino)) {
            self.leave_out(path, "it is the data folder of skillrun");
            return Ok(());
        }
        let kind = match kind {
            FileType::Directory => Kind::Folder { mode: stat.st_mode },
            FileType::RegularFile => Kind::File { size: u64::try_from(stat.st_size).unwrap_or(u64::MAX) },
            FileType::Symlink => match readlinkat(folder, name, Vec::new()) {
                Ok(target) => {
                    let target = OsString::from_vec(target.into_bytes());
                    if leads_out(Path::new(OsStr::from_bytes(path)), Path::new(&target)) {
                        self.leave_out(path, "it is a link that leads out of the folder");
                        return Ok(());
                    }
                    Kind::Link { target }
                }
                Err(Errno::NOENT) => return Ok(()),
                Err(errno) => {
                    self.leave_out(path, &format!("it cannot be read ({errno})"));
                    return Ok(());
                }
            },
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {
                self.leave_out(path, "it is not a file, a folder or a link");
                return Ok(());
            }
        };
        self.entries += 1;
        if self.entries > self.source.limits.entries {
            return Err(self.too_many());
        }
        each(Found { path: Path::new(OsStr::from_bytes(path)), kind, folder, name })?;
        if !is_folder {
            return Ok(());
        }
        let depth = depth.checked_sub(1).filter(|depth| *depth > 0 && path.len() <= PATH_MAX);
        let depth = depth.ok_or_else(|| CopyError::TooDeep { folder: self.source.folder.to_owned() })?;
        match openat(folder, name, FOLDER, Mode::empty()) {
            Ok(inner) => {
                let scope = if is_out { Scope::Tracked } else { Scope::NotIgnored };
                self.folder(&inner, path, depth, scope, each)
            }
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => {
                self.leave_out(path, &format!("it cannot be read ({errno})"));
                Ok(())
            }
        }
    }

    /// Whether git tracks the file, or one in the folder.
    fn is_tracked(&self, path: &[u8], is_folder: bool) -> bool {
        let Some(repository) = self.repository else { return false };
        if !is_folder {
            return repository.tracked.contains(path);
        }
        let below = [path, b"/"].concat();
        repository.tracked.range(below.clone()..).next().is_some_and(|first| first.starts_with(&below))
    }

    fn names(&mut self, folder: &OwnedFd) -> Result<Vec<OsString>, Unread> {
        fstat(folder).map_err(|errno| Unread::Io(errno.into()))?;
        let mut names = Vec::new();
        for entry in Dir::read_from(folder).map_err(|errno| Unread::Io(errno.into()))? {
            let entry = entry.map_err(|errno| Unread::Io(errno.into()))?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            self.names += 1;
            if self.names > self.source.limits.entries.saturating_mul(NAMES_PER_ENTRY) {
                return Err(Unread::TooMany);
            }
            names.push(OsStr::from_bytes(name).to_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The rules of a folder, if it has any.
    fn read_rules(&mut self, folder: &OwnedFd, path: &[u8]) -> bool {
        let Ok(file) = openat(folder, ".gitignore", FILE, Mode::empty()).map(File::from) else { return false };
        if !file.metadata().is_ok_and(|found| found.is_file()) {
            return false;
        }
        match files::read_open(&file, RULES_MAX) {
            Ok(text) => {
                self.rules.push(Rules::new(path.len(), &text));
                true
            }
            Err(why) => {
                let mut path = path.to_vec();
                path.extend_from_slice(if path.is_empty() { b".gitignore" } else { b"/.gitignore" });
                self.leave_out(&path, &format!("its rules are not used, because it {why}"));
                false
            }
        }
    }

    fn leave_out(&mut self, path: &[u8], why: &str) {
        self.left_out_count += 1;
        if self.left_out.len() < LEFT_OUT_NAMED {
            self.left_out.push(LeftOut { path: OsText::from(OsStr::from_bytes(path)), why: why.to_owned() });
        }
    }

    fn too_many(&self) -> CopyError {
        CopyError::TooMany { folder: self.source.folder.to_owned(), limit: self.source.limits.entries }
    }
}

enum Unread {
    Io(io::Error),
    TooMany,
}

/// Whether a link leads out of the folder: it is absolute, or goes up too far.
fn leads_out(link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
            Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}
