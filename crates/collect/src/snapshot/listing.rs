//! The file of a listing: written entry by entry, read line by line.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillrun_base::whole_file::FileDraft;
use skillrun_model::AttemptNumber;

use super::entry::{Entry, path_order};
use super::error::SnapshotError;
use super::private_file;

/// The totals of a walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// Files, and the sum of their sizes.
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Entries with an error.
    pub(crate) unreadable: u64,
    /// Some files were not hashed, because there are too many or they are too large.
    pub(crate) limited: bool,
    /// Some folders were not entered, because there are too many entries.
    pub(crate) truncated: bool,
    /// Entries that were excluded because their names contain a secret; the content of such a folder is not counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) hidden: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Serialize, Deserialize)]
struct Head {
    attempt: AttemptNumber,
    taken_ns: u64,
}

#[derive(Serialize, Deserialize)]
struct Foot {
    taken: Taken,
}

/// The separators between head, entries and foot. A reader adds the brace that head and foot lack.
const OPEN: &str = ",\"entries\":[";
const CLOSE: &str = "],";

/// Maximum length of a line: a path and the target of a link, each byte at worst six in JSON, and numbers.
const LONGEST_LINE: u64 = 128 << 10;

#[derive(Debug)]
pub(super) struct ListingWriter {
    draft: FileDraft,
    out: BufWriter<File>,
    first: bool,
}

impl ListingWriter {
    pub(super) fn create(path: PathBuf, attempt: AttemptNumber, taken_ns: u64) -> Result<Self, SnapshotError> {
        let (draft, file) = private_file::draft(&path).map_err(|error| SnapshotError::write(path, error))?;
        let mut writer = Self { draft, out: BufWriter::with_capacity(64 << 10, file), first: true };
        writer.write(|out| {
            let head = serde_json::to_string(&Head { attempt, taken_ns })?;
            write!(out, "{}{OPEN}", head.trim_end_matches('}'))
        })?;
        Ok(writer)
    }

    pub(super) fn entry(&mut self, entry: &Entry) -> Result<(), SnapshotError> {
        let first = std::mem::replace(&mut self.first, false);
        self.write(|out| {
            out.write_all(if first { b"\n" } else { b",\n" })?;
            Ok(serde_json::to_writer(out, entry)?)
        })
    }

    pub(super) fn finish(mut self, taken: Taken) -> Result<(), SnapshotError> {
        self.write(|out| {
            let foot = serde_json::to_string(&Foot { taken })?;
            writeln!(out, "\n{CLOSE}{}", foot.trim_start_matches('{'))?;
            out.flush()
        })?;
        let path = self.draft.path().to_owned();
        self.draft.keep().map_err(|error| SnapshotError::write(path, error))
    }

    fn write(&mut self, act: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), SnapshotError> {
        act(&mut self.out).map_err(|error| SnapshotError::write(self.draft.path(), error))
    }
}

/// A listing made earlier, read along with a walk.
#[derive(Debug)]
pub(super) struct ListingReader {
    path: PathBuf,
    input: BufReader<File>,
    line: Vec<u8>,
    taken_ns: u64,
    next: Option<Entry>,
    taken: Option<Taken>,
}

impl ListingReader {
    pub(super) fn open(path: PathBuf) -> Result<Self, SnapshotError> {
        let file = private_file::open(&path).map_err(|error| SnapshotError::read(&path, error))?;
        let input = BufReader::with_capacity(64 << 10, file);
        let mut reader = Self { path, input, line: Vec::new(), taken_ns: 0, next: None, taken: None };
        reader.read_line()?;
        let Some(head) = reader.line.strip_suffix(OPEN.as_bytes()) else { return Err(reader.bad("it has no head")) };
        let head: Head = serde_json::from_slice(&[head, b"}"].concat()).map_err(|error| reader.bad(error))?;
        reader.taken_ns = head.taken_ns;
        reader.advance()?;
        Ok(reader)
    }

    /// When the walk that made it began.
    pub(super) fn taken_ns(&self) -> u64 {
        self.taken_ns
    }

    /// Whether it has no entry because there were too many; called before the first entry is read.
    pub(super) fn is_blind(&self) -> bool {
        self.next.is_none() && self.taken.is_some_and(|taken| taken.truncated)
    }

    /// The entry of `path`, if there is one. Paths must be requested in order; entries of earlier paths that were not
    /// requested go to `passed`.
    pub(super) fn find(
        &mut self,
        path: &[u8],
        passed: &mut dyn FnMut(Entry) -> Result<(), SnapshotError>,
    ) -> Result<Option<Entry>, SnapshotError> {
        while let Some(next) = &self.next {
            match path_order(next.path.as_bytes(), path) {
                Ordering::Less => {
                    if let Some(entry) = self.advance()? {
                        passed(entry)?;
                    }
                }
                Ordering::Equal => return self.advance(),
                Ordering::Greater => break,
            }
        }
        Ok(None)
    }

