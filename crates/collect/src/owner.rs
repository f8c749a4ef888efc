//! Attaches to a host: receives progress, sends input, cancels. If the host is gone, determines how it ended, and
//! terminates what it left.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use skillrun_evidence::HostRecord;
use skillrun_evidence::host_record::Survivor;
use skillrun_evidence::names;
use skillrun_model::AttemptNumber;

use crate::claim::{Claim, Claimed};
use crate::error::CollectError;
use crate::lines::{Lines, MessageLine};
use crate::protocol::{CloseReason, HostHello, HostRequest, Notice, OwnerHello, ProcessState, VERSION};
use crate::recover::{recover, tidy};
use skillrun_model::IgnoredError;

/// The state of an attempt.
#[derive(Debug)]
pub enum Attached {
    /// It has not begun.
    NotBegun,
    /// Its host is alive, and this process is its owner.
    Live(Box<HostConnection>),
    /// It is over.
    Ended(Box<HostRecord>),
    /// Its host is gone and left no record. The rest of the engine was terminated.
    Lost { survivors: Vec<Survivor> },
}

/// Time limit for a living host to answer.
const HOST_REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for retries.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(60);

/// Attaches to an attempt, or returns its state.
pub fn attach(audit: &Path, attempt: AttemptNumber) -> Result<Attached, CollectError> {
    attach_within(audit, attempt, ATTACH_TIMEOUT)
}

/// The same with a shorter timeout, for callers that check again later: an unresponsive living host is not waited for
/// much longer than this.
pub fn attach_within(audit: &Path, attempt: AttemptNumber, timeout: Duration) -> Result<Attached, CollectError> {
    let begin = Instant::now();
    // The host itself is asked first: its engine may be able to write where the files are.
    let mut answer = match Connection::open(audit) {
        Ok((connection, hello)) if hello.attempt == attempt => match HostConnection::greet(connection, hello) {
            Ok(owner) => return Ok(Attached::Live(Box::new(owner))),
            Err(CollectError::Owned) => return Err(CollectError::Owned),
            Err(error) => Some(Err(error)),
        },
        // It is at another attempt; the state of this one is in its files.
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    };
    loop {
        let failed = |doing| move |error: io::Error| CollectError::file(audit, doing, error);
        let record = match HostRecord::read(audit, attempt) {
            // Only a host writes one, atomically, at its end. If one exists while the host lives, another process wrote
            // it, and the host overwrites it.
            Err(_) if is_alive(audit, attempt) => None,
            other => other.map_err(failed("failed to read the record"))?,
        };
        if let Some(record) = record {
            tidy_after(audit, attempt);
            return Ok(Attached::Ended(Box::new(record)));
        }
        let claim = match Claim::read(audit, attempt).map_err(failed("failed to read the claim"))? {
            Claimed::ByNobody => return Ok(Attached::NotBegun),
            Claimed::By(claim) => Some(claim),
            Claimed::BySomebody => None,
        };
        if !claim.as_ref().is_some_and(Claim::host_is_alive) {
            // It may have written its record and exited between the two checks.
            if HostRecord::read(audit, attempt).map_err(failed("failed to read the record"))?.is_some() {
                continue;
            }
            return Ok(Attached::Lost { survivors: recover(audit, attempt, claim.as_ref())? });
        }
        match answer.take().unwrap_or_else(|| HostConnection::connect(audit)) {
            Ok(owner) => return Ok(Attached::Live(Box::new(owner))),
            // Just begun, just over, or syncing much data: check again.
            Err(CollectError::Silent(_)) if begin.elapsed() < timeout => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Whether the host of an attempt is alive.
fn is_alive(audit: &Path, attempt: AttemptNumber) -> bool {
    matches!(Claim::read(audit, attempt), Ok(Claimed::By(claim)) if claim.host_is_alive())
}

/// A host may have been killed between its record and the end of its cleanup.
fn tidy_after(audit: &Path, attempt: AttemptNumber) {
    match Claim::read(audit, attempt) {
        Ok(Claimed::By(claim)) if !claim.host_is_alive() => tidy(audit, attempt, &claim),
        Ok(Claimed::By(_) | Claimed::BySomebody | Claimed::ByNobody) | Err(_) => {}
    }
}

/// Whether a host responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostResponse {
    Yes,
    /// The host exists but accepts no connection.
    No,
    /// There is no host: it is gone, or about to exit.
    NoSocket,
}

/// Checks whether a host responds, whichever owner is attached to it. It greets every connection, whatever it is doing.
pub fn host_responds(audit: &Path) -> HostResponse {
    match Connection::open(audit) {
        Ok(_) | Err(CollectError::Version(_)) => HostResponse::Yes,
        Err(CollectError::Silent(error))
            if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) =>
        {
            HostResponse::No
        }
        Err(_) => HostResponse::NoSocket,
    }
}

/// The path of the socket, short enough for the kernel however deep the folder is: through the folder's descriptor.
#[derive(Debug)]
pub(crate) struct SocketPlace {
    folder: File,
}

impl SocketPlace {
    pub(crate) fn open(audit: &Path) -> io::Result<Self> {
        File::open(audit).map(|folder| Self { folder })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.beside(names::SOCKET)
    }

    /// Another name in the same folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        Path::new("/proc/self/fd").join(self.folder.as_raw_fd().to_string()).join(name)
    }
}

