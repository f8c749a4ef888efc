//! Prompts of earlier conversations, for the arrow keys: one JSON string per line in a file that only the user can
//! read. Losing it loses nothing else, so what cannot be read or written is left out.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use skillrun_base::files;
use skillrun_base::whole_file::{self, SyncLevel};
use skillrun_model::IgnoredError;

/// Prompts that are kept.
const ENTRIES_MAX: usize = 500;
/// A longer prompt is not kept.
const ENTRY_BYTES: usize = 16 << 10;
/// A larger file is not read.
const FILE_BYTES: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct PromptHistory {
    path: PathBuf,
}

impl PromptHistory {
    /// The file, and the prompts in it, oldest first. A file that has grown beyond the limits is shortened.
    pub(super) fn open(path: &Path) -> (Self, Vec<String>) {
        let text = files::read(path, FILE_BYTES).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let text = text.unwrap_or_default();
        let entry = |line: &str| serde_json::from_str(line).ok().filter(|entry: &String| fits(entry));
        let mut entries: Vec<String> = text.lines().filter_map(entry).collect();
        let extra = entries.len().saturating_sub(ENTRIES_MAX);
        if extra > 0 {
            entries.drain(..extra);
            let lines: String = entries.iter().map(|entry| line_of(entry)).collect();
            whole_file::replace_with(path, lines.as_bytes(), SyncLevel::Nothing).ignored();
        }
        (Self { path: path.to_owned() }, entries)
    }

    /// Keeps one more prompt.
    pub(super) fn add(&self, prompt: &str) {
        if fits(prompt) {
            self.append(line_of(prompt).as_bytes()).ignored();
        }
    }

    /// One write, so that the lines of two conversations are not mixed.
    fn append(&self, line: &[u8]) -> io::Result<()> {
        OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?.write_all(line)
    }
}

fn fits(prompt: &str) -> bool {
    !prompt.trim().is_empty() && prompt.len() <= ENTRY_BYTES
}

fn line_of(prompt: &str) -> String {
    format!("{}\n", serde_json::Value::from(prompt))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn prompts_are_kept_in_a_private_bounded_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("chat-history.jsonl");
        let (history, before) = PromptHistory::open(&path);
        assert_eq!(before, Vec::<String>::new());
        for prompt in ["one\ntwo", " ", "ä\"", &"x".repeat(ENTRY_BYTES + 1)] {
            history.add(prompt);
        }
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        assert_eq!(PromptHistory::open(&path).1, ["one\ntwo", "ä\""]);
        (0..ENTRIES_MAX).for_each(|number| history.add(&number.to_string()));
        let (_, entries) = PromptHistory::open(&path);
        assert_eq!((entries.len(), entries[0].as_str()), (ENTRIES_MAX, "0"));
        assert_eq!(fs::read_to_string(&path).expect("a file").lines().count(), ENTRIES_MAX, "and the file is shorter");
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn damaged_lines_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("chat-history.jsonl");
        fs::write(&path, b"\"one\"\n{torn\n\xff\xfe\n\"two\"\n\"th").expect("written");
        assert_eq!(PromptHistory::open(&path).1, ["one", "two"]);
    }
}
