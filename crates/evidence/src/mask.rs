//! The mask: ranges of evidence that hold secrets read as `*`. Same length, so every offset stays true.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

use crate::Stream;
use crate::error::EvidenceError;

/// Ranges to hide, per stream, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mask {
    ranges: [Vec<(u64, u64)>; 3],
}

#[derive(Deserialize)]
struct Line {
    stream: String,
    from: u64,
    to: u64,
}

impl Mask {
    /// Reads `redact.N.jsonl`. A missing file masks nothing; one that cannot be read is an error, because what it hides
    /// would be shown. A line that is no range is passed over, because the ranges before and after it must hold all the
    /// same.
    pub fn read(path: &Path, pty_is_stdout: bool) -> Result<Self, EvidenceError> {
        let mut mask = Self::default();
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(mask),
            Err(error) => return Err(EvidenceError::new(path, error)),
        };
        for line in bytes.split(|b| *b == b'\n') {
            let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
            let stream = match line.stream.as_str() {
                "stdout" => Stream::Stdout,
                "stderr" => Stream::Stderr,
                "pty" if pty_is_stdout => Stream::Stdout,
                "pty" => Stream::Pty,
                _ => continue,
            };
            if line.from < line.to {
                mask.ranges[stream.index()].push((line.from, line.to));
            }
        }
        for ranges in &mut mask.ranges {
            ranges.sort_unstable();
            // Overlapping ranges become one, so that their ends are in order too.
            ranges.dedup_by(|next, last| {
                let joins = next.0 <= last.1;
                if joins {
                    last.1 = last.1.max(next.1);
                }
                joins
            });
        }
        Ok(mask)
    }

    /// Hides what of `bytes`, which begin at `offset`, lies in a range.
    pub fn apply(&self, stream: Stream, offset: u64, bytes: &mut [u8]) {
        let ranges = &self.ranges[stream.index()];
        let end = offset + bytes.len() as u64;
        let first = ranges.partition_point(|(_, to)| *to <= offset);
        for &(from, to) in ranges[first..].iter().take_while(|(from, _)| *from < end) {
            let start = from.clamp(offset, end) - offset;
            let stop = to.clamp(offset, end) - offset;
            bytes[start as usize..stop as usize].fill(b'*');
        }
    }
}

/// The mask of an attempt that may be going on: read again when its file has another size.
#[derive(Debug)]
pub(crate) struct MaskFile {
    path: PathBuf,
    pty_is_stdout: bool,
    /// Size of the file when it was read.
    len: u64,
    mask: Mask,
}

impl MaskFile {
    /// Nothing is read before [`MaskFile::refresh`].
    pub(crate) fn new(path: PathBuf, pty_is_stdout: bool) -> Self {
        Self { path, pty_is_stdout, len: 0, mask: Mask::default() }
    }

    /// Looks whether there is more to hide.
    pub(crate) fn refresh(&mut self) -> Result<(), EvidenceError> {
        let len = match fs::metadata(&self.path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(EvidenceError::new(&self.path, error)),
        };
        if len != self.len {
            self.mask = Mask::read(&self.path, self.pty_is_stdout)?;
            self.len = len;
        }
        Ok(())
    }

    pub(crate) fn apply(&self, stream: Stream, offset: u64, bytes: &mut [u8]) {
        self.mask.apply(stream, offset, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Recording;

    fn mask(lines: &str) -> Mask {
        let recording = Recording::new(&[("redact.1.jsonl", lines.as_bytes())]);
        Mask::read(&recording.path().join(".audit/redact.1.jsonl"), false).expect("readable")
    }

    fn applied(mask: &Mask, stream: Stream, offset: u64, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        mask.apply(stream, offset, &mut bytes);
        String::from_utf8(bytes).expect("ASCII")
    }

    #[test]
    fn ranges_are_hidden_and_nothing_else() {
        let mask = mask(concat!(
            "{\"stream\":\"stdout\",\"from\":6,\"to\":8}\n",
            "{\"stream\":\"stdout\",\"from\":1,\"to\":3}\n",
            "{\"stream\":\"stdout\",\"from\":2,\"to\":4}\n",
            "{\"stream\":\"stderr\",\"from\":0,\"to\":1}\n",
            "{\"stream\":\"stdout\",\"from\":9,\"to\":9}\n",
        ));
        assert_eq!(applied(&mask, Stream::Stdout, 0, "0123456789"), "0***45**89");
        assert_eq!(applied(&mask, Stream::Stdout, 0, "0123"), "0***", "the ranges came in another order");
        assert_eq!(applied(&mask, Stream::Stderr, 0, "0123"), "*123");
        assert_eq!(applied(&mask, Stream::Pty, 0, "0123"), "0123");
    }

    #[test]
    fn a_range_may_begin_before_and_end_behind_a_piece() {
        let mask = mask("{\"stream\":\"stdout\",\"from\":2,\"to\":8}\n");
        assert_eq!(applied(&mask, Stream::Stdout, 0, "012"), "01*");
        assert_eq!(applied(&mask, Stream::Stdout, 3, "345"), "***");
        assert_eq!(applied(&mask, Stream::Stdout, 6, "6789"), "**89");
        assert_eq!(applied(&mask, Stream::Stdout, 8, "89"), "89");
    }

    #[test]
    fn a_line_that_is_no_range_spoils_no_other() {
        let mask = mask(
            "{\"stream\":\"stdout\",\"from\":0,\"to\":1}\nnonsense\n\n{\"stream\":\"stdout\",\"from\":2,\"to\":3}",
        );
        assert_eq!(applied(&mask, Stream::Stdout, 0, "0123"), "*1*3");
    }

    #[test]
    fn a_missing_file_hides_nothing() {
        let recording = Recording::new(&[]);
        let mask = Mask::read(&recording.path().join("redact.1.jsonl"), false).expect("no error");
        assert_eq!(mask, Mask::default());
    }
}
