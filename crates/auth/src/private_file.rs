//! Files that only their owner may access: written atomically, and not used when other users may read or change them.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use skillrun_base::files::{self, FileReadError, SymbolicLinks};
use skillrun_base::whole_file;

use super::error::AuthError;

pub(super) use skillrun_base::files::{PRIVATE_FILE as FILE_MODE, PRIVATE_FOLDER as FOLDER_MODE};

/// The bytes of a file and its metadata when they were read. None: there is no such file.
///
/// A link is followed: operators keep secrets elsewhere and link them.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<(Vec<u8>, Metadata)>, AuthError> {
    let failed = |error| match error {
        FileReadError::Io(error) => AuthError::file(path, "read")(error),
        FileReadError::Problem(problem) => AuthError::Unusable { path: path.to_owned(), problem },
    };
    let Some(file) = files::if_exists(files::open(path, SymbolicLinks::Followed)).map_err(failed)? else {
        return Ok(None);
    };
    let metadata = file.metadata().map_err(AuthError::file(path, "read"))?;
    check_mode(&metadata, path, FILE_MODE)?;
    Ok(Some((files::read_open(&file, limit).map_err(failed)?, metadata)))
}

pub(super) fn check_mode(metadata: &Metadata, path: &Path, wanted: u32) -> Result<(), AuthError> {
    let mode = metadata.mode() & 0o777;
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(AuthError::NotPrivate { path: path.to_owned(), mode, wanted }),
    }
}

/// The bytes of a file, which is created if there is none. If several processes create it at once, one wins and all
/// read the same bytes.
pub(super) fn read_or_make(path: &Path, limit: u64, content: &[u8]) -> Result<Vec<u8>, AuthError> {
    if let Some((bytes, _)) = read(path, limit)? {
        return Ok(bytes);
    }
    make(path, content)?;
    match read(path, limit)? {
        Some((bytes, _)) => Ok(bytes),
        None => Err(AuthError::file(path, "read")(io::ErrorKind::NotFound.into())),
    }
}

/// Leaves an existing file unchanged.
fn make(path: &Path, content: &[u8]) -> Result<(), AuthError> {
    make_folder(whole_file::folder_of(path))?;
    whole_file::create_once(path, content).map(drop).map_err(AuthError::file(path, "written"))
}

/// Replaces an existing file.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<(), AuthError> {
    make_folder(whole_file::folder_of(path))?;
    whole_file::replace(path, content).map_err(AuthError::file(path, "written"))
}

/// Creates a folder and its parents. An existing one is left unchanged.
pub(super) fn make_folder(path: &Path) -> Result<(), AuthError> {
    files::create_private_folder(path).map_err(AuthError::file(path, "created"))
}

/// Removes a file; a missing one is not an error.
pub(super) fn remove(path: &Path) -> Result<(), AuthError> {
    files::remove_if_exists(path).map_err(AuthError::file(path, "removed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillrun_base::files::FileProblem;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_others_may_read_or_change_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        make(&path, b"secret").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, FILE_MODE);
        for mode in [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = read(&path, 100).unwrap_err().to_string();
            assert!(error.ends_with(&format!("(mode {mode:03o}); run `chmod 600` on it")), "{error}");
        }
        for mode in [0o600, 0o400, 0o700] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&path, 100).unwrap().unwrap().0, b"secret");
        }
    }

    #[test]
    fn a_non_file_or_large_file_is_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(read(&pipe, 100), Err(AuthError::Unusable { problem: FileProblem::NotAFile, .. })));
        assert!(matches!(read(dir.path(), 100), Err(AuthError::Unusable { problem: FileProblem::NotAFile, .. })));
        let path = dir.path().join("file");
        make(&path, &[b'x'; 100]).unwrap();
        assert!(matches!(read(&path, 99), Err(AuthError::Unusable { problem: FileProblem::TooLarge(99), .. })));
        assert_eq!(read(&path, 100).unwrap().unwrap().0.len(), 100);
        assert!(read(&dir.path().join("none"), 100).unwrap().is_none());
    }

    #[test]
    fn one_of_many_creators_wins_and_all_read_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/file");
        let start = std::sync::Barrier::new(8);
        let seen: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let make = |number: u8| {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    start.wait();
                    read_or_make(path, 100, &[number; 32]).unwrap()
                })
            };
            let makers: Vec<_> = (0..8).map(make).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert!(seen.iter().all(|bytes| *bytes == seen[0] && bytes.len() == 32), "{seen:?}");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside");
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, FOLDER_MODE);
    }
}
