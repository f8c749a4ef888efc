//! The file of changes. They arrive in the order of paths, all kinds mixed, and the file has them in separate lists; so
//! two of the three lists are buffered, in unnamed files if they are long: no list is ever held in memory as a whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use skillrun_base::whole_file::FileDraft;
use skillrun_evidence::OsText;
use skillrun_evidence::host_record::FsCounts;
use skillrun_model::AttemptNumber;

use super::entry::{Entry, Hash, Kind, Mode, is_below};
use super::error::SnapshotError;
use super::limits::SnapshotLimits;
use super::pack::PackReader;
use super::private_file;
use super::text::{DiffText, Omitted, TextDiffs, is_text};

/// Facts of an entry that distinguish two versions.
#[derive(Serialize)]
struct Version<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a OsText>,
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtime_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a OsText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct Modified<'a> {
    path: &'a OsText,
    before: Version<'a>,
    after: Version<'a>,
    #[serde(flatten)]
    text: TextFields,
}

/// An entry that is in the first listing only.
#[derive(Serialize)]
struct Deleted<'a> {
    #[serde(flatten)]
    version: Version<'a>,
    #[serde(flatten)]
    text: TextFields,
}

/// How the text of an entry changed; all absent if it did not.
#[derive(Default, Serialize)]
struct TextFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff_omitted: Option<Omitted>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    diff_masked: bool,
}

impl From<Option<Result<DiffText, Omitted>>> for TextFields {
    fn from(text: Option<Result<DiffText, Omitted>>) -> Self {
        match text {
            Some(Ok(DiffText { text, is_masked })) => {
                Self { diff: Some(text), diff_omitted: None, diff_masked: is_masked }
            }
            Some(Err(omitted)) => Self { diff_omitted: Some(omitted), ..Self::default() },
            None => Self::default(),
        }
    }
}

impl<'a> Version<'a> {
    fn of(entry: &'a Entry) -> Self {
        let Entry { kind, mode, size, mtime_ns, hash, .. } = *entry;
        let (target, error) = (entry.target.as_ref(), entry.error.as_deref());
        Self { path: None, kind, mode, size, mtime_ns, hash, target, error }
    }

    fn with_path(entry: &'a Entry) -> Self {
        Self { path: Some(&entry.path), ..Self::of(entry) }
    }
}

pub(super) fn diff_path(audit: &Path, attempt: AttemptNumber) -> PathBuf {
    audit.join(format!("fs-diff.{attempt}.json"))
}

pub(super) struct DiffWriter<'a> {
    draft: FileDraft,
    created: Part<BufWriter<File>>,
    modified: Part<Aside>,
    deleted: Part<Aside>,
    /// A folder of which nothing is known in one of the listings. Its content is in the other one only, and was not
    /// created or deleted for that reason.
    blind: Option<Vec<u8>>,
    limits: &'a SnapshotLimits,
    pack: PackReader,
    texts: TextDiffs<'a>,
}

impl<'a> DiffWriter<'a> {
    pub(super) fn create(
        audit: &Path,
        attempt: AttemptNumber,
        limits: &'a SnapshotLimits,
        mask: &'a dyn Fn(&mut Vec<u8>),
    ) -> Result<Self, SnapshotError> {
        // First of all: it is removed when it is dropped, even if nothing else can be created.
        let pack = PackReader::open(audit, attempt);
        let path = diff_path(audit, attempt);
        let part = |name: &str| Part::new(Aside::new(audit.join(format!("fs-diff.{attempt}.{name}.tmp"))));
        let begin = || -> io::Result<_> {
            let (draft, file) = private_file::draft(&path)?;
            let mut created = Part::new(BufWriter::with_capacity(HELD, file));
            write!(created.out, "{{\"attempt\":{attempt},\"created\":[")?;
            Ok((draft, created))
        };
        let (draft, created) = begin().map_err(|error| SnapshotError::write(&path, error))?;
        let (modified, deleted) = (part("modified"), part("deleted"));
        let texts = TextDiffs::new(mask, limits);
        Ok(Self { draft, created, modified, deleted, blind: None, limits, pack, texts })
    }

    /// One of the two listings is empty because of its limits, so no creation or deletion can be claimed.
    pub(super) fn mark_unknown(&mut self) {
        self.blind = Some(Vec::new());
    }

    /// An entry of the listing before, if any, and the one after. `content`: the current content of the file, if it was
    /// read and is short.
    pub(super) fn compare(
        &mut self,
        before: Option<&Entry>,
        after: &Entry,
        content: Option<&[u8]>,
    ) -> Result<(), SnapshotError> {
        let Some(before) = before else {
            return match self.is_in_unknown_folder(after) {
                true => Ok(()),
                false => self.created.line(&Version::with_path(after)).map_err(|error| self.failed(error)),
            };
        };
        let hides = |entry: &Entry| entry.error.is_some() && matches!(entry.kind, Kind::Folder | Kind::Unknown);
        if (hides(before) || hides(after)) && !self.is_in_unknown_folder(after) {
            self.blind = Some(after.path.as_bytes().to_vec());
        }
        if !after.differs_from(before) {
            return Ok(());
        }
        let text = self.text(before, after, content).into();
        let (path, before, after) = (&after.path, Version::of(before), Version::of(after));
        let line = Modified { path, before, after, text };
        self.modified.line(&line).map_err(|error| self.failed(error))
    }

