//! Taking a snapshot: one pass over the tree, joined with the listing made before it.

use std::io;
use std::path::{Path, PathBuf};

use skillrun_base::files;
use skillrun_evidence::host_record::FsCounts;
use skillrun_model::AttemptNumber;

use super::diff::{DiffWriter, diff_path};
use super::entry::{Entry, Kind};
use super::error::SnapshotError;
use super::hash::{FileReader, reusable};
use super::limits::SnapshotLimits;
use super::listing::{ListingReader, ListingWriter, Taken, after_path, before_path};
use super::pack::{PackReader, PackWriter};
use super::private_file::draft_path;
use super::rules::Rules;
use super::text::is_text;
use super::walk::{Walk, in_words};
use crate::secrets::Secrets;
use skillrun_model::IgnoredError;

/// Removes what was written before an attempt that never began.
pub(crate) fn remove_before(audit: &Path, attempt: AttemptNumber) -> io::Result<()> {
    forget_texts(audit, attempt);
    let listing = before_path(audit, attempt);
    for path in [draft_path(&listing), listing] {
        files::remove_if_exists(&path)?;
    }
    Ok(())
}

/// Removes the texts that were kept until the end of an attempt.
pub(crate) fn forget_texts(audit: &Path, attempt: AttemptNumber) {
    drop(PackReader::open(audit, attempt));
}

/// The snapshots of one workspace. No state is kept between two calls: everything is in the files.
#[derive(Debug)]
pub(crate) struct Snapshots {
    root: PathBuf,
    audit: PathBuf,
    rules: Rules,
    limits: SnapshotLimits,
    secrets: Secrets,
}

impl Snapshots {
    pub(crate) fn new(root: &Path, audit: &Path, rules: Rules, limits: SnapshotLimits) -> Self {
        Self { root: root.to_owned(), audit: audit.to_owned(), rules, limits, secrets: Secrets::default() }
    }

    /// Excludes entries with a secret in their name.
    pub(crate) fn without(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// Writes the listing before an attempt and keeps its texts. `cache`: an attempt whose listing after it may be used
    /// for hashes. `now_ns`: since 1970. `breathe` is called regularly, so that the caller can serve its pipes.
    pub(crate) fn before(
        &self,
        attempt: AttemptNumber,
        cache: Option<AttemptNumber>,
        now_ns: u64,
        breathe: &mut dyn FnMut(),
    ) -> Result<Taken, SnapshotError> {
        // A cache that cannot be used costs time and nothing else.
        let mut cache = cache.and_then(|cached| ListingReader::open(after_path(&self.audit, cached)).ok());
        let mut listing = ListingWriter::create(before_path(&self.audit, attempt), attempt, now_ns)?;
        let mut pack = PackWriter::new(&self.audit, attempt, self.limits.pack);
        let mut pass = Pass::new(self, breathe)?;
        while let Some(mut entry) = pass.walk.next(breathe) {
            let known = match cache.as_mut().map(|cache| find_quietly(cache, &entry, breathe)) {
                Some(Ok(known)) => known,
                Some(Err(_)) => {
                    cache = None;
                    None
                }
                None => None,
            };
            let known = known.as_ref().zip(cache.as_ref()).map(|(known, cache)| (known, cache.taken_ns()));
            let short = |size| size <= self.limits.text;
            let want = match entry.size.is_some_and(|size| short(size) && pack.has_room_for(size)) {
                true => Want::Content,
                false => Want::Hash,
            };
            match pass.read(&mut entry, known, want, breathe) {
                Seen::There => {}
                Seen::Vanished => continue,
            }
            // If the content has another length than the entry, it changed while it was read.
            if let Some(content) = pass.reader.content().filter(|content| entry.size == Some(content.len() as u64)) {
                let size = content.len() as u64;
                if short(size) && !is_text(content) {
                    entry.binary = true;
                } else if short(size) && pack.has_room_for(size) {
                    entry.text_at = Some(pack.add(content)?);
                }
            }
            listing.entry(&entry)?;
            pass.count(&entry);
        }
        let taken = pass.taken();
        pack.finish()?;
        listing.finish(taken)?;
        Ok(taken)
    }

    /// Writes the listing after an attempt and the difference from the one before it. `mask` hides secrets in a text.
    pub(crate) fn after(
        &self,
        attempt: AttemptNumber,
        now_ns: u64,
        mask: &dyn Fn(&mut Vec<u8>),
        breathe: &mut dyn FnMut(),
    ) -> Result<(Taken, FsCounts), SnapshotError> {
        let mut diff = DiffWriter::create(&self.audit, attempt, &self.limits, mask)?;
        let mut earlier = ListingReader::open(before_path(&self.audit, attempt))?;
        let mut listing = ListingWriter::create(after_path(&self.audit, attempt), attempt, now_ns)?;
        let mut pass = Pass::new(self, breathe)?;
        if pass.walk.is_blind() || earlier.is_blind() {
            diff.mark_unknown();
        }
        while let Some(mut entry) = pass.walk.next(breathe) {
            let before = earlier.find(entry.path.as_bytes(), &mut |gone| {
                breathe();
                diff.deleted(&gone)
            })?;
            let known = before.as_ref().map(|before| (before, earlier.taken_ns()));
            match (pass.read(&mut entry, known, Want::Hash, breathe), before) {
                (Seen::There, before) => {
                    diff.compare(before.as_ref(), &entry, pass.reader.content())?;
                    listing.entry(&entry)?;
                    pass.count(&entry);
                }
                (Seen::Vanished, Some(before)) => diff.deleted(&before)?,
                (Seen::Vanished, None) => {}
            }
        }
        let taken_before = earlier.finish(&mut |gone| {
            breathe();
            diff.deleted(&gone)
        })?;
        let taken = pass.taken();
        listing.finish(taken)?;
        let counts = diff.finish(taken.limited || taken_before.limited, taken.truncated || taken_before.truncated)?;
        Ok((taken, counts))
    }
}

impl Snapshots {
    /// No second listing will be made: the old texts are not needed any more.
    pub(crate) fn forget_texts(&self, attempt: AttemptNumber) {
        forget_texts(&self.audit, attempt);
    }

