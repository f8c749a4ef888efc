//! Reads `fs-diff.N.json`, whose format is told in `collect::snapshot`: one entry to a line, so that a list of a million
//! changes is never in memory.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use skillrun_evidence::OsText;

use super::inside;

/// A line has a path and at most one difference of two texts of 64 KiB, escaped.
const LONGEST_LINE: u64 = 2 << 20;

/// What stood at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Was {
    Nothing,
    File,
    Folder,
    Link,
    Special,
}

/// One change of the workspace.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: OsText,
    pub(super) was: Was,
    pub(super) now: Was,
    /// Of the file that is there now.
    pub(super) size: Option<u64>,
    /// None when it was beyond the limits of the snapshot.
    pub(super) hash: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    File,
    Folder,
    Symlink,
    /// Pipes, sockets, devices, and what could not be asked what it is.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Version {
    kind: Kind,
    size: Option<u64>,
    hash: Option<String>,
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
}

#[derive(Clone, Copy)]
enum Part {
    Created,
    Modified,
    Deleted,
}

/// Gives every change to `each`, in the order of the file. A file that is no list of changes, or not a whole one, is an
/// error; what was given before is true all the same.
pub(super) fn each(path: &Path, each: &mut dyn FnMut(Change)) -> io::Result<()> {
    let mut input = BufReader::with_capacity(64 << 10, inside::open_plain(path)?);
    let mut line = Vec::new();
    read_line(&mut input, &mut line)?;
    if !line.starts_with(b"{\"attempt\":") || !line.ends_with(b",\"created\":[") {
        return Err(bad("it does not begin as one"));
    }
    let mut part = Part::Created;
    loop {
        read_line(&mut input, &mut line)?;
        part = match (part, line.as_slice()) {
            (Part::Created, b"],\"modified\":[") => Part::Modified,
            (Part::Modified, b"],\"deleted\":[") => Part::Deleted,
            (Part::Deleted, foot) if foot.starts_with(b"],\"counts\":") => return Ok(()),
            (part, entry) => {
                each(change(part, entry.strip_suffix(b",").unwrap_or(entry))?);
                part
            }
        };
    }
}

fn change(part: Part, entry: &[u8]) -> io::Result<Change> {
    match part {
        Part::Created => {
            let Alone { path, version } = serde_json::from_slice(entry)?;
            Ok(Change { path, was: Was::Nothing, now: version.was(), size: version.size, hash: version.hash })
        }
        Part::Modified => {
            let Modified { path, before, after } = serde_json::from_slice(entry)?;
            Ok(Change { path, was: before.was(), now: after.was(), size: after.size, hash: after.hash })
        }
        Part::Deleted => {
            let Alone { path, version } = serde_json::from_slice(entry)?;
            Ok(Change { path, was: version.was(), now: Was::Nothing, size: None, hash: None })
        }
    }
}

impl Version {
    fn was(&self) -> Was {
        match self.kind {
            Kind::File => Was::File,
            Kind::Folder => Was::Folder,
            Kind::Symlink => Was::Link,
            Kind::Other => Was::Special,
        }
    }
}

fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    input.take(LONGEST_LINE).read_until(b'\n', line)?;
    match line.pop() {
        Some(b'\n') => Ok(()),
        Some(_) | None => Err(bad("a line has no end")),
    }
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
