//! The host's side of `host.sock`: one owner at a time, without blocking.
//!
//! Notices are queued and written as the owner reads. Progress is not queued: a slow owner receives only the newest. An
//! owner that reads nothing is disconnected before the queue can grow.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::event::PollFlags;
use serde::Serialize;
use skillrun_evidence::names;

use super::deadlines::{Moment, after};
use crate::lines::{Lines, MessageLine};
use crate::owner::SocketPlace;
use crate::protocol::{CloseReason, HostHello, HostRequest, Notice, OwnerHello, RecordedSizes, VERSION};
use skillrun_model::IgnoredError;

/// Maximum number of bytes queued for an owner.
const QUEUE_MAX: usize = 1 << 20;

/// Pause after a failed accept.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Time limit for the greeting of an owner.
const OWNER_GREETING_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct OwnerSocket {
    listener: UnixListener,
    place: SocketPlace,
    seat: Option<Seat>,
    /// No connection is accepted before this.
    accept_after: Option<Moment>,
}

/// An owner that is attached, or about to be.
#[derive(Debug)]
struct Seat {
    stream: UnixStream,
    lines: Lines,
    queue: Vec<u8>,
    greeting: Greeting,
    progress: Option<RecordedSizes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Greeting {
    DueBy(Moment),
    Done,
}

/// An event of the socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Came,
    Left,
    Asked(HostRequest),
}

impl OwnerSocket {
    /// Replaces a socket that a dead host left. It appears under its name only when it accepts connections.
    pub(crate) fn open(audit: &Path, nonce: &str) -> io::Result<Self> {
        let place = SocketPlace::open(audit)?;
        let beside = place.beside(&names::socket_draft(nonce));
        let listener = UnixListener::bind(&beside)?;
        std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        std::fs::rename(&beside, place.path())?;
        Ok(Self { listener, place, seat: None, accept_after: None })
    }

    /// Called before the record is written: after that the name may belong to the next host.
    pub(crate) fn remove_socket(&self) {
        std::fs::remove_file(self.place.path()).ignored();
    }

