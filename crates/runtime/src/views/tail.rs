//! How far a file of JSON lines goes: its last complete line, read from the end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use skillrun_model::fcmp::data::FcmpType;

/// This much of the end is read first, and eight times as much whenever that was not a complete line.
const FIRST_READ_BYTES: u64 = 4 * 1024;
/// No line that skillrun writes is longer.
const LINE_MAX: u64 = 64 * 1024 * 1024;

/// The end of a file. All zero where there is no file, and where its last line is not one of skillrun's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// Of the complete lines; what comes after them is an incomplete line.
    pub(super) bytes: u64,
    /// The `seq` of the last line.
    pub(super) seq: u64,
    /// The event of the Log that the last line is, or is made of.
    pub(super) rasp_seq: u64,
    /// The last line is the end of a conversation.
    pub(super) is_end: bool,
}

#[derive(Deserialize)]
struct ConversationLine {
    seq: u64,
    r#type: FcmpType,
    meta: ConversationMeta,
}

#[derive(Deserialize)]
struct ConversationMeta {
    rasp_seq: u64,
}

#[derive(Deserialize)]
struct EventLine {
    seq: u64,
}

impl Tail {
    /// Of `fcmp.jsonl`.
    pub(super) fn of_conversation(path: &Path) -> io::Result<Self> {
        Self::of(path, |bytes, json| {
            let ConversationLine { seq, r#type, meta } = serde_json::from_slice(json).ok()?;
            let ends = [FcmpType::ConversationCompleted, FcmpType::ConversationFailed, FcmpType::ConversationCanceled];
            Some(Self { bytes, seq, rasp_seq: meta.rasp_seq, is_end: ends.contains(&r#type) })
        })
    }

    /// Of `parser_diagnostics.jsonl`, whose lines are events of the Log.
    pub(super) fn of_events(path: &Path) -> io::Result<Self> {
        Self::of(path, |bytes, json| {
            let EventLine { seq } = serde_json::from_slice(json).ok()?;
            Some(Self { bytes, seq, rasp_seq: seq, is_end: false })
        })
    }

    fn of(path: &Path, read: impl Fn(u64, &[u8]) -> Option<Self>) -> io::Result<Self> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let size = file.metadata()?.len();
        let mut look = FIRST_READ_BYTES;
        loop {
            let from = size.saturating_sub(look);
            let mut end = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            file.by_ref().take(size - from).read_to_end(&mut end)?;
            // A line is complete when the line end before it was read too, or the file begins with it.
            let line_end = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n');
            let last = line_end(&end).map(|at| (at, line_end(&end[..at])));
            match last {
                Some((to, Some(before))) => {
                    return Ok(read(from + to as u64 + 1, &end[before + 1..to]).unwrap_or_default());
                }
                Some((to, None)) if from == 0 => return Ok(read(to as u64 + 1, &end[..to]).unwrap_or_default()),
                None if from == 0 => return Ok(Self::default()),
                Some((_, None)) | None if look >= LINE_MAX => return Ok(Self::default()),
                Some((_, None)) | None => look *= 8,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn line(seq: u64, rasp_seq: u64, kind: &str, length: usize) -> String {
        let text = "x".repeat(length);
        format!("{{\"seq\":{seq},\"type\":\"{kind}\",\"data\":\"{text}\",\"meta\":{{\"rasp_seq\":{rasp_seq}}}}}\n")
    }

    #[test]
    fn the_last_whole_line_tells() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("fcmp.jsonl");
        assert_eq!(Tail::of_conversation(&path).expect("a missing file is not an error"), Tail::default());
        let short = line(1, 1, "conversation.started", 5);
        for length in [0, 4_000, 5_000, 40_000, 300_000] {
            let last = line(2, 7, "conversation.completed", length);
            for (text, expected) in [
                (String::new(), Tail::default()),
                ("{\"seq\":1".to_owned(), Tail::default()),
                (last.clone(), Tail { bytes: last.len() as u64, seq: 2, rasp_seq: 7, is_end: true }),
                (
                    format!("{short}{last}{}", &last[..last.len() / 2]),
                    Tail { bytes: (short.len() + last.len()) as u64, seq: 2, rasp_seq: 7, is_end: true },
                ),
                (
                    format!("{last}{short}"),
                    Tail { bytes: (short.len() + last.len()) as u64, seq: 1, rasp_seq: 1, is_end: false },
                ),
                (format!("{short}nonsense\n"), Tail::default()),
            ] {
                fs::write(&path, &text).expect("written");
                assert_eq!(Tail::of_conversation(&path).expect("readable"), expected, "{length}");
            }
        }
    }
}