/// The owner's side of a conversation with a living host.
#[derive(Debug)]
pub struct HostConnection {
    stream: UnixStream,
    lines: Lines,
    hello: HostHello,
    /// Received while attaching.
    first: Option<Notice>,
    /// The last read took everything that had arrived.
    is_drained: bool,
}

/// A message from the host.
#[derive(Debug, PartialEq, Eq)]
pub enum HostMessage {
    Notice(Notice),
    /// Nothing within the time.
    Nothing,
    /// The host closed the connection.
    Gone,
}

impl HostConnection {
    fn connect(audit: &Path) -> Result<Self, CollectError> {
        let (connection, hello) = Connection::open(audit)?;
        Self::greet(connection, hello)
    }

    fn greet(connection: Connection, hello: HostHello) -> Result<Self, CollectError> {
        let mut owner =
            Self { stream: connection.stream, lines: connection.lines, hello, first: None, is_drained: false };
        // A host that has an owner reports that and closes the connection, perhaps before it reads this greeting.
        let greeted = owner.write(&OwnerHello { skillrun_owner: VERSION });
        // A host that accepts this owner sends its progress; one that does not sends the reason.
        match owner.receive(HOST_REPLY_TIMEOUT)? {
            HostMessage::Notice(Notice::Closed { reason: CloseReason::Withdrawn, .. }) => {
                return Err(CollectError::Silent(io::ErrorKind::UnexpectedEof.into()));
            }
            HostMessage::Notice(notice) => owner.first = Some(notice),
            HostMessage::Nothing => return Err(CollectError::Silent(io::ErrorKind::TimedOut.into())),
            HostMessage::Gone => {
                let why = greeted.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
                return Err(CollectError::Silent(why));
            }
        }
        Ok(owner)
    }

    pub fn host_pid(&self) -> u32 {
        self.hello.pid
    }

    /// The attempt that was under way when this owner attached.
    pub fn attempt(&self) -> AttemptNumber {
        self.hello.attempt
    }

    /// Whether the process was held back when this owner attached.
    pub fn process(&self) -> ProcessState {
        self.hello.process
    }

    pub fn send(&mut self, request: &HostRequest) -> Result<(), CollectError> {
        self.write(request).map_err(CollectError::Silent)
    }

