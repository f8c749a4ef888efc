//! Any part of one stream of one attempt, with secrets as `*`: the same bytes that a [`skillrun_evidence::Feed`] with
//! the patterns of the run returns, without reading what comes before them.
//!
//! ```text
//! stdout, stderr, pty   bytes that have a record, through the ranges of `redact.N.jsonl` and the patterns of the run
//! stdin                 the same mask; hidden whole until the host's record is there, because its ranges reach the disk
//!                       later than its bytes, and where the mask is not the one that the host sealed
//! ```
//!
//! A pattern is searched within a line, so a part of a line is read with everything before it in that line and
//! [`AHEAD`] bytes after it, as far as a search looks. Where a line has more than [`LINE_MAX`] bytes, those after that
//! many are shown as `*` when there are patterns: whether they match is unknown without reading all of the line.
//!
//! While an attempt is running, a last line without its end does not count where there are patterns: the rest of a
//! match may still be missing. A stream is measured when it is opened; open it again to see more.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use skillrun_evidence::mask::Mask;
use skillrun_evidence::{EvidenceError, HostRecord, PatternError, Patterns, names};
use skillrun_model::{AttemptNumber, Stream, word_enum};
use skillrun_runs::artifacts::Root;
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::record::RunRecord;
use skillrun_runs::retention;

mod recorded;
mod stdin_mask;
#[cfg(test)]
mod tests;

use recorded::Measured;
use stdin_mask::StdinMask;

/// Maximum number of bytes of one read.
pub const MOST: usize = 1 << 20;

/// This much of a line can be shown where there are patterns; the budget of a line for parsers is the same. Smaller in
/// tests, which need not take seconds.
pub const LINE_MAX: u64 = if cfg!(test) { 1 << 20 } else { 8 << 20 };

/// How far a search may look past a byte to decide whether it is hidden: a window of crate `evidence`, twice.
pub const AHEAD: u64 = 128 << 10;

/// Block size for reading back to the beginning of a line.
const BACK: u64 = 64 << 10;

word_enum! {
    /// A file of an attempt that can be read.
    pub RawKind {
        Stdout = "stdout",
        Stderr = "stderr",
        /// The terminal's recording.
        Pty = "pty",
        /// What was written to the process.
        Stdin = "stdin",
    }
}

/// Why a stream cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RawError {
    #[error("the output of attempt {0} was removed by retention; the Log still has the events read from it")]
    EvidenceRemoved(AttemptNumber),
    #[error("there is no attempt {0}; ask for one that was started")]
    NoAttempt(AttemptNumber),
    #[error("attempt {1} has no {what}; ask for stdout or stderr", what = .0.as_str())]
    NoStream(RawKind, AttemptNumber),
    #[error("failed to read the redaction patterns: {0}; output is withheld until run.json is repaired")]
    Patterns(#[from] PatternError),
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    #[error("{name} cannot be read ({error}); check that it is an ordinary file of this user")]
    Io { name: String, error: io::Error },
}

impl RawKind {
    fn file_name(self, attempt: AttemptNumber) -> String {
        match self {
            Self::Stdout => names::log(Stream::Stdout, attempt),
            Self::Stderr => names::log(Stream::Stderr, attempt),
            Self::Pty => names::log(Stream::Pty, attempt),
            Self::Stdin => names::stdin(attempt),
        }
    }

    fn stream(self) -> Option<Stream> {
        match self {
            Self::Stdout => Some(Stream::Stdout),
            Self::Stderr => Some(Stream::Stderr),
            Self::Pty => Some(Stream::Pty),
            Self::Stdin => None,
        }
    }
}

/// One stream of one attempt, as far as it was recorded when it was opened.
#[derive(Debug)]
pub struct RawStream {
    file: File,
    name: String,
    /// Bytes that have a record.
    recorded: u64,
    /// Those of them that can be shown.
    size: u64,
    hidden: Hidden,
    patterns: Patterns,
}

/// What is hidden in addition to the patterns.
#[derive(Debug)]
enum Hidden {
    Ranges(Mask, Stream),
    OfStdin(StdinMask),
    /// The secret ranges are not known yet, or not any more.
    All,
}

impl RawStream {
    /// Cheap, whatever the size of the stream: the recorded size comes from the host's record and the end of the index.
    /// Only an index without a host's record is read from the beginning.
    pub fn open(
        folder: &RunFolder,
        record: &RunRecord,
        attempt: AttemptNumber,
        stream: RawKind,
    ) -> Result<Self, RawError> {
        let opened = Self::open_there(folder, record, attempt, stream);
        // Retention leaves its note before it removes anything. Checked last: without a note now, nothing of the mask
        // was missing before.
        if retention::is_evidence_removed(&folder.audit()) && has_attempt(folder, attempt) {
            return Err(RawError::EvidenceRemoved(attempt));
        }
        opened
    }

