//! Reading files that nothing is known about, creating those that only their owner may access, and writing to a pipe or
//! terminal.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

/// The mode of a file that only its owner may access.
pub const PRIVATE_FILE: u32 = 0o600;
/// The mode of a folder that only its owner may access.
pub const PRIVATE_FOLDER: u32 = 0o700;

/// Why a file cannot be used as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    #[error("is not an ordinary file")]
    NotAFile,
    #[error("is larger than {0} bytes")]
    TooLarge(u64),
    #[error("is not UTF-8 text")]
    NotUtf8,
}

#[derive(Debug, thiserror::Error)]
pub enum FileReadError {
    #[error("cannot be read ({0})")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Problem(#[from] FileProblem),
}

/// Writes all bytes straight to a descriptor, so that its reader sees them at once. Waits where the pipe or terminal is
/// non-blocking: another process that shares it may have made it so.
pub fn write_all(to: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(to.as_fd(), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => match poll(&mut [PollFd::new(&to, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl FileReadError {
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<FileReadError> for io::Error {
    fn from(error: FileReadError) -> Self {
        match error {
            FileReadError::Io(error) => error,
            FileReadError::Problem(problem) => Self::new(io::ErrorKind::InvalidInput, problem),
        }
    }
}

/// What a symbolic link at the end of a path means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolicLinks {
    Followed,
    Refused,
}

/// Opens an ordinary file for reading. Never blocks: opening a pipe would wait for a writer.
pub fn open(path: &Path, links: SymbolicLinks) -> Result<File, FileReadError> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = match links {
        SymbolicLinks::Followed => flags,
        SymbolicLinks::Refused => flags | OFlags::NOFOLLOW,
    };
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        // A socket, or a device without a driver.
        Some(Errno::NXIO) => FileProblem::NotAFile.into(),
        Some(_) | None => FileReadError::Io(error),
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(FileProblem::NotAFile.into()) }
}

/// The bytes of an ordinary file that has at most `max` of them.
pub fn read(path: &Path, max: u64) -> Result<Vec<u8>, FileReadError> {
    read_open(&open(path, SymbolicLinks::Followed)?, max)
}

/// The same for an open file, from its position on. Its size is not asked for: the file may be growing.
pub fn read_open(file: &File, max: u64) -> Result<Vec<u8>, FileReadError> {
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(FileProblem::TooLarge(max).into()) } else { Ok(bytes) }
}

/// The text of an ordinary file that has at most `max` bytes.
pub fn read_text(path: &Path, max: u64) -> Result<String, FileReadError> {
    String::from_utf8(read(path, max)?).map_err(|_| FileProblem::NotUtf8.into())
}

/// The result of reading a file that may be missing.
pub fn if_exists<T>(read: Result<T, FileReadError>) -> Result<Option<T>, FileReadError> {
    match read {
        Err(error) if error.is_missing() => Ok(None),
        other => other.map(Some),
    }
}

/// A new file that only its owner may access. Does not follow a link, and leaves an existing file unchanged.
pub fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(PRIVATE_FILE).open(path)
}

/// Creates a folder that only its owner may access, and its parents. Existing folders are left unchanged.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(path)
}

/// Removes a file; a missing one is not an error.
pub fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    fn problem(read: Result<Vec<u8>, FileReadError>) -> FileProblem {
        match read {
            Err(FileReadError::Problem(problem)) => problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_an_ordinary_file_is_read_and_nothing_blocks() {
        let dir = tempfile::tempdir().expect("a folder");
        let (pipe, socket) = (dir.path().join("pipe"), dir.path().join("socket"));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, PRIVATE_FILE.into(), 0)
            .expect("a pipe");
        let _listener = UnixListener::bind(&socket).expect("a socket");
        for path in [dir.path(), &pipe, &socket, Path::new("/dev/null")] {
            assert_eq!(problem(read(path, 10)), FileProblem::NotAFile, "{}", path.display());
        }
        let missing = read(&dir.path().join("missing"), 10);
        assert!(if_exists(missing).expect("it is not an error").is_none());
    }

    #[test]
    fn a_large_file_or_another_encoding_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        fs::write(&path, b"12345").expect("written");
        assert_eq!(read(&path, 5).expect("it fits"), b"12345");
        assert_eq!(problem(read(&path, 4)), FileProblem::TooLarge(4));
        assert_eq!(read_text(&path, 5).expect("a text"), "12345");
        fs::write(&path, b"\xff").expect("written");
        assert_eq!(read_text(&path, 5).expect_err("not a text").to_string(), "is not UTF-8 text");
    }

    #[test]
    fn a_link_is_followed_only_where_that_is_wanted() {
        let dir = tempfile::tempdir().expect("a folder");
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "x").expect("written");
        symlink(&file, &link).expect("a link");
        assert_eq!(read(&link, 1).expect("followed"), b"x");
        open(&file, SymbolicLinks::Refused).expect("it is not a link");
        open(&link, SymbolicLinks::Refused).expect_err("it is a link");
    }

    #[test]
    fn private_files_and_folders_have_their_modes_and_replace_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let (folder, file) = (dir.path().join("a/b"), dir.path().join("a/b/file"));
        create_private_folder(&folder).expect("created");
        create_private_folder(&folder).expect("it exists");
        create_private(&file).expect("created");
        assert_eq!(create_private(&file).expect_err("it exists").kind(), io::ErrorKind::AlreadyExists);
        let mode = |path: &Path| fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
        let expected = (PRIVATE_FOLDER, PRIVATE_FOLDER, PRIVATE_FILE);
        assert_eq!((mode(&folder), mode(&dir.path().join("a")), mode(&file)), expected);
        remove_if_exists(&file).expect("removed");
        remove_if_exists(&file).expect("it is gone");
        remove_if_exists(&folder).expect_err("a folder is not a file");
    }
}
