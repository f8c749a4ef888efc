//! `chunks.N.jsonl`: the order in which the host read, and what it did between reads.
//!
//! ```text
//! {"i":0,"t_ns":1200,"stream":"stdout","from":0,"to":512,"batch":0,"masks":3}    bytes
//! {"i":1,"t_ns":1300,"eof":"stdout"}                                  end of a stream
//! {"i":2,"t_ns":1400,"act":"hard_timeout"}                            an act of the host
//! {"t":0.0012,"s":"stdout","n":512}                                   bytes, as older recordings have it
//! ```
//!
//! `masks` counts the lines of `redact.N.jsonl` that were on the disk before the record. A reader that finds fewer
//! lines withholds the bytes (see [`crate::mask`]). Recordings of version 0.1.0 do not have this field.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};
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
        /// Absent in older recordings, where each record follows the previous one.
        from: Option<u64>,
        len: u64,
        /// Lines of the mask that were on the disk before this record; absent in older recordings.
        masks: Option<u64>,
    },
    Eof(Stream),
    /// Why the host acted on the process. Acts that end nothing are not reported.
    Act(EndedBy),
}

/// Longest line the index can have; a longer one is not a record.
const LINE_BUDGET: u64 = 64 * 1024;

/// Whether a host may still append to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// A last line without its end is still being written.
    AtWork,
    /// A last line without its end is torn.
    Gone,
}

/// Reads the index line by line, up to its size when it was opened. An index that is still being written has more
/// records later, but for bytes that this reader may not know how to mask; [`crate::LiveFeed`] reads those.
#[derive(Debug)]
pub struct ChunkReader {
    reader: BufReader<Take<File>>,
    /// The current line; kept from one call to the next while its end is missing.
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
    masks: Option<u64>,
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
        Self::open_to(path, |file| file.metadata().map(|metadata| metadata.len()))
    }

    /// Continues to read as the index grows, for a reader that checks the mask again with each record.
    pub(crate) fn open_growing(path: &Path) -> Result<Option<Self>, EvidenceError> {
        Self::open_to(path, |_| Ok(u64::MAX))
    }

    fn open_to(path: &Path, end: impl Fn(&File) -> io::Result<u64>) -> Result<Option<Self>, EvidenceError> {
        match File::open(path).and_then(|file| end(&file).map(|end| file.take(end))) {
            Ok(file) => Ok(Some(Self { reader: BufReader::new(file), line: Vec::new(), torn: false })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(EvidenceError::new(path, error)),
        }
    }

    /// A line was not a record: everything after it is unknown.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    pub fn next_record(&mut self) -> io::Result<Option<ChunkRecord>> {
        self.next_written(Writer::Gone)
    }

    /// The next record; none when there is none yet, or no more.
    pub(crate) fn next_written(&mut self, writer: Writer) -> io::Result<Option<ChunkRecord>> {
        while !self.torn {
            let room = LINE_BUDGET.saturating_sub(self.line.len() as u64);
            self.reader.by_ref().take(room).read_until(b'\n', &mut self.line)?;
            let is_whole = self.line.ends_with(b"\n") || self.line.len() as u64 >= LINE_BUDGET;
            if self.line.is_empty() || (!is_whole && writer == Writer::AtWork) {
                return Ok(None);
            }
            let parsed = parse(&self.line);
            self.line.clear();
            match parsed {
                Some(Parsed::Record(record)) => return Ok(Some(record)),
                Some(Parsed::Ignored) => {}
                None => self.torn = true,
            }
        }
        Ok(None)
    }
}

/// The highest mask line count in any record of an index; zero where no record has a count. The counts never decrease,
/// so the last record of bytes has the highest; the whole index is read only where its end shows none.
pub(crate) fn most_masks(path: &Path) -> Result<u64, EvidenceError> {
    let failed = |error: io::Error| EvidenceError::new(path, error);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(failed(error)),
    };
    let len = file.metadata().map_err(failed)?.len();
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(len.saturating_sub(LINE_BUDGET)))
        .and_then(|_| file.take(LINE_BUDGET).read_to_end(&mut end))
        .map_err(failed)?;
    for line in end.split_inclusive(|byte| *byte == b'\n').rev() {
        if let Some(Parsed::Record(ChunkRecord { kind: ChunkKind::Bytes { masks, .. }, .. })) = parse(line) {
            return Ok(masks.unwrap_or(0));
        }
    }
    let Some(mut reader) = ChunkReader::open(path)? else { return Ok(0) };
    let mut most = 0;
    while let Some(record) = reader.next_record().map_err(failed)? {
        if let ChunkKind::Bytes { masks, .. } = record.kind {
            most = most.max(masks.unwrap_or(0));
        }
    }
    Ok(most)
}

/// What a line says; none when it is not a record.
fn parse(line: &[u8]) -> Option<Parsed> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Some(Parsed::Ignored);
    }
    let line = serde_json::from_slice::<Line<'_>>(line.strip_suffix(b"\n")?).ok()?;
    line.record()
}