    fn open_there(
        folder: &RunFolder,
        record: &RunRecord,
        attempt: AttemptNumber,
        kind: RawKind,
    ) -> Result<Self, RawError> {
        if !has_attempt(folder, attempt) {
            return Err(RawError::NoAttempt(attempt));
        }
        let audit = folder.audit();
        let patterns = Patterns::new(&record.redact_patterns)?;
        let has = |stream| audit.join(names::log(stream, attempt)).symlink_metadata().is_ok();
        let is_one_pty = has(Stream::Pty) && !has(Stream::Stdout) && !has(Stream::Stderr);
        // The terminal's recording alone replaces stdout, and events name it so.
        let file_of = if is_one_pty && kind == RawKind::Stdout { RawKind::Pty } else { kind };
        let name = file_of.file_name(attempt);
        let io = |error: io::Error| RawError::Io { name: name.clone(), error };
        let file = match open_file(folder, &name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(RawError::NoStream(kind, attempt)),
            opened => opened.map_err(io)?,
        };
        // A record that cannot be read vouches for nothing.
        let host = HostRecord::read(&audit, attempt).ok().flatten();
        let redact = audit.join(names::redact(attempt));
        let (recorded, hidden) = match file_of.stream() {
            Some(stream) => {
                let measured = Measured { audit: &audit, attempt, stream, file: &file, host: host.as_ref() };
                let recorded = measured.recorded(is_one_pty).map_err(io)?;
                // Read after the index, which lists no byte before its mask is on disk.
                let seen_as = if is_one_pty { Stream::Stdout } else { stream };
                (recorded, Hidden::Ranges(Mask::of_attempt(&audit, attempt, is_one_pty)?, seen_as))
            }
            None => {
                let sealed = host.as_ref().and_then(|host| host.hashes.get(&names::redact(attempt)));
                let hidden = match sealed {
                    Some(hash) => StdinMask::read(&redact, hash)?.map_or(Hidden::All, Hidden::OfStdin),
                    None => Hidden::All,
                };
                (file.metadata().map_err(io)?.len(), hidden)
            }
        };
        let mut opened = Self { file, name, recorded, size: recorded, hidden, patterns };
        let is_over = host.is_some()
            || folder.result().exists()
            || has_attempt(folder, AttemptNumber(attempt.0.saturating_add(1)));
        match opened.hidden {
            Hidden::Ranges(..) if !is_over && !opened.patterns.is_empty() => opened.size = opened.size_so_far()?,
            // Nothing is added to the input of a process whose host has written its final record.
            Hidden::Ranges(..) | Hidden::OfStdin(_) | Hidden::All => {}
        }
        Ok(opened)
    }

    /// How many bytes there are.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes from an offset on: at most `limit`, and never more than [`MOST`]. Empty at the end.
    pub fn read(&self, from: u64, limit: usize) -> Result<Vec<u8>, RawError> {
        let to = from.saturating_add(limit.min(MOST) as u64).min(self.size);
        if from >= to {
            return Ok(Vec::new());
        }
        let mut bytes = match &self.hidden {
            Hidden::All => return Ok(vec![b'*'; (to - from) as usize]),
            Hidden::Ranges(..) | Hidden::OfStdin(_) if self.patterns.is_empty() => self.bytes(from, to)?,
            Hidden::Ranges(..) | Hidden::OfStdin(_) => self.through_patterns(from, to)?,
        };
        match &self.hidden {
            Hidden::Ranges(mask, stream) => mask.apply(*stream, from, &mut bytes),
            Hidden::OfStdin(mask) => mask.apply(from, &mut bytes),
            Hidden::All => bytes.fill(b'*'),
        }
        Ok(bytes)
    }

    fn through_patterns(&self, from: u64, to: u64) -> Result<Vec<u8>, RawError> {
        let end = to.saturating_add(AHEAD).min(self.recorded);
        let begin = self.line_begin(from)?;
        let mut bytes = self.bytes(begin.unwrap_or(from), end)?;
        // The rest of a line that began too far away.
        let rest = if begin.is_some() { 0 } else { line_len(&bytes) };
        bytes[..rest].fill(b'*');
        self.patterns.apply(&mut bytes[rest..]);
        for line in bytes[rest..].split_mut(|byte| *byte == b'\n') {
            line.iter_mut().skip(LINE_MAX as usize).for_each(|byte| *byte = b'*');
        }
        let skipped = (from - begin.unwrap_or(from)) as usize;
        bytes.drain(..skipped);
        bytes.truncate((to - from) as usize);
        Ok(bytes)
    }

    /// The beginning of the line that contains a byte; none when it is further away than the longest line.
    fn line_begin(&self, of: u64) -> Result<Option<u64>, RawError> {
        let mut end = of;
        let low = of.saturating_sub(LINE_MAX + 1);
        while end > low {
            let begin = end.saturating_sub(BACK).max(low);
            if let Some(at) = self.bytes(begin, end)?.iter().rposition(|byte| *byte == b'\n') {
                return Ok(Some(begin + at as u64 + 1));
            }
            end = begin;
        }
        Ok((low == 0 && of <= LINE_MAX).then_some(0))
    }

    /// How much of a stream that is being written cannot change any more.
    fn size_so_far(&self) -> Result<u64, RawError> {
        let begin = self.line_begin(self.recorded)?.unwrap_or(0);
        Ok(begin.max(self.recorded.saturating_sub(AHEAD)))
    }

    fn bytes(&self, from: u64, to: u64) -> Result<Vec<u8>, RawError> {
        let mut bytes = vec![0; (to - from) as usize];
        let read = self.file.read_exact_at(&mut bytes, from);
        read.map_err(|error| RawError::Io { name: self.name.clone(), error })?;
        Ok(bytes)
    }
}

/// The length of the first line, without its end.
fn line_len(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len())
}

/// Whether an attempt was begun. Retention keeps its claim and its records.
fn has_attempt(folder: &RunFolder, attempt: AttemptNumber) -> bool {
    let audit = folder.audit();
    let logs = Stream::ALL.map(|stream| names::log(stream, attempt));
    let others = [names::claim(attempt), names::meta(attempt), names::host(attempt)];
    attempt > AttemptNumber::BEFORE_FIRST
        && others.iter().chain(&logs).any(|name| audit.join(name).symlink_metadata().is_ok())
}

/// Opens a file of the evidence. An engine may be able to put a link there, which would lead out of the run.
fn open_file(folder: &RunFolder, name: &str) -> io::Result<File> {
    Root::open(folder.root())?.file(&Path::new(".audit").join(name))
}
