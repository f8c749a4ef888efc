//! The old texts: the content of text files before an attempt, kept in one file until the diff is made.
//!
//! One file, not thousands; no index, because each entry of the listing has the offset of its text. The bytes are not
//! masked (some secrets may be known only later), so the file is accessible only to its owner and is removed after the
//! diff.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};

use skillrun_model::AttemptNumber;

use super::entry::{Entry, Hash};
use super::error::SnapshotError;
use super::private_file;
use skillrun_model::IgnoredError;

#[derive(Debug)]
pub(super) struct PackWriter {
    folder: PathBuf,
    path: PathBuf,
    /// None until there is a text: many workspaces have none.
    out: Option<BufWriter<File>>,
    len: u64,
    limit: u64,
    kept: bool,
}

impl PackWriter {
    /// The pack of an attempt. Its file is created with the first text, and kept if it is finished. Packs of attempts
    /// that never finished are removed.
    pub(super) fn new(audit: &Path, attempt: AttemptNumber, limit: u64) -> Self {
        let (folder, path) = (folder(audit), path(audit, attempt));
        if is_folder(&folder) {
            remove_all(&folder);
        }
        Self { folder, path, out: None, len: 0, limit, kept: false }
    }

    fn begin(&self) -> Result<BufWriter<File>, SnapshotError> {
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Ok(()) => {}
            // Through a link, an engine could direct the texts to any place.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_folder(&self.folder) => {}
            Err(error) => return Err(SnapshotError::write(&self.folder, error)),
        }
        let file = private_file::create(&self.path).map_err(|error| SnapshotError::write(&self.path, error))?;
        Ok(BufWriter::with_capacity(64 << 10, file))
    }

    pub(super) fn has_room_for(&self, size: u64) -> bool {
        size <= self.limit.saturating_sub(self.len)
    }

    /// Adds a text, and returns its offset.
    pub(super) fn add(&mut self, text: &[u8]) -> Result<u64, SnapshotError> {
        let mut out = match self.out.take() {
            Some(out) => out,
            None => self.begin()?,
        };
        let written = out.write_all(text);
        self.out = Some(out);
        written.map_err(|error| SnapshotError::write(&self.path, error))?;
        let at = self.len;
        self.len += text.len() as u64;
        Ok(at)
    }

    pub(super) fn finish(mut self) -> Result<(), SnapshotError> {
        let flushed = self.out.as_mut().map_or(Ok(()), BufWriter::flush);
        flushed.map_err(|error| SnapshotError::write(&self.path, error))?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        if !self.kept {
            fs::remove_file(&self.path).ignored();
        }
    }
}

/// The pack of an attempt. It is removed when the reader is dropped, whether or not the diff succeeded.
#[derive(Debug)]
pub(super) struct PackReader {
    path: PathBuf,
    file: Option<File>,
}

impl PackReader {
    pub(super) fn open(audit: &Path, attempt: AttemptNumber) -> Self {
        let path = path(audit, attempt);
        let file = private_file::open(&path).ok();
        Self { path, file }
    }

    /// The old text of an entry with at most `limit` bytes. None if it cannot be read, or is not what was stored.
    pub(super) fn text(&self, entry: &Entry, limit: u64) -> Option<Vec<u8>> {
        let size = entry.size.filter(|size| *size <= limit)?;
        let mut text = vec![0; usize::try_from(size).ok()?];
        self.file.as_ref()?.read_exact_at(&mut text, entry.text_at?).ok()?;
        (entry.hash == Some(Hash(blake3::hash(&text)))).then_some(text)
    }
}

impl Drop for PackReader {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ignored();
    }
}

fn folder(audit: &Path) -> PathBuf {
    audit.join("blobs")
}

fn path(audit: &Path, attempt: AttemptNumber) -> PathBuf {
    folder(audit).join(format!("text.{attempt}.pack"))
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Removes leftover packs. One that cannot be removed stays, which is harmless.
fn remove_all(folder: &Path) {
    for found in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = found.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("text.") && name.ends_with(".pack")) {
            fs::remove_file(found.path()).ignored();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn entry(text: &str, at: u64) -> Entry {
        Entry {
            size: Some(text.len() as u64),
            hash: Some(Hash(blake3::hash(text.as_bytes()))),
            text_at: Some(at),
            ..Entry::unknown("a".into())
        }
    }

    #[test]
    fn texts_come_back_and_the_file_goes() {
        let audit = tempfile::tempdir().expect("a folder");
        let (one, two) = (AttemptNumber(1), AttemptNumber(2));
        let mut writer = PackWriter::new(audit.path(), one, 100);
        writer.add(b"abc").expect("room");
        writer.finish().expect("written");
        assert!(path(audit.path(), one).exists());
        let mut writer = PackWriter::new(audit.path(), two, 10);
        assert!(!path(audit.path(), one).exists(), "left by an attempt that never ended");
        assert!(writer.has_room_for(10) && !writer.has_room_for(11));
        assert_eq!((writer.add(b"abc").expect("room"), writer.add(b"defgh").expect("room")), (0, 3));
        assert!(!writer.has_room_for(3));
        writer.finish().expect("written");
        let mode = fs::metadata(path(audit.path(), two)).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let reader = PackReader::open(audit.path(), two);
        assert_eq!(reader.text(&entry("defgh", 3), 100).as_deref(), Some(&b"defgh"[..]));
        assert_eq!(reader.text(&entry("defgh", 3), 4), None, "too long");
        assert_eq!(reader.text(&entry("defgh", 0), 100), None, "not what its hash says");
        assert_eq!(reader.text(&entry("defgh", 90), 100), None, "beyond the end");
        drop(reader);
        assert!(!path(audit.path(), two).exists());
        assert_eq!(PackReader::open(audit.path(), two).text(&entry("abc", 0), 100), None, "no pack, no text");
    }

    #[test]
    fn where_there_is_no_text_there_is_no_file() {
        let audit = tempfile::tempdir().expect("a folder");
        PackWriter::new(audit.path(), AttemptNumber(1), 10).finish().expect("nothing to write");
        assert_eq!(fs::read_dir(audit.path()).expect("readable").count(), 0);
    }

    #[test]
    fn a_link_in_place_of_the_folder_is_refused() {
        let (audit, outside) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        symlink(outside.path(), folder(audit.path())).expect("a link");
        PackWriter::new(audit.path(), AttemptNumber(1), 10).add(b"abc").expect_err("refused");
        assert_eq!(fs::read_dir(outside.path()).expect("readable").count(), 0);
    }
}