    /// An entry of the listing before whose path is not in the one after.
    pub(super) fn deleted(&mut self, before: &Entry) -> Result<(), SnapshotError> {
        if self.is_in_unknown_folder(before) {
            return Ok(());
        }
        let line = Deleted { text: self.old_text(before).into(), version: Version::with_path(before) };
        self.deleted.line(&line).map_err(|error| self.failed(error))
    }

    pub(super) fn finish(mut self, limited: bool, truncated: bool) -> Result<FsCounts, SnapshotError> {
        let counts =
            FsCounts { created: self.created.lines, modified: self.modified.lines, deleted: self.deleted.lines };
        let out = &mut self.created.out;
        let mut join = || -> io::Result<()> {
            write!(out, "\n],\"modified\":[")?;
            self.modified.out.copy_to(out)?;
            write!(out, "\n],\"deleted\":[")?;
            self.deleted.out.copy_to(out)?;
            let counts = serde_json::to_string(&counts)?;
            writeln!(out, "\n],\"counts\":{counts},\"limited\":{limited},\"truncated\":{truncated}}}")?;
            out.flush()
        };
        let joined = join();
        let path = self.draft.path().to_owned();
        joined.and_then(|()| self.draft.keep()).map_err(|error| SnapshotError::write(path, error))?;
        Ok(counts)
    }

    /// The text of a deleted file, as a difference from nothing: no other copy of it is kept. None if it has none.
    fn old_text(&mut self, before: &Entry) -> Option<Result<DiffText, Omitted>> {
        if before.kind != Kind::File || before.size == Some(0) {
            return None;
        }
        let omitted = if before.error.is_some() {
            Omitted::Unreadable
        } else if before.size.is_none_or(|size| size > self.limits.text) {
            Omitted::TooLarge
        } else if before.binary {
            Omitted::Binary
        } else if before.text_at.is_none() {
            Omitted::Budget
        } else {
            let Some(old) = self.pack.text(before, self.limits.text) else { return Some(Err(Omitted::Unreadable)) };
            return Some(self.texts.compare(old, Vec::new()));
        };
        Some(Err(omitted))
    }

    /// How the text of a file changed. None if the content did not change.
    fn text(&mut self, before: &Entry, after: &Entry, content: Option<&[u8]>) -> Option<Result<DiffText, Omitted>> {
        if before.kind != Kind::File || after.kind != Kind::File || !after.content_differs_from(before) {
            return None;
        }
        let too_large = |entry: &Entry| entry.size.is_none_or(|size| size > self.limits.text);
        let omitted = if before.error.is_some() || after.error.is_some() {
            Omitted::Unreadable
        } else if too_large(before) || too_large(after) {
            Omitted::TooLarge
        } else if before.binary || content.is_some_and(|content| !is_text(content)) {
            Omitted::Binary
        } else if before.text_at.is_none() || after.hash.is_none() {
            Omitted::Budget
        } else {
            let old = self.pack.text(before, self.limits.text);
            let (Some(old), Some(new)) = (old, content) else { return Some(Err(Omitted::Unreadable)) };
            return Some(self.texts.compare(old, new.to_vec()));
        };
        Some(Err(omitted))
    }

    fn is_in_unknown_folder(&self, entry: &Entry) -> bool {
        self.blind.as_ref().is_some_and(|folder| is_below(entry.path.as_bytes(), folder))
    }

    fn failed(&self, error: io::Error) -> SnapshotError {
        SnapshotError::write(self.draft.path(), error)
    }
}

/// One of the three lists.
struct Part<W> {
    out: W,
    lines: u64,
}

impl<W: Write> Part<W> {
    fn new(out: W) -> Self {
        Self { out, lines: 0 }
    }

    fn line(&mut self, item: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if self.lines == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut self.out, item)?;
        self.lines += 1;
        Ok(())
    }
}

/// Number of bytes of a list that are held in memory before they are written.
const HELD: usize = 16 << 10;

/// A buffered list. Most are short; only a long one gets a file, which is unnamed and disappears when it is closed.
struct Aside {
    path: PathBuf,
    file: Option<File>,
    held: Vec<u8>,
}

impl Aside {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None, held: Vec::new() }
    }

    fn spill(&mut self) -> io::Result<()> {
        let mut file = match &self.file {
            Some(file) => file,
            None => {
                let file = private_file::create(&self.path)?;
                fs::remove_file(&self.path)?;
                self.file.insert(file)
            }
        };
        file.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }

    fn copy_to(&mut self, to: &mut impl Write) -> io::Result<()> {
        if let Some(mut file) = self.file.as_ref() {
            file.rewind()?;
            io::copy(&mut file, to)?;
        }
        to.write_all(&self.held)
    }
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.len() >= HELD {
            self.spill()?;
        }
        self.held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