enum Parsed {
    Record(ChunkRecord),
    /// A blank line, or a record that changes nothing for readers.
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
            let len = to.checked_sub(from)?;
            ChunkKind::Bytes { stream: stream(name)?, from: Some(from), len, masks: self.masks }
        } else if let (Some(name), Some(len)) = (self.s, self.n) {
            ChunkKind::Bytes { stream: stream(name)?, from: None, len, masks: None }
        } else {
            return None;
        };
        Some(Parsed::Record(ChunkRecord { t_ns, kind }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Recording;

    /// The records of an index, and whether it was torn.
    fn records(index: &[u8]) -> (Vec<ChunkRecord>, bool) {
        let recording = Recording::new(&[("chunks.1.jsonl", index)]);
        let path = recording.path().join(".audit/chunks.1.jsonl");
        let mut reader = ChunkReader::open(&path).expect("readable").expect("there");
        let mut records = Vec::new();
        while let Some(record) = reader.next_record().expect("readable") {
            records.push(record);
        }
        (records, reader.is_torn())
    }

    fn bytes(t_ns: u64, stream: Stream, from: Option<u64>, len: u64) -> ChunkRecord {
        ChunkRecord { t_ns, kind: ChunkKind::Bytes { stream, from, len, masks: None } }
    }

    #[test]
    fn records_of_today() {
        let index = [
            r#"{"i":0,"t_ns":5,"stream":"stdout","from":0,"to":7,"batch":0}"#,
            "",
            r#"{"i":1,"t_ns":6,"stream":"stderr","from":3,"to":3,"batch":0,"new":true}"#,
            r#"{"i":2,"t_ns":7,"stream":"pty","from":0,"to":1,"batch":1,"masks":4}"#,
            r#"{"i":3,"t_ns":8,"eof":"stderr"}"#,
            r#"{"i":4,"t_ns":9,"act":"hard_timeout"}"#,
        ];
        let masked = ChunkKind::Bytes { stream: Stream::Pty, from: Some(0), len: 1, masks: Some(4) };
        let expected = vec![
            bytes(5, Stream::Stdout, Some(0), 7),
            bytes(6, Stream::Stderr, Some(3), 0),
            ChunkRecord { t_ns: 7, kind: masked },
            ChunkRecord { t_ns: 8, kind: ChunkKind::Eof(Stream::Stderr) },
            ChunkRecord { t_ns: 9, kind: ChunkKind::Act(EndedBy::HardTimeout) },
        ];
        assert_eq!(records((index.join("\n") + "\n").as_bytes()), (expected, false));
    }

    #[test]
    fn records_of_older_recordings() {
        let index = b"{\"t\": 0.5, \"s\": \"stdout\", \"n\": 7}\n{\"t\": -1.0, \"s\": \"pty\", \"n\": 0}\n";
        let expected = vec![bytes(500_000_000, Stream::Stdout, None, 7), bytes(0, Stream::Pty, None, 0)];
        assert_eq!(records(index), (expected, false));
    }

    #[test]
    fn an_act_that_ends_nothing_is_passed_over() {
        let index = b"{\"t_ns\":1,\"act\":\"watered_the_plants\"}\n{\"t_ns\":2,\"eof\":\"stdout\"}\n";
        let expected = vec![ChunkRecord { t_ns: 2, kind: ChunkKind::Eof(Stream::Stdout) }];
        assert_eq!(records(index), (expected, false));
    }

    #[test]
    fn nothing_is_read_after_a_line_that_is_not_a_record() {
        let good = "{\"t_ns\":1,\"stream\":\"stdout\",\"from\":0,\"to\":1}\n";
        let long = format!("{{\"t_ns\":1,\"x\":\"{}\",\"eof\":\"stdout\"}}\n", "x".repeat(LINE_BUDGET as usize));
        let bad_lines: [&[u8]; 10] = [
            b"{\"t_ns\":1,\"stream\":\"stdo\n",
            b"null\n",
            b"{}\n",
            b"\xff\n",
            b"{\"t_ns\":1,\"eof\":\"stdin\"}\n",
            b"{\"t_ns\":1,\"stream\":\"elsewhere\",\"from\":0,\"to\":1}\n",
            b"{\"t_ns\":1,\"stream\":\"stdout\",\"from\":2,\"to\":1}\n",
            b"{\"t_ns\":1,\"stream\":\"stdout\",\"from\":-1,\"to\":1}\n",
            b"{\"t\":1,\"s\":\"stdout\"}\n",
            long.as_bytes(),
        ];
        for bad in bad_lines {
            let index = [good.as_bytes(), bad, good.as_bytes()].concat();
            let shown = bad[..bad.len().min(80)].escape_ascii();
            assert_eq!(records(&index), (vec![bytes(1, Stream::Stdout, Some(0), 1)], true), "{shown}");
        }
    }

    #[test]
    fn a_last_line_without_its_end_is_torn() {
        assert_eq!(records(b"{\"t_ns\":1,\"eof\":\"stdout\"}"), (vec![], true));
    }

    #[test]
    fn a_missing_index_is_not_an_error() {
        let recording = Recording::new(&[]);
        assert!(ChunkReader::open(&recording.path().join("chunks.1.jsonl")).expect("no error").is_none());
        assert!(
            ChunkReader::open(recording.path())
                .is_ok_and(|reader| reader.is_some_and(|mut reader| reader.next_record().is_err()))
        );
    }
}
