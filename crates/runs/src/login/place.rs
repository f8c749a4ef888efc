//! Files of a login, in a HOME that an engine has used: nothing there can be trusted.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use skillrun_base::files::{self, SymbolicLinks};

/// A login is a page of text.
const LOGIN_MAX: u64 = 1 << 20;

/// An ordinary file, whole. None if it does not exist.
pub(super) fn read_users(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match files::read(path, LOGIN_MAX).map_err(io::Error::from) {
        Err(error) if is_missing(&error) => Ok(None),
        other => other.map(Some),
    }
}

/// Whether the file does not exist, as opposed to being unreachable.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The same in the HOME of a run, where a link is not followed.
pub(super) fn read_ours(home: &Path, path: &Path) -> io::Result<Option<Vec<u8>>> {
    if folders(home, path, Missing::Left)? == Folders::Missing {
        return Ok(None);
    }
    let opened = files::open(&home.join(path), SymbolicLinks::Refused);
    Ok(files::if_exists(opened.and_then(|file| files::read_open(&file, LOGIN_MAX)))?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Made,
    Left,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folders {
    There,
    Missing,
}

/// The folders above a file. A link among them could lead anywhere, so none is allowed.
fn folders(home: &Path, path: &Path, missing: Missing) -> io::Result<Folders> {
    let mut folder = home.to_owned();
    for name in path.parent().into_iter().flat_map(Path::components) {
        folder.push(name);
        match (fs::symlink_metadata(&folder), missing) {
            (Ok(found), _) if found.is_dir() => {}
            (Ok(_), _) => return Err(io::Error::other(format!("{} is not a folder", folder.display()))),
            (Err(error), Missing::Made) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().mode(0o700).create(&folder)?;
            }
            (Err(error), Missing::Left) if error.kind() == io::ErrorKind::NotFound => return Ok(Folders::Missing),
            (Err(error), _) => return Err(error),
        }
    }
    Ok(Folders::There)
}

/// Removes what is there; an earlier attempt may have left it.
pub(super) fn clear(home: &Path, path: &Path) -> io::Result<PathBuf> {
    folders(home, path, Missing::Made)?;
    let target = home.join(path);
    files::remove_if_exists(&target).map(|()| target)
}

pub(super) fn copy(home: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = clear(home, path)?;
    files::create_private(&target)?.write_all(bytes)
}

pub(super) fn link(home: &Path, path: &Path, users: &Path) -> io::Result<()> {
    symlink(users, clear(home, path)?)
}

/// Removes a copy or a link.
pub(super) fn remove(home: &Path, path: &Path) -> io::Result<()> {
    match folders(home, path, Missing::Left)? {
        Folders::Missing => Ok(()),
        Folders::There => files::remove_if_exists(&home.join(path)),
    }
}
