//! Reads the output of the engine, and assigns each byte to its attempt.
//!
//! A sticky process continues from one attempt to the next. Each stream switches at its next line end; until all have
//! switched, two attempts are open.

use rustix::event::PollFlags;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, read};
use skillrun_model::{EndedBy, Stream};

use super::deadlines::Moment;
use super::part::AttemptEvidence;
use crate::secrets::Secrets;

/// Maximum size of one read.
const READ: usize = 256 * 1024;

/// Maximum number of consecutive reads of one stream, so that no stream delays the others or the clock.
const READS: usize = 4;

/// A read shorter than this has emptied the stream. A terminal returns at most 4 KiB at a time, even if it holds more.
const LITTLE: usize = 2048;

#[derive(Debug)]
pub(crate) struct Streams {
    ends: [Option<OwnedFd>; 3],
    secrets: Secrets,
    max_bytes: u64,
    pub(crate) part: AttemptEvidence,
    next: Option<Next>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Next {
    part: AttemptEvidence,
    /// Streams that have switched to it already.
    has: [bool; 3],
}

impl Streams {
    pub(crate) fn new(ends: [Option<OwnedFd>; 3], secrets: Secrets, max_bytes: u64, part: AttemptEvidence) -> Self {
        Self { ends, secrets, max_bytes, part, next: None, buffer: vec![0; READ] }
    }

    /// The evidence, once the output is complete.
    pub(crate) fn into_part(self) -> AttemptEvidence {
        self.part
    }

    pub(crate) fn polled(&self) -> impl Iterator<Item = (Stream, BorrowedFd<'_>, PollFlags)> {
        Stream::ALL
            .into_iter()
            .filter_map(|stream| self.ends[stream.index()].as_ref().map(|end| (stream, end.as_fd(), PollFlags::IN)))
    }

    /// Reads the available bytes; returns their number.
    pub(crate) fn read(&mut self, stream: Stream, now: Moment) -> usize {
        let mut total = 0;
        for _ in 0..READS {
            match self.read_once(stream, now) {
                Some(count) => {
                    total += count;
                    if count < LITTLE {
                        break;
                    }
                }
                None => break,
            }
        }
        total
    }

    /// Reads all remaining bytes, once no process is left that could write more.
    pub(crate) fn drain(&mut self, now: Moment) -> usize {
        // A pipe or a terminal holds a few megabytes at most; a process that writes without end does not belong to the
        // attempt.
        const ENOUGH: usize = 64 << 20;
        let mut total = 0;
        for stream in Stream::ALL {
            let mut of_stream = 0;
            // A short read is not the end: a terminal returns a few kilobytes at a time, even if it holds more.
            while of_stream < ENOUGH
                && let Some(count) = self.read_once(stream, now)
            {
                of_stream += count;
            }
            total += of_stream;
        }
        total
    }

    /// The number of bytes of one read; none when nothing is available now, or at the end.
    fn read_once(&mut self, stream: Stream, now: Moment) -> Option<usize> {
        loop {
            let end = self.ends[stream.index()].as_ref()?;
            match read(end, &mut self.buffer[..]) {
                Ok(0) | Err(Errno::IO) => {
                    // A terminal returns this when its last user is gone.
                    self.ends[stream.index()] = None;
                    self.end(stream, now);
                    return None;
                }
                Ok(count) => {
                    self.take(stream, count, now);
                    return Some(count);
                }
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    fn take(&mut self, stream: Stream, count: usize, now: Moment) {
        let bytes = &self.buffer[..count];
        let Some(next) = &mut self.next else {
            self.part.take(now, &self.secrets, stream, bytes, self.max_bytes);
            return;
        };
        let mut rest = bytes;
        if !next.has[stream.index()] {
            let line = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            let (ours, later) = bytes.split_at(line);
            self.part.take(now, &self.secrets, stream, ours, self.max_bytes);
            next.has[stream.index()] = self.part.is_at_line_end(stream);
            rest = later;
            if !next.has[stream.index()] {
                // A secret may continue after the line end; then the next line end counts.
                self.part.take(now, &self.secrets, stream, later, self.max_bytes);
                return;
            }
        }
        if !rest.is_empty() {
            next.part.take(now, &self.secrets, stream, rest, self.max_bytes);
        }
    }

    fn end(&mut self, stream: Stream, now: Moment) {
        match &mut self.next {
            Some(next) => {
                next.has[stream.index()] = true;
                next.part.end(now, stream);
            }
            None => self.part.end(now, stream),
        }
    }

    /// Input of the process belongs to the newest attempt.
    pub(crate) fn gave(&mut self, bytes: &[u8]) {
        let part = self.next.as_mut().map_or(&mut self.part, |next| &mut next.part);
        part.gave(&self.secrets, bytes);
    }

    /// So do actions of the host: the previous attempt is over except for its last line.
    pub(crate) fn act(&mut self, now: Moment, act: EndedBy) {
        let part = self.next.as_mut().map_or(&mut self.part, |next| &mut next.part);
        part.act(now, act);
    }

    /// Whether stdout and stderr have ended. The controlling terminal does not count: the host itself keeps it open.
    pub(crate) fn are_over(&self) -> bool {
        [Stream::Stdout, Stream::Stderr].iter().all(|stream| self.ends[stream.index()].is_none())
    }

    /// Closes the remaining streams; no process is left that could write.
    pub(crate) fn close(&mut self, now: Moment) {
        for stream in Stream::ALL {
            self.ends[stream.index()] = None;
            self.part.end(now, stream);
        }
    }

    pub(crate) fn announce_at(&self) -> Option<Moment> {
        let next = self.next.as_ref().and_then(|next| next.part.announce_at());
        [self.part.announce_at(), next].into_iter().flatten().min()
    }

    pub(crate) fn announce(&mut self, now: Moment) {
        self.part.announce(now);
        if let Some(next) = &mut self.next {
            next.part.announce(now);
        }
    }

    /// From each stream's next line end on, bytes belong to this part.
    pub(crate) fn begin_next(&mut self, part: AttemptEvidence) {
        let has = Stream::ALL.map(|stream| self.ends[stream.index()].is_none() || self.part.is_at_line_end(stream));
        self.next = Some(Next { part, has });
    }

    pub(crate) fn is_changing_over(&self) -> bool {
        self.next.is_some()
    }

    /// Whether every stream has reached a line end.
    pub(crate) fn has_changed_over(&self) -> bool {
        self.next.as_ref().is_some_and(|next| next.has.iter().all(|has| *has))
    }

    /// The new part becomes the only one; returns the old one, with everything in it announced.
    pub(crate) fn change_over(&mut self, now: Moment) -> Option<AttemptEvidence> {
        let next = self.next.take()?;
        let mut old = std::mem::replace(&mut self.part, next.part);
        for stream in Stream::ALL {
            if !next.has[stream.index()] {
                old.cut(stream, &mut self.part);
            }
            old.recorder.clear(stream, u64::MAX);
            if self.ends[stream.index()].is_none() {
                self.part.end(now, stream);
            }
        }
        old.announce(now);
        Some(old)
    }
}
