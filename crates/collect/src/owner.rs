//! Attaches to a host: hears of progress, sends input, cancels. Where the host is gone, finds out how, and ends what it
//! left.

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
use crate::lines::{Line, Lines};
use crate::protocol::{CloseReason, HostHello, Notice, OwnerHello, ProcessState, Request, VERSION};
use crate::recover::{recover, tidy};

/// What became of an attempt.
#[derive(Debug)]
pub enum Attached {
    /// Nobody has begun it.
    NotBegun,
    /// Its host is alive, and we are its owner.
    Live(Box<Owner>),
    /// It is over.
    Ended(Box<HostRecord>),
    /// Its host is gone and left no record. What was left of the engine is ended now.
    Lost { survivors: Vec<Survivor> },
}

/// How long a living host may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long it is tried again.
const LONG_PATIENCE: Duration = Duration::from_secs(60);

/// Attaches to an attempt, or tells what became of it.
pub fn attach(audit: &Path, attempt: AttemptNumber) -> Result<Attached, CollectError> {
    attach_within(audit, attempt, LONG_PATIENCE)
}

/// The same for whoever would rather look again later: a host that lives and says nothing is waited for no longer than
/// this, and a moment.
pub fn attach_within(audit: &Path, attempt: AttemptNumber, patience: Duration) -> Result<Attached, CollectError> {
    let begin = Instant::now();
    // The host itself is asked first: its engine may be able to write where the files are.
    let mut answer = match Connection::open(audit) {
        Ok((connection, hello)) if hello.attempt == attempt => match Owner::greet(connection, hello) {
            Ok(owner) => return Ok(Attached::Live(Box::new(owner))),
            Err(CollectError::Owned) => return Err(CollectError::Owned),
            Err(error) => Some(Err(error)),
        },
        // It is at another attempt; what became of this one is in its files.
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    };
    loop {
        let failed = |doing| move |error: io::Error| CollectError::file(audit, doing, error);
        let record = match HostRecord::read(audit, attempt) {
            // Only a host writes one, whole, at its end. While it lives it was somebody else, and it writes over it.
            Err(_) if is_alive(audit, attempt) => None,
            other => other.map_err(failed("the record cannot be read"))?,
        };
        if let Some(record) = record {
            tidy_after(audit, attempt);
            return Ok(Attached::Ended(Box::new(record)));
        }
        let claim = match Claim::read(audit, attempt).map_err(failed("the claim cannot be read"))? {
            Claimed::ByNobody => return Ok(Attached::NotBegun),
            Claimed::By(claim) => Some(claim),
            Claimed::BySomebody => None,
        };
        if !claim.as_ref().is_some_and(Claim::host_is_alive) {
            // It may have written its record and left between the two looks.
            if HostRecord::read(audit, attempt).map_err(failed("the record cannot be read"))?.is_some() {
                continue;
            }
            return Ok(Attached::Lost { survivors: recover(audit, attempt, claim.as_ref())? });
        }
        match answer.take().unwrap_or_else(|| Owner::connect(audit)) {
            Ok(owner) => return Ok(Attached::Live(Box::new(owner))),
            // Just begun, just over, or bringing much to the disk: look again.
            Err(CollectError::Silent(_)) if begin.elapsed() < patience => {
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

/// A host may have been killed between its record and the end of what is of no use to anybody.
fn tidy_after(audit: &Path, attempt: AttemptNumber) {
    match Claim::read(audit, attempt) {
        Ok(Claimed::By(claim)) if !claim.host_is_alive() => tidy(audit, attempt, &claim),
        Ok(Claimed::By(_) | Claimed::BySomebody | Claimed::ByNobody) | Err(_) => {}
    }
}

/// Whether a host hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    Yes,
    /// It is there and lets nobody in.
    No,
    /// There is nobody to ask: it is gone, or at its very end.
    NoSocket,
}

/// Asks a host whether it hears, whoever is attached to it. It greets everybody, whatever it is doing.
pub fn hears(audit: &Path) -> Hears {
    match Connection::open(audit) {
        Ok(_) | Err(CollectError::Version(_)) => Hears::Yes,
        Err(CollectError::Silent(error))
            if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) =>
        {
            Hears::No
        }
        Err(_) => Hears::NoSocket,
    }
}

/// The path of the socket, short enough for the kernel however deep the folder lies: through the folder's descriptor.
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
pub struct Owner {
    stream: UnixStream,
    lines: Lines,
    hello: HostHello,
    /// Heard while attaching.
    first: Option<Notice>,
}

/// What came from the host.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Notice(Notice),
    /// Nothing within the time.
    Nothing,
    /// It hung up.
    Gone,
}

impl Owner {
    fn connect(audit: &Path) -> Result<Self, CollectError> {
        let (connection, hello) = Connection::open(audit)?;
        Self::greet(connection, hello)
    }

    fn greet(connection: Connection, hello: HostHello) -> Result<Self, CollectError> {
        let mut owner = Self { stream: connection.stream, lines: connection.lines, hello, first: None };
        // A host that has an owner says so and hangs up, perhaps before it could hear us.
        let greeted = owner.write(&OwnerHello { skillrun_owner: VERSION });
        // A host that takes us tells how far it is; one that does not tells why.
        match owner.hear(PATIENCE)? {
            Heard::Notice(Notice::Closed { reason: CloseReason::Withdrawn, .. }) => {
                return Err(CollectError::Silent(io::ErrorKind::UnexpectedEof.into()));
            }
            Heard::Notice(notice) => owner.first = Some(notice),
            Heard::Nothing => return Err(CollectError::Silent(io::ErrorKind::TimedOut.into())),
            Heard::Gone => {
                let why = greeted.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
                return Err(CollectError::Silent(why));
            }
        }
        Ok(owner)
    }

    pub fn host_pid(&self) -> u32 {
        self.hello.pid
    }

    /// The attempt that was going on when we attached.
    pub fn attempt(&self) -> AttemptNumber {
        self.hello.attempt
    }

    /// Whether the process was held back when we attached.
    pub fn process(&self) -> ProcessState {
        self.hello.process
    }

    pub fn send(&mut self, request: &Request) -> Result<(), CollectError> {
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
                    let waited = wait_for(&self.stream, PollFlags::OUT, PATIENCE.saturating_sub(begin.elapsed()));
                    if let Err(error) = waited {
                        if rest.len() < line.len() {
                            // Whatever came after half a line would be no message. Whoever attaches anew begins anew.
                            self.stream.shutdown(Shutdown::Both).ok();
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
    pub fn hear(&mut self, within: Duration) -> Result<Heard, CollectError> {
        if let Some(notice) = self.first.take() {
            return Ok(Heard::Notice(notice));
        }
        let begin = Instant::now();
        loop {
            match self.lines.next() {
                Line::Read(Notice::Closed { reason: CloseReason::Owned, .. }) => return Err(CollectError::Owned),
                Line::Read(Notice::Closed { reason: CloseReason::Version, version }) => {
                    return Err(CollectError::Version(version));
                }
                Line::Read(notice) => return Ok(Heard::Notice(notice)),
                Line::Unreadable => {
                    let error = io::Error::new(io::ErrorKind::InvalidData, "it sent a line that is no message");
                    return Err(CollectError::Silent(error));
                }
                Line::Missing => {}
            }
            let mut buffer = [0; 16 * 1024];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(Heard::Gone),
                Ok(read) => self.lines.push(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = within.saturating_sub(begin.elapsed());
                    if left.is_zero() {
                        return Ok(Heard::Nothing);
                    }
                    match wait_for(&self.stream, PollFlags::IN, left) {
                        Ok(()) => {}
                        Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(Heard::Nothing),
                        Err(error) => return Err(CollectError::Silent(error)),
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(Heard::Gone),
                Err(error) => return Err(CollectError::Silent(error)),
            }
        }
    }
}

impl AsFd for Owner {
    /// Readable when there is something to hear.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

struct Connection {
    stream: UnixStream,
    lines: Lines,
}

impl Connection {
    /// Connects and hears the host's greeting.
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
                Line::Read(hello) => return understood(hello),
                Line::Unreadable => return Err(no_greeting()),
                Line::Missing => {}
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(CollectError::Silent(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => self.lines.push(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait_for(&self.stream, PollFlags::IN, PATIENCE.saturating_sub(begin.elapsed()))
                        .map_err(CollectError::Silent)?;
                }
                Err(error) => return Err(CollectError::Silent(error)),
            }
        }
    }
}

/// A host that was stopped lets nobody in, and when enough wait at its door the next would wait for ever to get in line.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// The version is looked at first: what else another one says is not ours to know.
fn understood(hello: serde_json::Value) -> Result<HostHello, CollectError> {
    let version = hello.get("skillrun_host").and_then(serde_json::Value::as_u64);
    match version.and_then(|version| u32::try_from(version).ok()) {
        Some(VERSION) => serde_json::from_value(hello).map_err(|_| no_greeting()),
        Some(other) => Err(CollectError::Version(other)),
        None => Err(no_greeting()),
    }
}

fn no_greeting() -> CollectError {
    CollectError::Silent(io::Error::new(io::ErrorKind::InvalidData, "its first line is no greeting"))
}

fn wait_for(stream: &UnixStream, what: PollFlags, within: Duration) -> io::Result<()> {
    let timeout = Timespec::try_from(within).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
    match poll(&mut [PollFd::new(stream, what)], Some(&timeout)) {
        Ok(0) => Err(io::ErrorKind::TimedOut.into()),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
