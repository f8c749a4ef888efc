//! Files that are there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Mode of everything in `.audit`: the files hold what engines wrote, secrets too.
pub(crate) const PRIVATE: u32 = 0o600;

/// A new file, for its owner alone.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path)
}

/// Writes a file so that readers see all of it or the one before, also after a power failure.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    swap(path, content, Durability::Synced)?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Writes a view: readers see all of it or the one before. After a power failure it may be the one before, or none; it
/// can be made again.
pub fn replace_view(path: &Path, content: &[u8]) -> io::Result<()> {
    swap(path, content, Durability::Left)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Durability {
    Synced,
    Left,
}

fn swap(path: &Path, content: &[u8], durability: Durability) -> io::Result<()> {
    let beside = path.with_file_name(match path.file_name() {
        Some(name) => {
            let mut name = name.to_owned();
            name.push(".tmp");
            name
        }
        None => return Err(io::Error::new(io::ErrorKind::InvalidInput, "a path without a name")),
    });
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE).open(&beside)?;
        file.write_all(content)?;
        if durability == Durability::Synced {
            file.sync_all()?;
        }
        fs::rename(&beside, path)
    })();
    if written.is_err() {
        // The half-written one is of no use to anybody; on a full disk it is in the way.
        fs::remove_file(&beside).ok();
    }
    written
}

/// Makes the names in a folder survive a power failure.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
