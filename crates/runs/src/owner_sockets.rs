//! The sockets of owners, `owners/<pid>.sock` in the data folder. A socket that does not answer shows that its owner
//! died.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use skillrun_base::unix_socket::connect;

use crate::data_folder::DataFolder;

/// The process whose socket this is or was.
pub fn pid_of(socket: &Path) -> Option<u32> {
    let name = socket.file_stem()?.to_str()?;
    name.strip_prefix("was-").unwrap_or(name).parse().ok()
}

/// Sockets of owners that died without closing them. No process owns their runs now.
pub fn crashed(data: &DataFolder) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.owners()).into_iter().flatten().flatten();
    let is_dead = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "sock")
            && connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    entries.map(|entry| entry.path()).filter(is_dead).collect()
}
