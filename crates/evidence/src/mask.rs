//! The mask: ranges of evidence that hold secrets are read as `*`. Same length, so every offset stays valid.
//!
//! The mask fails closed. Each record of the chunk index counts the lines that the mask had when the record was
//! written. Where the file has fewer valid lines than that, because a crash or a user removed them, the bytes of the
//! record are withheld: all of them are read as `*`. Recordings without such counts are read as before.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;
use skillrun_model::AttemptNumber;

use crate::Stream;
use crate::chunks::{self, ChunkKind, ChunkReader};
use crate::error::EvidenceError;
use crate::names;

/// Ranges to hide, per stream, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mask {
    ranges: [Vec<(u64, u64)>; 3],
    /// Byte ranges of records that count more lines than the file has.
    withheld: [Vec<(u64, u64)>; 3],
    /// Lines of the file before the first invalid one.
    lines: u64,
}

#[derive(Deserialize)]
struct Line {
    stream: String,
    from: u64,
    to: u64,
}

impl Mask {
    /// Reads `redact.N.jsonl`. A missing file masks nothing; one that cannot be read is an error, because what it hides
    /// would be shown. A line that is not a range is skipped, because the ranges before and after it must still apply;
    /// but nothing that was written after it counts as known.
    pub fn read(path: &Path, pty_is_stdout: bool) -> Result<Self, EvidenceError> {
        let mut mask = Self::default();
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(mask),
            Err(error) => return Err(EvidenceError::new(path, error)),
        };
        let mut is_sound = true;
        for line in bytes.strip_suffix(b"\n").unwrap_or(&bytes).split(|b| *b == b'\n') {
            let Ok(line) = serde_json::from_slice::<Line>(line) else {
                is_sound = false;
                continue;
            };
            mask.lines += u64::from(is_sound);
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

    /// The mask of an attempt, including the ranges that must be withheld according to its index. For readers that do
    /// not use a [`crate::Feed`], which does the same record by record.
    pub fn of_attempt(audit: &Path, number: AttemptNumber, pty_is_stdout: bool) -> Result<Self, EvidenceError> {
        let index = audit.join(names::chunks(number));
        // The index first: the lines that it counts are in the mask by then.
        let most = chunks::most_masks(&index)?;
        let mut mask = Self::read(&audit.join(names::redact(number)), pty_is_stdout)?;
        if mask.knows(Some(most)) {
            return Ok(mask);
        }
        let Some(mut reader) = ChunkReader::open(&index)? else { return Ok(mask) };
        while let Some(record) = reader.next_record().map_err(|error| EvidenceError::new(&index, error))? {
            if let ChunkKind::Bytes { stream, from: Some(from), len, masks } = record.kind
                && !mask.knows(masks)
            {
                let seen_as = if pty_is_stdout && stream == Stream::Pty { Stream::Stdout } else { stream };
                mask.withhold(seen_as, from, from.saturating_add(len));
            }
        }
        Ok(mask)
    }

    /// Whether every range is known that hides the bytes of a record with this line count.
    pub(crate) fn knows(&self, masks: Option<u64>) -> bool {
        masks.is_none_or(|masks| masks <= self.lines)
    }

    /// Hides a whole range; ranges of a stream come in order.
    pub(crate) fn withhold(&mut self, stream: Stream, from: u64, to: u64) {
        let withheld = &mut self.withheld[stream.index()];
        match withheld.last_mut() {
            Some(last) if last.1 >= from => last.1 = last.1.max(to),
            Some(_) | None => withheld.push((from, to)),
        }
    }

    /// Bytes that are withheld, of all streams together.
    pub fn withheld(&self) -> u64 {
        self.withheld.iter().flatten().map(|(from, to)| to - from).sum()
    }

    /// Hides the part of `bytes`, which begin at `offset`, that lies in a range.
    pub fn apply(&self, stream: Stream, offset: u64, bytes: &mut [u8]) {
        for ranges in [&self.ranges, &self.withheld] {
            hide(&ranges[stream.index()], offset, bytes);
        }
    }
}

fn hide(ranges: &[(u64, u64)], offset: u64, bytes: &mut [u8]) {
    let end = offset + bytes.len() as u64;
    let first = ranges.partition_point(|(_, to)| *to <= offset);
    for &(from, to) in ranges[first..].iter().take_while(|(from, _)| *from < end) {
        let start = from.clamp(offset, end) - offset;
        let stop = to.clamp(offset, end) - offset;
        bytes[start as usize..stop as usize].fill(b'*');
    }
}

/// The mask of an attempt that may be running: read again when its file has another size.
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