    fn write(&mut self, message: &impl serde::Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut rest = &line[..];
        let begin = Instant::now();
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let waited =
                        wait_for(&self.stream, PollFlags::OUT, HOST_REPLY_TIMEOUT.saturating_sub(begin.elapsed()));
                    if let Err(error) = waited {
                        if rest.len() < line.len() {
                            // Bytes after half a line would not be a message. A new connection starts from scratch.
                            self.stream.shutdown(Shutdown::Both).ignored();
                        }
                        return Err(error);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next notice that has arrived or arrives within the time.
    pub fn receive(&mut self, within: Duration) -> Result<HostMessage, CollectError> {
        if let Some(notice) = self.first.take() {
            return Ok(HostMessage::Notice(notice));
        }
        let begin = Instant::now();
        loop {
            match self.lines.next() {
                MessageLine::Read(Notice::Closed { reason: CloseReason::Owned, .. }) => {
                    return Err(CollectError::Owned);
                }
                MessageLine::Read(Notice::Closed { reason: CloseReason::Version, version }) => {
                    return Err(CollectError::Version(version));
                }
                MessageLine::Read(notice) => return Ok(HostMessage::Notice(notice)),
                MessageLine::Unreadable => {
                    let error = io::Error::new(io::ErrorKind::InvalidData, "it sent a line that is not a message");
                    return Err(CollectError::Silent(error));
                }
                MessageLine::Missing => {}
            }
            if std::mem::take(&mut self.is_drained) && within.is_zero() {
                return Ok(HostMessage::Nothing);
            }
            let mut buffer = [0; 16 * 1024];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(HostMessage::Gone),
                Ok(read) => {
                    self.is_drained = read < buffer.len();
                    self.lines.push(&buffer[..read]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = within.saturating_sub(begin.elapsed());
                    if left.is_zero() {
                        return Ok(HostMessage::Nothing);
                    }
                    match wait_for(&self.stream, PollFlags::IN, left) {
                        Ok(()) => {}
                        Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(HostMessage::Nothing),
                        Err(error) => return Err(CollectError::Silent(error)),
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(HostMessage::Gone),
                Err(error) => return Err(CollectError::Silent(error)),
            }
        }
    }
}

impl AsFd for HostConnection {
    /// Readable when a notice is available.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

struct Connection {
    stream: UnixStream,
    lines: Lines,
}

impl Connection {
    /// Connects and reads the host's greeting.
    fn open(audit: &Path) -> Result<(Self, HostHello), CollectError> {
        let place = SocketPlace::open(audit).map_err(CollectError::Silent)?;
        let stream = connect(&place.path()).map_err(CollectError::Silent)?;
        let mut connection = Self { stream, lines: Lines::default() };
        let hello = connection.hello()?;
        Ok((connection, hello))
    }

    fn hello(&mut self) -> Result<HostHello, CollectError> {
        let begin = Instant::now();
        loop {
            match self.lines.next::<serde_json::Value>() {
                MessageLine::Read(hello) => return understood(hello),
                MessageLine::Unreadable => return Err(no_greeting()),
                MessageLine::Missing => {}
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(CollectError::Silent(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => self.lines.push(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait_for(&self.stream, PollFlags::IN, HOST_REPLY_TIMEOUT.saturating_sub(begin.elapsed()))
                        .map_err(CollectError::Silent)?;
                }
                Err(error) => return Err(CollectError::Silent(error)),
            }
        }
    }
}

/// A stopped host accepts no connection, and when its backlog is full a further connect would block indefinitely.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// The version is checked first: the other fields of another version are unknown.
fn understood(hello: serde_json::Value) -> Result<HostHello, CollectError> {
    let version = hello.get("skillrun_host").and_then(serde_json::Value::as_u64);
    match version.and_then(|version| u32::try_from(version).ok()) {
        Some(VERSION) => serde_json::from_value(hello).map_err(|_| no_greeting()),
        Some(other) => Err(CollectError::Version(other)),
        None => Err(no_greeting()),
    }
}

fn no_greeting() -> CollectError {
    CollectError::Silent(io::Error::new(io::ErrorKind::InvalidData, "its first line is not a greeting"))
}

fn wait_for(stream: &UnixStream, what: PollFlags, within: Duration) -> io::Result<()> {
    let timeout = Timespec::try_from(within).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
    match poll(&mut [PollFd::new(stream, what)], Some(&timeout)) {
        Ok(0) => Err(io::ErrorKind::TimedOut.into()),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
