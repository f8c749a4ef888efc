//! Files that exist completely or not at all.

use skillrun_model::IgnoredError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Mode of everything in `.audit`: the files hold what engines wrote, secrets too.
pub const PRIVATE: u32 = 0o600;

/// A new append-only file, readable by its owner alone: if another process truncates it, its length shows that.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(PRIVATE).open(path)
}

/// Writes a file so that readers see all of it or the previous one, also after a power failure.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    swap(path, content, Durability::Synced)?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// The same where the caller syncs the folder afterwards, with everything in it.
pub fn replace_in_folder(path: &Path, content: &[u8]) -> io::Result<()> {
    swap(path, content, Durability::Synced)
}

/// Writes a view: readers see all of it or the previous one. After a power failure it may be the previous one, or
/// missing; it can be regenerated.
pub fn replace_view(path: &Path, content: &[u8]) -> io::Result<()> {
    swap(path, content, Durability::Left)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Durability {
    Synced,
    Left,
}

fn swap(path: &Path, content: &[u8], durability: Durability) -> io::Result<()> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
    };
    // Two processes may write the same view at once; each uses a file of its own until it is complete.
    let mut own = name.to_owned();
    own.push(format!(".{}.tmp", std::process::id()));
    let beside = path.with_file_name(own);
    // A file at this path is not ours: an engine that can write here may have created a link to another place.
    fs::remove_file(&beside).ignored();
    let written = (|| {
        let mut file = create(&beside)?;
        file.write_all(content)?;
        if durability == Durability::Synced {
            file.sync_all()?;
        }
        fs::rename(&beside, path)
    })();
    if written.is_err() {
        // The half-written file is of no use, and on a full disk it takes space.
        fs::remove_file(&beside).ignored();
    }
    written
}

/// Makes the names in a folder durable across a power failure.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The number of files that are synced in parallel: the journal of the file system commits together those that arrive
/// together.
const SYNCS: usize = 8;

/// Makes everything in these folders durable across a power failure: contents and names, including those of nested
/// folders. Links are not followed. The name of a folder itself belongs to its parent. Until this returns, a power
/// failure may leave any state, and no caller may rely on the files.
pub fn sync_trees(roots: &[PathBuf]) -> io::Result<()> {
    let (mut paths, mut folders) = (Vec::new(), roots.to_vec());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                paths.push(entry.path());
            }
        }
        paths.push(folder);
    }
    sync_each(&paths)
}

/// Makes the contents of files, and the names in folders, durable across a power failure.
pub fn sync_each(paths: &[PathBuf]) -> io::Result<()> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = sync_folder(path) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..paths.len().min(SYNCS) {
            // When no thread can be spawned, this one does all the work.
            std::thread::Builder::new().spawn_scoped(scope, work).ignored();
        }
        work();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// BLAKE3 of a file, in the notation that is used everywhere, and its size.
pub fn hash(path: &Path) -> io::Result<(String, u64)> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok((hasher.finalize().to_hex().to_string(), hasher.count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_with_links_and_many_files_is_synced() {
        let dir = tempfile::tempdir().expect("a folder");
        for number in 0..20 {
            let folder = dir.path().join(format!("a/{}", number % 3));
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join(number.to_string()), "x").expect("a file");
        }
        std::os::unix::fs::symlink("/nowhere", dir.path().join("a/link")).expect("a link");
        sync_trees(&[dir.path().to_owned(), dir.path().join("a/1")]).expect("synced");
        let gone = [dir.path().join("a/0/0"), dir.path().join("gone")];
        assert_eq!(sync_each(&gone).expect_err("one is not there").kind(), io::ErrorKind::NotFound);
        assert_eq!(sync_trees(&gone[1..]).expect_err("it is not there").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_link_in_the_way_is_replaced_and_not_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        let (path, victim) = (dir.path().join("view.json"), dir.path().join("victim"));
        fs::write(&victim, "precious").expect("a file");
        for name in [format!("view.json.{}.tmp", std::process::id()), "view.json".to_owned()] {
            std::os::unix::fs::symlink(&victim, dir.path().join(name)).expect("a link");
        }
        replace(&path, b"new").expect("written");
        assert_eq!(fs::read(&path).expect("the file"), b"new");
        assert!(!fs::symlink_metadata(&path).expect("it").file_type().is_symlink());
        assert_eq!(fs::read(&victim).expect("the other"), b"precious");
        assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 2, "nothing is left beside");
    }
}
