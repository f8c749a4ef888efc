//! JSON documents that span several lines: recognised as they arrive, abandoned at the first byte that is not JSON.

use crate::lines::LINE_BUDGET;
use crate::record::Span;
use crate::text::objects::lane::{Frame, Lane, LaneStep};
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
pub(crate) enum DocumentState {
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
    pub(crate) fn line(&mut self, line: &[u8], terminated: bool) -> DocumentState {
        if self.bytes.len() + line.len() + 1 > LINE_BUDGET {
            return DocumentState::Failed;
        }
        let mut progress = DocumentState::Open;
        for byte in line.iter().copied().chain(terminated.then_some(b'\n')) {
            progress = self.byte(byte, progress);
            if progress == DocumentState::Failed {
                return progress;
            }
        }
        self.bytes.extend_from_slice(line);
        if terminated {
            self.bytes.push(b'\n');
        }
        progress
    }

    fn byte(&mut self, byte: u8, before: DocumentState) -> DocumentState {
        if before == DocumentState::Complete {
            return if byte.is_ascii_whitespace() { before } else { DocumentState::Failed };
        }
        let opens = !self.lane.is_alive() || {
            match self.lane.step(byte) {
                LaneStep::Opens => true,
                LaneStep::Continues => return DocumentState::Open,
                LaneStep::Closes(_) if self.lane.is_alive() => return DocumentState::Open,
                LaneStep::Closes(_) => return DocumentState::Complete,
                LaneStep::Fails => return DocumentState::Failed,
            }
        };
        debug_assert!(opens);
        let frame = Frame { start: 0, is_object: byte == b'{', opens_key: false, taken_before: 0 };
        if self.lane.push(frame, MAX_DEPTH).is_some() { DocumentState::Failed } else { DocumentState::Open }
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