    /// Checks whether there is more to hide.
    pub(crate) fn refresh(&mut self) -> Result<(), EvidenceError> {
        let len = match fs::metadata(&self.path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(EvidenceError::new(&self.path, error)),
        };
        if len != self.len {
            let withheld = std::mem::take(&mut self.mask.withheld);
            self.mask = Mask { withheld, ..Mask::read(&self.path, self.pty_is_stdout)? };
            self.len = len;
        }
        Ok(())
    }

    pub(crate) fn knows(&self, masks: Option<u64>) -> bool {
        self.mask.knows(masks)
    }

    pub(crate) fn withhold(&mut self, stream: Stream, from: u64, to: u64) {
        self.mask.withhold(stream, from, to);
    }

    pub(crate) fn withheld(&self) -> u64 {
        self.mask.withheld()
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
    fn an_invalid_mask_line_does_not_affect_other_lines() {
        let mask = mask(
            "{\"stream\":\"stdout\",\"from\":0,\"to\":1}\nnonsense\n\n{\"stream\":\"stdout\",\"from\":2,\"to\":3}",
        );
        assert_eq!(applied(&mask, Stream::Stdout, 0, "0123"), "*1*3");
    }

    #[test]
    fn mask_lines_after_an_invalid_one_are_not_known() {
        let line = "{\"stream\":\"stdin\",\"from\":0,\"to\":1}\n";
        for (text, lines) in [
            (String::new(), 0),
            (line.repeat(3), 3),
            (line.repeat(3).trim_end().to_owned(), 3),
            (format!("{line}{{\"stream\":\"std"), 1),
            (format!("{line}nonsense\n{line}"), 1),
            (format!("\0\0\0\0\n{line}"), 0),
        ] {
            let mask = mask(&text);
            assert_eq!((mask.knows(Some(lines)), mask.knows(Some(lines + 1))), (true, false), "{text}");
            assert!(mask.knows(None), "a recording without counts");
        }
    }

    #[test]
    fn what_is_not_known_to_be_free_of_secrets_is_withheld() {
        let index = concat!(
            "{\"i\":0,\"t_ns\":1,\"stream\":\"stdout\",\"from\":0,\"to\":2,\"batch\":0,\"masks\":0}\n",
            "{\"i\":1,\"t_ns\":1,\"stream\":\"stdout\",\"from\":2,\"to\":6,\"batch\":0,\"masks\":1}\n",
            "{\"i\":2,\"t_ns\":1,\"eof\":\"stdout\"}\n",
        );
        let read = |mask: &[u8], index: &str| {
            let files: [(&str, &[u8]); 2] = [("redact.1.jsonl", mask), ("chunks.1.jsonl", index.as_bytes())];
            let recording = Recording::new(&files);
            let mask = Mask::of_attempt(&recording.path().join(".audit"), AttemptNumber(1), false).expect("readable");
            (applied(&mask, Stream::Stdout, 0, "012345"), mask.withheld())
        };
        let range = b"{\"stream\":\"stdout\",\"from\":3,\"to\":4}\n";
        assert_eq!(read(range, index), ("012*45".to_owned(), 0));
        assert_eq!(read(b"", index), ("01****".to_owned(), 4));
        assert_eq!(read(b"", &index.replace(",\"masks\":1", "")), ("012345".to_owned(), 0), "as 0.1.0 wrote it");
    }

    #[test]
    fn a_missing_file_hides_nothing() {
        let recording = Recording::new(&[]);
        let mask = Mask::read(&recording.path().join("redact.1.jsonl"), false).expect("no error");
        assert_eq!(mask, Mask::default());
    }
}