    /// Removes what was written after an attempt, to free space on a full disk.
    pub(crate) fn remove_after(&self, attempt: AttemptNumber) {
        for path in [after_path(&self.audit, attempt), diff_path(&self.audit, attempt)] {
            // A missing file is not an error.
            std::fs::remove_file(path).ignored();
        }
    }
}

fn find_quietly(
    cache: &mut ListingReader,
    entry: &Entry,
    breathe: &mut dyn FnMut(),
) -> Result<Option<Entry>, SnapshotError> {
    cache.find(entry.path.as_bytes(), &mut |_| {
        breathe();
        Ok(())
    })
}

/// What is needed of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    /// Its hash, from any source.
    Hash,
    /// Its content too, so it must be read.
    Content,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    There,
    Vanished,
}

/// One walk and its totals so far.
struct Pass<'a> {
    walk: Walk<'a>,
    limits: &'a SnapshotLimits,
    reader: FileReader,
    taken: Taken,
    /// Files and bytes with a hash. A reused hash counts as well: a file with a hash in one listing should have one in
    /// the next, or they could not be compared.
    hashed_files: u64,
    hashed_bytes: u64,
}

impl<'a> Pass<'a> {
    fn new(snapshots: &'a Snapshots, breathe: &mut dyn FnMut()) -> Result<Self, SnapshotError> {
        let Snapshots { root, rules, limits, secrets, audit: _ } = snapshots;
        let walk = Walk::new(root, rules, limits, secrets, breathe)?;
        let (reader, taken) = (FileReader::new(), Taken::default());
        Ok(Self { walk, limits, reader, taken, hashed_files: 0, hashed_bytes: 0 })
    }

    /// Sets the hash of the last entry of the walk, a file. `known`: an earlier entry of the same path, and when the
    /// walk that made it began.
    fn read(&mut self, entry: &mut Entry, known: Option<(&Entry, u64)>, want: Want, breathe: &mut dyn FnMut()) -> Seen {
        self.reader.forget();
        if entry.kind != Kind::File || !self.fits(entry) {
            return Seen::There;
        }
        let reused = known.and_then(|(known, taken_ns)| reusable(entry, known, taken_ns));
        if let (Some(hash), Want::Hash) = (reused, want) {
            entry.hash = Some(hash);
            return Seen::There;
        }
        match self.hash(entry, breathe) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Seen::Vanished,
            Err(error) => entry.error = Some(in_words(error)),
        }
        Seen::There
    }

    fn hash(&mut self, entry: &mut Entry, breathe: &mut dyn FnMut()) -> std::io::Result<()> {
        let mut file = self.walk.open()?;
        entry.learn(&rustix::fs::fstat(&file)?);
        if entry.kind != Kind::File {
            return Err(std::io::Error::other("replaced while it was being opened"));
        }
        if self.fits(entry) {
            entry.hash = Some(self.reader.hash(&mut file, entry.size.unwrap_or(0), breathe)?);
        }
        Ok(())
    }

    fn fits(&mut self, entry: &Entry) -> bool {
        let room = self.limits.bytes.saturating_sub(self.hashed_bytes);
        let fits = self.hashed_files < self.limits.files && entry.size.unwrap_or(0) <= room;
        self.taken.limited |= !fits;
        fits
    }

    /// Counts an entry that is in the listing.
    fn count(&mut self, entry: &Entry) {
        let size = entry.size.unwrap_or(0);
        if entry.kind == Kind::File {
            self.taken.files += 1;
            self.taken.bytes = self.taken.bytes.saturating_add(size);
        }
        if entry.hash.is_some() {
            self.hashed_files += 1;
            self.hashed_bytes += size;
        }
        if entry.error.is_some() {
            self.taken.unreadable += 1;
        }
    }

    fn taken(&self) -> Taken {
        Taken { truncated: self.walk.truncated(), hidden: self.walk.hidden(), ..self.taken }
    }
}
