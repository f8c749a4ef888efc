//! Follows the evidence of an attempt that is being written, through the mask.
//!
//! The host reports to the reader how far each stream can be read. The mask for those bytes is on the disk before that.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use skillrun_model::AttemptNumber;

use crate::Stream;
use crate::error::EvidenceError;
use crate::lines::Lines;
use crate::mask::MaskFile;
use crate::names;
use crate::patterns::Patterns;

/// Most bytes given out at once.
const PIECE: usize = 256 * 1024;

/// Reads the streams of one attempt as they grow.
#[derive(Debug)]
pub struct Tail {
    audit: PathBuf,
    number: AttemptNumber,
    files: [Option<File>; 3],
    position: [u64; 3],
    mask: MaskFile,
    /// Present only when there are patterns.
    lines: Option<Lines>,
    buffer: Vec<u8>,
}

impl Tail {
    pub fn new(audit: &Path, number: AttemptNumber) -> Self {
        Self {
            audit: audit.to_owned(),
            number,
            files: [None, None, None],
            position: [0; 3],
            mask: MaskFile::new(audit.join(names::redact(number)), false),
            lines: None,
            buffer: Vec::new(),
        }
    }

    /// Hides patterns too; call it before anything is read. A line is then returned when its end has arrived, and a
    /// line without an end by [`Tail::rest`].
    #[must_use]
    pub fn hiding(self, patterns: &Patterns) -> Self {
        Self { lines: Lines::new(patterns), ..self }
    }

    /// Returns the next bytes of a stream, up to `to`; none when that is reached.
    pub fn next(&mut self, stream: Stream, to: u64) -> Result<Option<&[u8]>, EvidenceError> {
        let at = stream.index();
        while self.position[at] < to {
            let count = self.fill(stream, to)?;
            let from = self.position[at];
            self.position[at] += count as u64;
            let Some(lines) = &mut self.lines else {
                let bytes = &mut self.buffer[..count];
                self.mask.apply(stream, from, bytes);
                return Ok(Some(bytes));
            };
            let (offset, bytes) = lines.take(stream, &self.buffer[..count]);
            self.mask.apply(stream, offset, bytes);
            if !bytes.is_empty() {
                return Ok(self.lines.as_ref().map(Lines::last));
            }
        }
        Ok(None)
    }

    /// The stream is over: returns a last line without an end, if one was held back.
    pub fn rest(&mut self, stream: Stream) -> Option<&[u8]> {
        let (offset, bytes) = self.lines.as_mut()?.end(stream);
        self.mask.apply(stream, offset, bytes);
        Some(&*bytes).filter(|bytes| !bytes.is_empty())
    }

    /// Reads the next bytes and their mask; returns how many.
    fn fill(&mut self, stream: Stream, to: u64) -> Result<usize, EvidenceError> {
        let at = stream.index();
        self.mask.refresh()?;
        let path = self.audit.join(names::log(stream, self.number));
        let count = usize::try_from(to - self.position[at]).unwrap_or(PIECE).min(PIECE);
        self.buffer.resize(PIECE, 0);
        let bytes = &mut self.buffer[..count];
        fill(&mut self.files[at], &path, self.position[at], bytes).map_err(|error| EvidenceError::new(path, error))?;
        Ok(count)
    }
}

fn fill(file: &mut Option<File>, path: &Path, from: u64, bytes: &mut [u8]) -> io::Result<()> {
    let file = match file {
        Some(file) => file,
        None => file.insert(File::open(path)?),
    };
    file.seek(SeekFrom::Start(from))?;
    file.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorder;
    use crate::testing::Recording;

    #[test]
    fn growing_evidence_is_followed_and_masked() {
        let recording = Recording::new(&[]);
        let audit = recording.path().join(".audit");
        let mut recorder = Recorder::create(&audit, AttemptNumber(1), &[Stream::Stdout]).expect("files");
        let mut tail = Tail::new(&audit, AttemptNumber(1));
        assert_eq!(tail.next(Stream::Stdout, 0).expect("nothing"), None);
        let mut seen = Vec::new();
        let pieces: [(&[u8], Option<std::ops::Range<u64>>); 3] =
            [(b"one ", None), (b"hunter22", Some(4..12)), (b" two", None)];
        for (bytes, hidden) in pieces {
            recorder.write(Stream::Stdout, bytes).expect("written");
            if let Some(range) = hidden {
                recorder.hide(Stream::Stdout, range).expect("hidden");
            }
            recorder.clear(Stream::Stdout, u64::MAX);
            recorder.announce(0).expect("announced");
            let to = recorder.recorded(Stream::Stdout);
            while let Some(bytes) = tail.next(Stream::Stdout, to).expect("readable") {
                seen.extend_from_slice(bytes);
            }
        }
        assert_eq!(seen, b"one ******** two");
    }
}
