//! A folder that is never left: everything below it is opened name by name, and no name may be a link. Checking the
//! whole path first and opening it afterwards would allow the file to be exchanged in between.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

/// Maximum number of entries of one walk.
const WALK_ENTRIES: usize = 100_000;
/// Folders within folders; each holds a descriptor open.
const WALK_DEPTH: usize = 64;

#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
    /// As it was given, and its path without links; where they differ an engine may use either.
    names: [Option<PathBuf>; 2],
}

/// What a walk finds, folders excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    File,
    Link,
    Special,
}

impl Root {
    /// The folder itself may be reached through a link: the caller vouches for it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { fd, names: [Some(path.to_owned()), path.canonicalize().ok()] })
    }

    /// A path below the root, from one that may be absolute. None when it leads elsewhere or is the root itself.
    pub(super) fn relative(&self, path: &Path) -> Option<PathBuf> {
        let below = match path.is_absolute() {
            true => self.names.iter().flatten().find_map(|name| path.strip_prefix(name).ok())?,
            false => path,
        };
        let mut parts = PathBuf::new();
        for part in below.components() {
            match part {
                Component::Normal(name) => parts.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(parts).filter(|parts| !parts.as_os_str().is_empty())
    }

    /// Opens an ordinary file below the root.
    pub fn file(&self, path: &Path) -> io::Result<File> {
        let mut names = path.components().map(|part| match part {
            Component::Normal(name) => Ok(name),
            Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "not a path below the folder"))
            }
        });
        let Some(mut name) = names.next().transpose()? else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "an empty path"));
        };
        let mut folder: Option<OwnedFd> = None;
        for next in names {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = Some(openat(folder.as_ref().unwrap_or(&self.fd), name, flags, Mode::empty())?);
            name = next?;
        }
        plain(openat(folder.as_ref().unwrap_or(&self.fd), name, READ, Mode::empty())?)
    }

    /// The same for a file that has no other name: another name may be outside of the folder, and be written to there.
    pub fn artifact(&self, path: &Path) -> io::Result<File> {
        let file = self.file(path)?;
        match file.metadata()?.nlink() {
            0 | 1 => Ok(file),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, HardLink)),
        }
    }

    /// Size and hash of an artifact, as long as `budget` has bytes for it.
    pub fn hash(&self, path: &Path, budget: &mut u64) -> io::Result<(u64, String)> {
        let mut file = self.artifact(path)?;
        if file.metadata()?.len() > *budget {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
        }
        let (mut hasher, mut size) = (blake3::Hasher::new(), 0_u64);
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok((size, hasher.finalize().to_hex().to_string()));
            }
            size += read as u64;
            // It may be growing.
            *budget = budget
                .checked_sub(read as u64)
                .ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"))?;
            hasher.update(&buffer[..read]);
        }
    }

    /// Everything below `folder` that is not a folder, in the order of names; paths are relative to the root. Entries
    /// that cannot be read are skipped, and so are entries beyond the bounds.
    pub(super) fn each_file(&self, folder: &Path, each: &mut dyn FnMut(&Path, Is)) {
        let mut left = WALK_ENTRIES;
        let mut at = None;
        for name in folder.iter() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match openat(at.as_ref().unwrap_or(&self.fd), name, flags, Mode::empty()) {
                Ok(fd) => at = Some(fd),
                Err(_) => return,
            }
        }
        if let Some(fd) = at {
            walk(&fd, folder, WALK_DEPTH, &mut left, each);
        }
    }
}

/// Why a file is not an artifact.
#[derive(Debug, thiserror::Error)]
#[error("it is a hard link")]
struct HardLink;

/// Whether a file was refused because it has other names.
pub fn is_hard_link(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<HardLink>())
}

// Without NONBLOCK, opening a pipe would wait for a writer.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// Opens an ordinary file that is not a link.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    plain(rustix::fs::open(path, READ, Mode::empty())?)
}

fn plain(fd: OwnedFd) -> io::Result<File> {
    match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::RegularFile {
        true => Ok(fd.into()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file")),
    }
}

fn walk(fd: &OwnedFd, path: &Path, depth: usize, left: &mut usize, each: &mut dyn FnMut(&Path, Is)) {
    let Ok(entries) = Dir::read_from(fd) else { return };
    let mut names = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let Some(fewer) = left.checked_sub(1) else { break };
        *left = fewer;
        names.push(std::ffi::OsStr::from_bytes(name).to_owned());
    }
    names.sort_unstable();
    for name in names {
        let path = path.join(&name);
        let Ok(stat) = statat(fd, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => each(&path, Is::File),
            FileType::Symlink => each(&path, Is::Link),
            FileType::Directory => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                if depth > 0
                    && let Ok(inner) = openat(fd, &name, flags, Mode::empty())
                {
                    walk(&inner, &path, depth - 1, left, each);
                }
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => each(&path, Is::Special),
        }
    }
}
