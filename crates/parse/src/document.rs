//! JSON documents that span several lines: recognised as they arrive, abandoned at the first byte that is not JSON.

use crate::lines::LINE_BUDGET;
use crate::record::Span;
use crate::text::objects::lane::{Frame, Lane, Step};
use skillrun_model::Stream;

/// A document that has begun and is not over yet.
#[derive(Debug)]
pub(crate) struct OpenDocument {
    pub(crate) stream: Stream,
    /// Offset of the first byte, blank lines before it included.
    pub(crate) from: u64,
    /// Offset of the first byte of the document itself.
    start: u64,
    bytes: Vec<u8>,
    lane: Lane,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Open,
    /// The document closed on this line and only blanks followed.
    Complete,
    /// These bytes are not a document.
    Failed,
}

const MAX_DEPTH: usize = 128;

impl OpenDocument {
    pub(crate) fn new(stream: Stream, from: u64, start: u64) -> Self {
        Self { stream, from, start, bytes: Vec::new(), lane: Lane::new() }
    }

    /// Takes one line, with its terminator.
    pub(crate) fn line(&mut self, line: &[u8], terminated: bool) -> Progress {
        if self.bytes.len() + line.len() + 1 > LINE_BUDGET {
            return Progress::Failed;
        }
        let mut progress = Progress::Open;
        for byte in line.iter().copied().chain(terminated.then_some(b'\n')) {
            progress = self.byte(byte, progress);
            if progress == Progress::Failed {
                return progress;
            }
        }
        self.bytes.extend_from_slice(line);
        if terminated {
            self.bytes.push(b'\n');
        }
        progress
    }

    fn byte(&mut self, byte: u8, before: Progress) -> Progress {
        if before == Progress::Complete {
            return if byte.is_ascii_whitespace() { before } else { Progress::Failed };
        }
        let opens = !self.lane.is_alive() || {
            match self.lane.step(byte) {
                Step::Opens => true,
                Step::Continues => return Progress::Open,
                Step::Closes(_) if self.lane.is_alive() => return Progress::Open,
                Step::Closes(_) => return Progress::Complete,
                Step::Fails => return Progress::Failed,
            }
        };
        debug_assert!(opens);
        let frame = Frame { start: 0, is_object: byte == b'{', opens_key: false, taken_before: 0 };
        if self.lane.push(frame, MAX_DEPTH).is_some() { Progress::Failed } else { Progress::Open }
    }

    pub(crate) fn span(&self) -> Span {
        Span { stream: self.stream, from: self.from, to: self.start + self.bytes.len() as u64 }
    }

    pub(crate) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// Returns the lines of an abandoned document, with the offset of the first.
    pub(crate) fn into_lines(self) -> (u64, Vec<u8>) {
        (self.start, self.bytes)
    }
}
