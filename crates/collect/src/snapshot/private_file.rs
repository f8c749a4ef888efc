//! Files of the host next to the workspace. An engine may be able to write there: nothing is opened through a link that
//! it could have left, and only regular files are opened.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use skillrun_model::IgnoredError;

/// A new file that only its owner may access; an existing one is removed first.
pub(super) fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // With EXCL a link is not followed either.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// An existing file, for reading.
pub(super) fn open(path: &Path) -> io::Result<File> {
    // Without NONBLOCK, opening a pipe would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) == FileType::RegularFile {
        true => Ok(file.into()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file")),
    }
}

/// The name under which a file is written.
pub(super) fn draft_path(path: &Path) -> PathBuf {
    let mut beside = path.to_owned().into_os_string();
    beside.push(".tmp");
    beside.into()
}

/// A file being written under a temporary name; it is renamed when it is complete, and removed if it never is.
#[derive(Debug)]
pub(super) struct Draft {
    path: PathBuf,
    beside: PathBuf,
    kept: bool,
}

impl Draft {
    pub(super) fn create(path: PathBuf) -> io::Result<(Self, File)> {
        let beside = draft_path(&path);
        let draft = Self { path, beside, kept: false };
        let file = create(&draft.beside)?;
        Ok((draft, file))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn keep(mut self) -> io::Result<()> {
        fs::rename(&self.beside, &self.path)?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.kept {
            fs::remove_file(&self.beside).ignored();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_that_lies_in_wait_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        let (outside, name) = (dir.path().join("outside"), dir.path().join("x.json"));
        fs::write(&outside, "precious").expect("a file");
        symlink(&outside, dir.path().join("x.json.tmp")).expect("a link");
        let (draft, _file) = Draft::create(name.clone()).expect("created");
        draft.keep().expect("renamed");
        assert_eq!(fs::read(&outside).expect("still there"), b"precious");
        let made = fs::symlink_metadata(&name).expect("there");
        assert!(made.is_file());
        assert_eq!(made.permissions().mode() & 0o777, 0o600);
        fs::remove_file(&name).expect("removed");
        symlink(&outside, &name).expect("a link");
        open(&name).expect_err("a link is not opened for reading either");
    }

    #[test]
    fn a_draft_that_is_not_kept_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        drop(Draft::create(dir.path().join("x.json")).expect("created"));
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 0);
    }
}
