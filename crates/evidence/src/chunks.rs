//! `chunks.N.jsonl`: the order in which the host read, and what it did between reads.
//!
//! ```text
//! {"i":0,"t_ns":1200,"stream":"stdout","from":0,"to":512,"batch":0}    bytes
//! {"i":1,"t_ns":1300,"eof":"stdout"}                                  end of a stream
//! {"i":2,"t_ns":1400,"act":"hard_timeout"}                            an act of the host
//! {"t":0.0012,"s":"stdout","n":512}                                   bytes, as older recordings have it
//! ```

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;
use skillrun_model::EndedBy;

use crate::Stream;
use crate::error::EvidenceError;

/// One record of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkRecord {
    pub t_ns: u64,
    pub kind: ChunkKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    Bytes {
        stream: Stream,
        /// Absent in older recordings, where a record follows the one before it.
        from: Option<u64>,
        len: u64,
    },
    Eof(Stream),
    /// Why the host acted on the process. Acts that end nothing are not reported.
    Act(EndedBy),
}

/// Longest line the index can have; a longer one is no record.
const LINE_BUDGET: u64 = 64 * 1024;

/// Reads the index line by line.
#[derive(Debug)]
pub struct ChunkReader {
    reader: BufReader<File>,
    line: Vec<u8>,
    torn: bool,
}

#[derive(Deserialize)]
struct Line<'a> {
    t_ns: Option<u64>,
    #[serde(borrow)]
    stream: Option<&'a str>,
    from: Option<u64>,
    to: Option<u64>,
    eof: Option<&'a str>,
    act: Option<&'a str>,
    t: Option<f64>,
    s: Option<&'a str>,
    n: Option<u64>,
}

fn stream(name: &str) -> Option<Stream> {
    match name {
        "stdout" => Some(Stream::Stdout),
        "stderr" => Some(Stream::Stderr),
        "pty" => Some(Stream::Pty),
        _ => None,
    }
}

impl ChunkReader {
    pub fn open(path: &Path) -> Result<Option<Self>, EvidenceError> {
        match File::open(path) {
            Ok(file) => Ok(Some(Self { reader: BufReader::new(file), line: Vec::new(), torn: false })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(EvidenceError::new(path, error)),
        }
    }

    /// A line was no record: everything after it is unknown.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    pub fn next_record(&mut self) -> std::io::Result<Option<ChunkRecord>> {
        loop {
            if self.torn {
                return Ok(None);
            }
            self.line.clear();
            let read = std::io::Read::take(&mut self.reader, LINE_BUDGET).read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            if self.line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let complete = self.line.ends_with(b"\n");
            match serde_json::from_slice::<Line<'_>>(&self.line).ok().filter(|_| complete).and_then(|l| l.record()) {
                Some(Parsed::Record(record)) => return Ok(Some(record)),
                Some(Parsed::Ignored) => {}
                None => self.torn = true,
            }
        }
    }
}

enum Parsed {
    Record(ChunkRecord),
    /// A record that changes nothing for readers.
    Ignored,
}

impl Line<'_> {
    fn record(&self) -> Option<Parsed> {
        let t_ns = self.t_ns.or_else(|| self.t.map(|t| (t.max(0.0) * 1e9) as u64)).unwrap_or(0);
        let kind = if let Some(name) = self.act {
            match name.parse() {
                Ok(act) => ChunkKind::Act(act),
                Err(_) => return Some(Parsed::Ignored),
            }
        } else if let Some(name) = self.eof {
            ChunkKind::Eof(stream(name)?)
        } else if let (Some(name), Some(from), Some(to)) = (self.stream, self.from, self.to) {
            ChunkKind::Bytes { stream: stream(name)?, from: Some(from), len: to.checked_sub(from)? }
        } else if let (Some(name), Some(len)) = (self.s, self.n) {
            ChunkKind::Bytes { stream: stream(name)?, from: None, len }
        } else {
            return None;
        };
        Some(Parsed::Record(ChunkRecord { t_ns, kind }))
    }
}
