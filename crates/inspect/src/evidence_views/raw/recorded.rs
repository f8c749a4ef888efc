//! How much of a stream has records in the chunk index, without reading the whole index where possible.
//!
//! ```text
//! the host's record is there    it has the size; the end of the index shows that nothing is missing
//! a host is at work             the last record of the stream: a host appends whole lines
//! neither                       all of the index is read, as every other reader does: after a crash anything may be in it
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::Deserialize;
use skillrun_evidence::chunks::{ChunkKind, ChunkReader};
use skillrun_evidence::error::EvidenceErrorKind;
use skillrun_evidence::{EvidenceError, HostRecord, names};
use skillrun_model::{AttemptNumber, Stream};

/// Block size for reading the index backwards.
const BLOCK: u64 = if cfg!(test) { 512 } else { 64 << 10 };

/// A stream that is to be measured.
#[derive(Debug)]
pub(super) struct Measured<'a> {
    pub(super) audit: &'a Path,
    pub(super) attempt: AttemptNumber,
    pub(super) stream: Stream,
    pub(super) file: &'a File,
    pub(super) host: Option<&'a HostRecord>,
}

/// A record of bytes, as hosts write it.
#[derive(Deserialize)]
struct BytesLine<'a> {
    stream: &'a str,
    to: u64,
    batch: u64,
}

/// Any other record, which is irrelevant here.
#[derive(Deserialize)]
struct OtherLine<'a> {
    #[serde(default, borrow)]
    eof: Option<&'a str>,
    #[serde(default, borrow)]
    act: Option<&'a str>,
}

impl Measured<'_> {
    /// Bytes of the stream that readers may use.
    pub(super) fn recorded(&self, is_one_pty: bool) -> io::Result<u64> {
        let path = self.audit.join(names::chunks(self.attempt));
        let index = match File::open(&path) {
            Ok(index) => index,
            // An old recording: everything in the file counts. Hosts create the index before the streams.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(self.file.metadata()?.len()),
            Err(error) => return Err(error),
        };
        // The index first: the bytes it lists are in the file by then.
        let index_len = index.metadata()?.len();
        let len = self.file.metadata()?.len();
        if len == 0 {
            return Ok(0);
        }
        let told = match self.host {
            Some(_) if is_one_pty => None,
            Some(host) => self.size_from_host(host, &index, index_len)?.filter(|told| *told <= len),
            None if is_one_pty || !self.audit.join(names::SOCKET).exists() => None,
            None => self.last_record(&index, index_len, len)?,
        };
        match told {
            Some(told) => Ok(told),
            None => self.read_all(&path, is_one_pty, len),
        }
    }

    /// The size in the host's record, if the index has everything that it had then.
    fn size_from_host(&self, host: &HostRecord, index: &File, index_len: u64) -> io::Result<Option<u64>> {
        let told = match self.stream {
            Stream::Stdout => host.bytes.stdout,
            Stream::Stderr => host.bytes.stderr,
            Stream::Pty => host.bytes.pty,
        };
        let mut last_batch = None;
        let walked = backwards(index, index_len, |line| {
            last_batch = line.map(|line| line.batch);
            line.is_none()
        })?;
        let is_complete =
            walked == Walk::Enough && last_batch.and_then(|batch| batch.checked_add(1)) == Some(host.capture.batches);
        let is_sealed = host.hashes.contains_key(&names::chunks(self.attempt));
        Ok((is_complete && is_sealed).then_some(told))
    }

    /// The end of the last record that is inside the file.
    fn last_record(&self, index: &File, index_len: u64, len: u64) -> io::Result<Option<u64>> {
        let word = self.stream.source().as_str();
        let mut found = 0;
        let walked = backwards(index, index_len, |line| match line {
            Some(line) if line.stream == word && line.to <= len => {
                found = line.to;
                false
            }
            Some(_) | None => true,
        })?;
        Ok((walked != Walk::Foreign).then_some(found))
    }

    /// By the same rules as [`skillrun_evidence::Feed`].
    fn read_all(&self, path: &Path, is_one_pty: bool, len: u64) -> io::Result<u64> {
        let plain = |error: EvidenceError| match error.kind {
            EvidenceErrorKind::Io(error) => error,
            kind @ (EvidenceErrorKind::NoFolder
            | EvidenceErrorKind::NoAttempt
            | EvidenceErrorKind::NoSuchAttempt(..)
            | EvidenceErrorKind::BadRunRecord(_)
            | EvidenceErrorKind::Pattern(_)) => io::Error::other(kind),
        };
        let Some(mut reader) = ChunkReader::open(path).map_err(plain)? else { return Ok(len) };
        let is_it = |stream: Stream| stream == self.stream || (is_one_pty && stream == Stream::Stdout);
        let mut position = 0u64;
        while let Some(record) = reader.next_record()? {
            match record.kind {
                ChunkKind::Bytes { stream, from, len: count, masks: _ } if is_it(stream) => {
                    let to = position.checked_add(count).filter(|to| *to <= len);
                    match to {
                        Some(to) if from.is_none_or(|from| from == position) => position = to,
                        // It is past the end of the file, and nothing after it counts.
                        Some(_) | None => break,
                    }
                }
                ChunkKind::Eof(stream) if is_it(stream) => break,
                ChunkKind::Bytes { .. } | ChunkKind::Eof(_) | ChunkKind::Act(_) => {}
            }
        }
        Ok(position)
    }
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walk {
    Enough,
    Beginning,
    /// A line is not in the form that hosts write.
    Foreign,
}

/// Walks the lines of an index from the last to the first, until `each` has enough; `each` receives the records of
/// bytes, and none for other records. A last line without its end is being written, and is skipped.
fn backwards(index: &File, len: u64, mut each: impl FnMut(Option<&BytesLine<'_>>) -> bool) -> io::Result<Walk> {
    let mut begin = len;
    // From `begin` to the end of a line that is not yet processed.
    let mut text: Vec<u8> = Vec::new();
    let mut is_end_known = false;
    while begin > 0 {
        let block = BLOCK.min(begin);
        begin -= block;
        let mut joined = vec![0; block as usize];
        index.read_exact_at(&mut joined, begin)?;
        joined.append(&mut text);
        text = joined;
        if text.len() as u64 > BLOCK * 3 {
            return Ok(Walk::Foreign);
        }
        if !is_end_known {
            let Some(end) = text.iter().rposition(|byte| *byte == b'\n') else { continue };
            text.truncate(end + 1);
            is_end_known = true;
        }
        // The first line may have begun earlier; all others are complete.
        while let Some(end) = text.len().checked_sub(1) {
            let line = match text[..end].iter().rposition(|byte| *byte == b'\n') {
                Some(at) => at + 1,
                None if begin == 0 => 0,
                None => break,
            };
            let record = serde_json::from_slice::<BytesLine<'_>>(&text[line..end]);
            let go_on = match &record {
                Ok(record) => each(Some(record)),
                Err(_) if is_other(&text[line..end]) => each(None),
                Err(_) => return Ok(Walk::Foreign),
            };
            if !go_on {
                return Ok(Walk::Enough);
            }
            text.truncate(line);
        }
    }
    Ok(Walk::Beginning)
}

fn is_other(line: &[u8]) -> bool {
    serde_json::from_slice::<OtherLine<'_>>(line).is_ok_and(|line| line.eof.is_some() || line.act.is_some())
}
