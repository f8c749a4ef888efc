//! Unix sockets at paths that may be too long for the kernel, and exchanges of one line each way.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

/// The path of a socket, short enough for the kernel however deep its folder is: through the folder's descriptor.
pub fn through(folder: &File, name: &str) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name)
}

/// Does not wait to be accepted: a stopped process accepts no client, and its backlog is bounded.
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

/// Sends one line, and reads one line of at most `longest` bytes. An error where the other side closes the connection
/// without an answer, or takes longer than `time`. A line that the other side does not read to its end may have an
/// answer too.
pub fn exchange_line(socket: &Path, mut line: Vec<u8>, time: Duration, longest: u64) -> io::Result<Vec<u8>> {
    let stream = connect(socket)?;
    stream.set_read_timeout(Some(time))?;
    stream.set_write_timeout(Some(time))?;
    line.push(b'\n');
    let written = (&stream).write_all(&line);
    let mut answer = Vec::new();
    let read = BufReader::new((&stream).take(longest)).read_until(b'\n', &mut answer);
    if answer.ends_with(b"\n") {
        return Ok(answer);
    }
    written.and(read)?;
    Err(io::ErrorKind::UnexpectedEof.into())
}