    /// Readable when a connection is pending; none while none can be accepted.
    pub(crate) fn listener(&self, now: Moment) -> Option<BorrowedFd<'_>> {
        self.accept_after.is_none_or(|until| now >= until).then(|| self.listener.as_fd())
    }

    /// Whether an owner is attached.
    pub(crate) fn has_owner(&self) -> bool {
        self.seat.as_ref().is_some_and(|seat| seat.greeting == Greeting::Done)
    }

    /// The descriptor of the attached owner, and the events to wait for.
    pub(crate) fn seat(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let seat = self.seat.as_ref()?;
        let flags = if seat.has_something() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        Some((seat.stream.as_fd(), flags))
    }

    /// When an owner that has not sent its greeting is disconnected.
    pub(crate) fn due(&self) -> Option<Moment> {
        let greeting = self.seat.as_ref().and_then(|seat| match seat.greeting {
            Greeting::DueBy(moment) => Some(moment),
            Greeting::Done => None,
        });
        [greeting, self.accept_after].into_iter().flatten().min()
    }

    /// Accepts one connection. A second owner is refused with the reason. Not more than one at a time: the owner may
    /// detach between two of them, and the caller must check.
    pub(crate) fn accept(&mut self, now: Moment, hello: &HostHello) {
        self.accept_after = None;
        let stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    // Out of descriptors, for instance. Connections stay in the queue, and retrying at once would not
                    // help.
                    self.accept_after = Some(after(now, ACCEPT_RETRY_DELAY));
                }
                return;
            }
        };
        if stream.set_nonblocking(true).is_err() {
            return;
        }
        let mut seat = Seat {
            stream,
            lines: Lines::default(),
            queue: Vec::new(),
            greeting: Greeting::DueBy(after(now, OWNER_GREETING_TIMEOUT)),
            progress: None,
        };
        seat.queue_line(hello);
        if self.seat.is_some() {
            seat.queue_line(&Notice::Closed { reason: CloseReason::Owned, version: VERSION });
            seat.flush().ignored();
        } else {
            // It may have sent a request and left; that is noticed when it is read.
            seat.flush().ignored();
            self.seat = Some(seat);
        }
    }

    /// Reads requests of the owner.
    pub(crate) fn read(&mut self, now: Moment) -> Vec<Event> {
        let mut events = Vec::new();
        let Some(seat) = &mut self.seat else { return events };
        let was_attached = seat.greeting == Greeting::Done;
        let mut stays = seat.fill();
        loop {
            let accepted = match seat.greeting {
                Greeting::DueBy(moment) => match seat.lines.next::<OwnerHello>() {
                    MessageLine::Read(OwnerHello { skillrun_owner: VERSION }) => {
                        seat.greeting = Greeting::Done;
                        events.push(Event::Came);
                        continue;
                    }
                    MessageLine::Read(OwnerHello { skillrun_owner: _ }) => Err(CloseReason::Version),
                    MessageLine::Unreadable => Err(CloseReason::Unreadable),
                    MessageLine::Missing if now >= moment => Err(CloseReason::Unreadable),
                    MessageLine::Missing => Ok(None),
                },
                Greeting::Done => match seat.lines.next::<HostRequest>() {
                    MessageLine::Read(HostRequest::Detach) => Err(CloseReason::Detached),
                    MessageLine::Read(request) => Ok(Some(request)),
                    MessageLine::Unreadable => Err(CloseReason::Unreadable),
                    MessageLine::Missing => Ok(None),
                },
            };
            match accepted {
                Ok(Some(request)) => events.push(Event::Asked(request)),
                Ok(None) => break,
                Err(reason) => {
                    seat.queue_line(&Notice::Closed { reason, version: VERSION });
                    seat.flush().ignored();
                    stays = false;
                    break;
                }
            }
        }
        if !stays {
            let is_attached = was_attached || seat.greeting == Greeting::Done;
            self.seat = None;
            if is_attached {
                events.push(Event::Left);
            }
        }
        events
    }

    pub(crate) fn send_notice(&mut self, notice: &Notice) {
        if let Some(seat) = self.attached() {
            seat.queue_line(notice);
        }
    }

    /// The sizes of the streams; only the newest are sent.
    pub(crate) fn progress(&mut self, progress: RecordedSizes) {
        if let Some(seat) = self.attached() {
            seat.progress = Some(progress);
        }
    }

    fn attached(&mut self) -> Option<&mut Seat> {
        self.seat.as_mut().filter(|seat| seat.greeting == Greeting::Done)
    }

    /// Writes as much as the owner reads. An owner that does not read is treated as gone; its requests still count.
    pub(crate) fn flush(&mut self, now: Moment) -> Vec<Event> {
        let Some(seat) = &mut self.seat else { return Vec::new() };
        if seat.flush().is_ok() && seat.queue.len() <= QUEUE_MAX {
            return Vec::new();
        }
        let mut events = self.read(now);
        if self.seat.take().is_some_and(|seat| seat.greeting == Greeting::Done) {
            events.push(Event::Left);
        }
        events
    }

    /// Closes the connection of the attached owner, with a reason.
    pub(crate) fn hang_up(&mut self, reason: CloseReason) {
        if let Some(mut seat) = self.seat.take() {
            seat.queue_line(&Notice::Closed { reason, version: VERSION });
            seat.flush().ignored();
        }
    }

    /// Whether everything was sent, or no owner is attached.
    pub(crate) fn is_idle(&self) -> bool {
        self.seat.as_ref().is_none_or(|seat| !seat.has_something())
    }
}

impl Seat {
    fn has_something(&self) -> bool {
        !self.queue.is_empty() || self.progress.is_some()
    }

    fn queue_line(&mut self, message: &impl Serialize) {
        // Earlier progress is sent before other notices.
        if let Some(progress) = self.progress.take() {
            self.put(&Notice::Progress(progress));
        }
        self.put(message);
    }

    fn put(&mut self, message: &impl Serialize) {
        // These types can always be serialized.
        if let Ok(line) = serde_json::to_vec(message) {
            self.queue.extend_from_slice(&line);
            self.queue.push(b'\n');
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        loop {
            if self.queue.is_empty() {
                let Some(progress) = self.progress.take() else { return Ok(()) };
                self.put(&Notice::Progress(progress));
            }
            match self.stream.write(&self.queue) {
                Ok(written) => {
                    self.queue.drain(..written);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the available bytes, a megabyte at most; false when the other side has closed the connection.
    fn fill(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        for _ in 0..64 {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(read) => self.lines.push(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
}
