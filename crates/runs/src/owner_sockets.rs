//! The sockets of owners, `owners/<pid>.sock` in the data folder. A socket that does not answer shows that its owner
//! died.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use crate::data_folder::DataFolder;

/// The path of a socket, short enough for the kernel however deep the data folder is: through the folder's descriptor.
pub fn through(folder: &File, name: &str) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name)
}

/// Does not wait to be accepted: a stopped owner accepts no client, and its backlog is bounded.
pub fn connect(socket: &Path) -> io::Result<UnixStream> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let folder = File::open(socket.parent().ok_or_else(missing)?)?;
    let name = socket.file_name().and_then(|name| name.to_str()).ok_or_else(missing)?;
    let address = SocketAddrUnix::new(through(&folder, name))?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&stream, &address)?;
    let stream = UnixStream::from(stream);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

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
