//! The bytes of a stream of events, read as they come: the head of the answer, chunks, lines, events.

use crate::problem::Problem;

/// No line of anything here is longer.
const LINE_MAX: usize = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The first line of the answer is not there yet.
    Status,
    Headers,
    /// The line with the size of a chunk comes next.
    Size,
    Chunk {
        left: usize,
    },
    /// The end of a chunk's line comes next.
    ChunkEnd,
    /// The empty line after the last chunk comes next.
    Last,
    Over,
}

/// One stream, and how far it was read.
#[derive(Debug)]
pub(crate) struct Wire {
    stage: Stage,
    /// A line of the protocol that is not whole yet.
    head: Vec<u8>,
    /// A line of the events that is not whole yet.
    line: Vec<u8>,
    id: Option<u64>,
}

impl Wire {
    pub(crate) fn new() -> Self {
        Self { stage: Stage::Status, head: Vec::new(), line: Vec::new(), id: None }
    }

    /// The answer was 200 and its headers are read.
    pub(crate) fn is_open(&self) -> bool {
        match self.stage {
            Stage::Status | Stage::Headers => false,
            Stage::Size | Stage::Chunk { .. } | Stage::ChunkEnd | Stage::Last | Stage::Over => true,
        }
    }

    /// It ended as it should.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Takes bytes, and gives each event that is whole: its number, if it has one, and its data.
    pub(crate) fn take(&mut self, mut bytes: &[u8], each: &mut impl FnMut(Option<u64>, &[u8])) -> Result<(), Problem> {
        while !bytes.is_empty() {
            if let Stage::Chunk { left } = self.stage {
                let (now, later) = bytes.split_at(left.min(bytes.len()));
                self.events(now, each)?;
                bytes = later;
                self.stage = if now.len() == left { Stage::ChunkEnd } else { Stage::Chunk { left: left - now.len() } };
                continue;
            }
            if self.stage == Stage::Over {
                return Err(Problem("a stream continued after its end".to_owned()));
            }
            let Some(end) = memchr::memchr(b'\n', bytes) else {
                self.head.extend_from_slice(bytes);
                return bounded(&self.head);
            };
            self.head.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = String::from_utf8_lossy(&std::mem::take(&mut self.head)).trim_end().to_owned();
            self.stage = self.after(&line)?;
        }
        Ok(())
    }

    fn after(&self, line: &str) -> Result<Stage, Problem> {
        Ok(match self.stage {
            Stage::Status if line.starts_with("HTTP/1.1 200") => Stage::Headers,
            Stage::Status => return Err(Problem(format!("not a stream: {line}"))),
            Stage::Headers if line.is_empty() => Stage::Size,
            Stage::Headers => Stage::Headers,
            Stage::Size => match usize::from_str_radix(line, 16) {
                Ok(0) => Stage::Last,
                Ok(left) => Stage::Chunk { left },
                Err(_) => return Err(Problem(format!("not the size of a chunk: {line:?}"))),
            },
            Stage::ChunkEnd => Stage::Size,
            Stage::Last => Stage::Over,
            Stage::Chunk { .. } | Stage::Over => self.stage,
        })
    }

    fn events(&mut self, mut bytes: &[u8], each: &mut impl FnMut(Option<u64>, &[u8])) -> Result<(), Problem> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            if self.line.is_empty() {
                field(&mut self.id, &bytes[..end], each);
            } else {
                self.line.extend_from_slice(&bytes[..end]);
                field(&mut self.id, &self.line, each);
                self.line.clear();
            }
            bytes = &bytes[end + 1..];
        }
        self.line.extend_from_slice(bytes);
        bounded(&self.line)
    }
}

/// Data is always one line here, so its line is the event.
fn field(id: &mut Option<u64>, line: &[u8], each: &mut impl FnMut(Option<u64>, &[u8])) {
    if let Some(value) = line.strip_prefix(b"id: ") {
        let number = value.split(|byte| *byte == b'.').next().unwrap_or_default();
        *id = str::from_utf8(number).ok().and_then(|number| number.parse().ok());
    } else if let Some(data) = line.strip_prefix(b"data: ") {
        each(id.take(), data);
    }
}

fn bounded(line: &[u8]) -> Result<(), Problem> {
    if line.len() > LINE_MAX { Err(Problem("a line of a stream is too long".to_owned())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                          d\r\nretry: 1000\n\n\r\n19\r\nid: 1\ndata: a\n\nid: 2.3\nda\r\n7\r\nta: b\n\n\r\n0\r\n\r\n";

    #[test]
    fn events_are_found_however_the_bytes_come() {
        for size in 1..STREAM.len() {
            let (mut wire, mut got) = (Wire::new(), Vec::new());
            for piece in STREAM.as_bytes().chunks(size) {
                let each = &mut |id, data: &[u8]| got.push((id, String::from_utf8_lossy(data).into_owned()));
                assert!(wire.take(piece, each).is_ok());
            }
            assert!(wire.is_open() && wire.is_over(), "{size}");
            assert_eq!(got, [(Some(1), "a".to_owned()), (Some(2), "b".to_owned())], "{size}");
        }
    }

    #[test]
    fn other_answers_are_no_streams() {
        let mut wire = Wire::new();
        assert!(wire.take(b"HTTP/1.1 404 Not Found\r\n", &mut |_, _| ()).is_err());
        assert!(!wire.is_open());
    }
}