    /// Passes the rest to `passed`, and returns the foot.
    pub(super) fn finish(
        mut self,
        passed: &mut dyn FnMut(Entry) -> Result<(), SnapshotError>,
    ) -> Result<Taken, SnapshotError> {
        while let Some(entry) = self.advance()? {
            passed(entry)?;
        }
        self.taken.ok_or_else(|| self.bad("it has no foot"))
    }

    fn advance(&mut self) -> Result<Option<Entry>, SnapshotError> {
        if self.taken.is_some() {
            return Ok(self.next.take());
        }
        self.read_line()?;
        let next = match self.line.strip_prefix(CLOSE.as_bytes()) {
            Some(foot) => {
                let foot: Foot = serde_json::from_slice(&[b"{", foot].concat()).map_err(|error| self.bad(error))?;
                self.taken = Some(foot.taken);
                None
            }
            None => {
                let line = self.line.strip_suffix(b",").unwrap_or(&self.line);
                Some(serde_json::from_slice(line).map_err(|error| self.bad(error))?)
            }
        };
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn read_line(&mut self) -> Result<(), SnapshotError> {
        self.line.clear();
        (&mut self.input)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut self.line)
            .map_err(|error| SnapshotError::read(&self.path, error))?;
        match self.line.pop() {
            Some(b'\n') => Ok(()),
            Some(_) | None => Err(self.bad("a line has no end")),
        }
    }

    fn bad(&self, why: impl ToString) -> SnapshotError {
        SnapshotError::bad_listing(&self.path, why)
    }
}

pub(super) fn before_path(audit: &Path, attempt: AttemptNumber) -> PathBuf {
    audit.join(format!("fs-before.{attempt}.json"))
}

pub(super) fn after_path(audit: &Path, attempt: AttemptNumber) -> PathBuf {
    audit.join(format!("fs-after.{attempt}.json"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::snapshot::error::SnapshotErrorKind;

    fn written(paths: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("fs-before.1.json");
        let mut writer = ListingWriter::create(path.clone(), AttemptNumber(1), 77).expect("created");
        for path in paths {
            writer.entry(&Entry::unknown((*path).into())).expect("written");
        }
        writer.finish(Taken { files: 9, ..Taken::default() }).expect("finished");
        (dir, path)
    }

    fn names(entries: &[Entry]) -> Vec<String> {
        entries.iter().map(|entry| entry.path.as_path().display().to_string()).collect()
    }

    #[test]
    fn a_listing_is_a_json_document_with_one_entry_to_a_line() {
        let (_dir, path) = written(&["a", "b\nc"]);
        let expected = concat!(
            "{\"attempt\":1,\"taken_ns\":77,\"entries\":[\n",
            "{\"path\":\"a\",\"kind\":\"unknown\"},\n",
            "{\"path\":\"b\\nc\",\"kind\":\"unknown\"}\n",
            "],\"taken\":{\"files\":9,\"bytes\":0,\"unreadable\":0,\"limited\":false,\"truncated\":false}}\n",
        );
        assert_eq!(fs::read_to_string(&path).expect("text"), expected);
        let (_dir, empty) = written(&[]);
        for path in [path, empty] {
            serde_json::from_slice::<serde_json::Value>(&fs::read(path).expect("bytes")).expect("JSON");
        }
    }

    #[test]
    fn entries_are_found_in_order_and_the_others_passed() {
        let (_dir, path) = written(&["a", "a/x", "a.b", "c", "d"]);
        let mut reader = ListingReader::open(path).expect("a listing");
        assert_eq!(reader.taken_ns(), 77);
        let mut passed = Vec::new();
        let mut pass = |entry| {
            passed.push(entry);
            Ok(())
        };
        assert!(reader.find(b"a", &mut pass).expect("readable").is_some());
        assert!(reader.find(b"a/y", &mut pass).expect("readable").is_none());
        assert!(reader.find(b"c", &mut pass).expect("readable").is_some());
        let taken = reader.finish(&mut pass).expect("a foot");
        assert_eq!(taken.files, 9);
        assert_eq!(names(&passed), ["a/x", "a.b", "d"]);
    }

    #[test]
    fn an_invalid_listing_is_an_error_and_never_a_panic() {
        let (_dir, path) = written(&["a", "b"]);
        let whole = fs::read(&path).expect("bytes");
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).expect("written");
            let read = ListingReader::open(path.clone()).and_then(|reader| reader.finish(&mut |_| Ok(())));
            let error = read.expect_err("cut short");
            assert!(matches!(error.kind, SnapshotErrorKind::BadListing(_)), "{error}");
        }
        fs::write(&path, "x".repeat(1 << 20) + "\n").expect("written");
        let error = ListingReader::open(path).expect_err("it has no head");
        assert!(error.to_string().contains("a line has no end"), "no more of it is read than that: {error}");
    }
}
