//! Reads `fs-diff.N.json`, whose format is told in `collect::snapshot`: one entry to a line, so that a list of a million
//! changes is never in memory.

use std::io::{self, BufRead, BufReader, Read};

use serde::Deserialize;
use serde_json::Value;
use skillrun_evidence::OsText;

use crate::failure::Failure;

/// A line has a path and at most one difference of two texts of 64 KiB, escaped.
const LONGEST_LINE: u64 = 2 << 20;

/// One change of the workspace.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) kind: ChangeKind,
    pub(super) path: OsText,
    pub(super) before: Option<Version>,
    pub(super) after: Option<Version>,
    /// How its text changed, line by line.
    pub(super) diff: Option<String>,
    /// Why that is not told.
    pub(super) omitted: Option<String>,
    /// As it stands in the file.
    pub(super) entry: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Created,
    Modified,
    Deleted,
}

#[derive(Debug, Deserialize)]
pub(super) struct Version {
    pub(super) kind: String,
    pub(super) mode: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) target: Option<OsText>,
}

#[derive(Deserialize)]
struct Alone {
    path: OsText,
    #[serde(flatten)]
    version: Version,
}

#[derive(Deserialize)]
struct Modified {
    path: OsText,
    before: Version,
    after: Version,
    diff: Option<String>,
    diff_omitted: Option<String>,
}

/// The changes of one attempt, in the order of the file.
pub(super) struct Changes<R> {
    name: String,
    input: BufReader<R>,
    /// The part of the file that is being read; none after the last.
    part: Option<ChangeKind>,
    line: Vec<u8>,
}

impl<R: Read> Changes<R> {
    pub(super) fn new(name: String, input: R) -> io::Result<Self> {
        let input = BufReader::with_capacity(64 << 10, input);
        let mut changes = Self { name, input, part: Some(ChangeKind::Created), line: Vec::new() };
        changes.read_line()?;
        if !changes.line.starts_with(b"{\"attempt\":") || !changes.line.ends_with(b",\"created\":[") {
            return Err(bad("it is no list of changes"));
        }
        Ok(changes)
    }

    pub(super) fn next_change(&mut self) -> Result<Option<Change>, Failure> {
        self.next_entry().map_err(|error| Failure::Owner(format!("{}: {error}", self.name)))
    }

    fn next_entry(&mut self) -> io::Result<Option<Change>> {
        while let Some(kind) = self.part {
            self.read_line()?;
            match (kind, self.line.as_slice()) {
                (ChangeKind::Created, b"],\"modified\":[") => self.part = Some(ChangeKind::Modified),
                (ChangeKind::Modified, b"],\"deleted\":[") => self.part = Some(ChangeKind::Deleted),
                (ChangeKind::Deleted, foot) if foot.starts_with(b"],\"counts\":") => self.part = None,
                (kind, entry) => return change(kind, entry.strip_suffix(b",").unwrap_or(entry)).map(Some),
            }
        }
        Ok(None)
    }

    fn read_line(&mut self) -> io::Result<()> {
        self.line.clear();
        (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.line)?;
        match self.line.pop() {
            Some(b'\n') => Ok(()),
            Some(_) | None => Err(bad("a line has no end")),
        }
    }
}

fn change(kind: ChangeKind, entry: &[u8]) -> io::Result<Change> {
    let value = serde_json::from_slice(entry)?;
    Ok(match kind {
        ChangeKind::Created => {
            let Alone { path, version } = serde_json::from_slice(entry)?;
            Change { kind, path, before: None, after: Some(version), diff: None, omitted: None, entry: value }
        }
        ChangeKind::Deleted => {
            let Alone { path, version } = serde_json::from_slice(entry)?;
            Change { kind, path, before: Some(version), after: None, diff: None, omitted: None, entry: value }
        }
        ChangeKind::Modified => {
            let Modified { path, before, after, diff, diff_omitted } = serde_json::from_slice(entry)?;
            let (before, after) = (Some(before), Some(after));
            Change { kind, path, before, after, diff, omitted: diff_omitted, entry: value }
        }
    })
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, Failure> {
        let mut changes = Changes::new("fs-diff.1.json".to_owned(), text.as_bytes()).expect("a list");
        let mut read = Vec::new();
        while let Some(change) = changes.next_change()? {
            let size = |version: &Option<Version>| version.as_ref().and_then(|version| version.size);
            let path = change.path.as_path().display().to_string();
            read.push(format!("{:?} {path} {:?} {:?}", change.kind, size(&change.before), size(&change.after)));
        }
        Ok(read)
    }

    const LIST: &str = concat!(
        "{\"attempt\":1,\"created\":[\n",
        "{\"path\":\"new\",\"kind\":\"file\",\"mode\":\"0644\",\"size\":3},\n",
        "{\"path\":{\"hex\":\"ff\"},\"kind\":\"symlink\",\"target\":\"x\"}\n",
        "],\"modified\":[\n",
        "{\"path\":\"a\",\"before\":{\"kind\":\"file\",\"size\":1},\"after\":{\"kind\":\"file\",\"size\":2},\"diff\":\"@@\\n\"}\n",
        "],\"deleted\":[\n",
        "],\"counts\":{\"created\":2,\"modified\":1,\"deleted\":0},\"limited\":false,\"truncated\":false}\n",
    );

    #[test]
    fn changes_come_in_the_order_of_the_file() {
        let expected = ["Created new None Some(3)", "Created \u{fffd} None None", "Modified a Some(1) Some(2)"];
        assert_eq!(read(LIST).expect("readable"), expected);
    }

    #[test]
    fn a_list_that_was_cut_is_told() {
        for end in 30..LIST.len() - 1 {
            assert!(read(&LIST[..end]).is_err(), "cut at {end}");
        }
    }
}
