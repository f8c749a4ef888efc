//! Files that exist completely or not at all.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use skillrun_model::IgnoredError;

use crate::files::{self, PRIVATE_FILE};
use crate::sync;

/// What survives a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncLevel {
    /// Perhaps the previous file, or none: a view, which can be regenerated.
    Nothing,
    /// A file with this name has this content. The caller syncs the folder afterwards, or can do without the file.
    Content,
    /// The file.
    ContentAndName,
}

/// A new append-only file, readable by its owner alone: if another process truncates it, its length shows that.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(PRIVATE_FILE).open(path)
}

/// Writes a file so that readers see all of it or the previous one, also after a power failure.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with(path, content, SyncLevel::ContentAndName)
}

/// Writes a file so that readers see all of it or the previous one, with a choice of what is synced.
pub fn replace_with(path: &Path, content: &[u8], level: SyncLevel) -> io::Result<()> {
    // Two processes may write the same view at once; each uses a file of its own until it is complete.
    let (draft, mut file) = FileDraft::create(path, format!(".{}.tmp", std::process::id()))?;
    file.write_all(content)?;
    draft.keep_synced(&file, level)
}

/// Creates a file with this content, also after a power failure. Returns false where there is one already, which is
/// left unchanged: if several processes or threads create it at once, one of them wins.
pub fn create_once(path: &Path, content: &[u8]) -> io::Result<bool> {
    let folder = folder_of(path);
    // It is private from its creation.
    let mut beside = tempfile::Builder::new().prefix(".skillrun-").tempfile_in(folder)?;
    beside.write_all(content)?;
    beside.as_file().sync_all()?;
    match beside.persist_noclobber(path) {
        Ok(_) => sync_folder(folder).map(|()| true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

/// The folder that contains a path.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A private file that is written beside its final path and gets its name when it is complete. It is removed if it
/// never is: a half-written file is of no use, and on a full disk it takes space.
#[derive(Debug)]
pub struct FileDraft {
    path: PathBuf,
    beside: PathBuf,
    is_kept: bool,
}

impl FileDraft {
    /// While it is written, it has the name of the file with a suffix.
    pub fn create(path: &Path, suffix: impl AsRef<OsStr>) -> io::Result<(Self, File)> {
        let Some(name) = path.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"));
        };
        let mut own = name.to_owned();
        own.push(suffix);
        Self::create_as(path, path.with_file_name(own))
    }

    /// While it is written, it has the path `beside`, which is in the same folder.
    pub fn create_as(path: &Path, beside: PathBuf) -> io::Result<(Self, File)> {
        let file = match files::create_private(&beside) {
            // Left by a process that was killed, or not ours: an engine that can write here may have created a link to
            // another place.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                files::remove_if_exists(&beside)?;
                files::create_private(&beside)?
            }
            created => created?,
        };
        Ok((Self { path: path.to_owned(), beside, is_kept: false }, file))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file at the final path, if there is one. Nothing is synced.
    pub fn keep(mut self) -> io::Result<()> {
        fs::rename(&self.beside, &self.path)?;
        self.is_kept = true;
        Ok(())
    }

    /// The same, with a choice of what is synced.
    pub fn keep_synced(self, file: &File, level: SyncLevel) -> io::Result<()> {
        if level != SyncLevel::Nothing {
            file.sync_all()?;
        }
        let path = self.path.clone();
        self.keep()?;
        match level {
            SyncLevel::Nothing | SyncLevel::Content => Ok(()),
            SyncLevel::ContentAndName => sync_folder(folder_of(&path)),
        }
    }

    /// An error of kind `AlreadyExists` if there is a file at the final path. Nothing is synced.
    pub fn keep_new(mut self) -> io::Result<()> {
        match renameat_with(CWD, &self.beside, CWD, &self.path, RenameFlags::NOREPLACE) {
            // Not every file system supports this; a check before has to be enough.
            Err(Errno::INVAL | Errno::NOSYS) => fs::rename(&self.beside, &self.path)?,
            other => other?,
        }
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        if !self.is_kept {
            fs::remove_file(&self.beside).ignored();
        }
    }
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
                sync::lock(&failed).get_or_insert(error);
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
    sync::into_inner(failed).map_or(Ok(()), Err)
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
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn a_draft_that_is_not_kept_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        drop(FileDraft::create(&dir.path().join("x.json"), ".tmp").expect("created"));
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 0);
    }

    #[test]
    fn every_level_replaces_the_file_with_a_private_one() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        for level in [SyncLevel::Nothing, SyncLevel::Content, SyncLevel::ContentAndName] {
            fs::write(&path, "old").expect("written");
            replace_with(&path, b"new", level).expect("replaced");
            let mode = fs::metadata(&path).expect("it exists").permissions().mode() & 0o777;
            assert_eq!((fs::read(&path).expect("it"), mode), (b"new".to_vec(), PRIVATE_FILE), "{level:?}");
            fs::remove_file(&path).expect("removed");
        }
        replace(Path::new("/"), b"new").expect_err("it has no name");
    }

    #[test]
    fn an_existing_file_is_kept_where_that_is_wanted() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        assert!(create_once(&path, b"first").expect("created"));
        assert!(!create_once(&path, b"second").expect("it exists"));
        let (draft, _file) = FileDraft::create(&path, ".tmp").expect("created");
        assert_eq!(draft.keep_new().expect_err("it exists").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("it"), b"first");
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 1, "nothing is left beside");
        let (draft, _file) = FileDraft::create(&dir.path().join("other"), ".tmp").expect("created");
        draft.keep_new().expect("there was none");
    }

    #[test]
    fn one_of_many_creators_wins() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        let start = std::sync::Barrier::new(8);
        let create = |number: u8| {
            start.wait();
            create_once(&path, &[number; 32]).expect("created, or there")
        };
        let won = std::thread::scope(|scope| {
            let create = &create;
            let threads: Vec<_> = (0..8).map(|number| scope.spawn(move || create(number))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).filter(|won| *won).count()
        });
        assert_eq!((won, fs::read(&path).expect("it").len()), (1, 32));
    }
}
