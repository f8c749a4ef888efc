//! Ranges of a process's input that contain secrets. Other readers of `redact.N.jsonl` skip them.

use std::path::Path;
use std::{fs, io};

use serde::Deserialize;

use super::RawError;

#[derive(Debug, Default)]
pub(super) struct StdinMask {
    /// In order of their beginnings; they may overlap.
    ranges: Vec<(u64, u64)>,
}

#[derive(Deserialize)]
struct Line<'a> {
    stream: &'a str,
    from: u64,
    to: u64,
}

impl StdinMask {
    /// None where the file is not the one that the host sealed. A missing file is an error: the host's record lists it.
    pub(super) fn read(path: &Path, sealed: &str) -> Result<Option<Self>, RawError> {
        let text = fs::read(path).map_err(|error: io::Error| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            RawError::Io { name, error }
        })?;
        if *blake3::hash(&text).to_hex() != *sealed {
            return Ok(None);
        }
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line<'_>>(line).ok());
        let mut ranges: Vec<_> = lines.filter(|line| line.stream == "stdin").map(|line| (line.from, line.to)).collect();
        ranges.sort_unstable();
        Ok(Some(Self { ranges }))
    }

    /// Hides the parts of `bytes`, which begin at `offset`, that are in a range.
    pub(super) fn apply(&self, offset: u64, bytes: &mut [u8]) {
        let end = offset + bytes.len() as u64;
        for &(from, to) in self.ranges.iter().take_while(|(from, _)| *from < end) {
            let (start, stop) = (from.clamp(offset, end) - offset, to.clamp(offset, end) - offset);
            if start < stop {
                bytes[start as usize..stop as usize].fill(b'*');
            }
        }
    }
}
