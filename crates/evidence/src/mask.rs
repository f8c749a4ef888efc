//! The mask: ranges of evidence that hold secrets read as `*`. Same length, so every offset stays true.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::Stream;

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
    /// Reads `redact.N.jsonl`. A missing file masks nothing; a line that is no range is passed over, because the
    /// ranges before and after it must hold all the same.
    pub fn read(path: &Path, pty_is_stdout: bool) -> Self {
        let mut mask = Self::default();
        let Ok(bytes) = fs::read(path) else { return mask };
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
        }
        mask
    }

    /// Hides what of `bytes`, which begin at `offset`, lies in a range.
    pub fn apply(&self, stream: Stream, offset: u64, bytes: &mut [u8]) {
        let ranges = &self.ranges[stream.index()];
        let end = offset + bytes.len() as u64;
        for &(from, to) in ranges.iter().take_while(|(from, _)| *from < end) {
            let start = from.clamp(offset, end) - offset;
            let stop = to.clamp(offset, end) - offset;
            bytes[start as usize..stop as usize].fill(b'*');
        }
    }
}
