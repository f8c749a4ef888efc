//! The evidence of an attempt, from its first byte: while it is written, and after its end.

use std::fmt;
use std::path::PathBuf;

use skillrun_evidence::live_feed::Extent;
use skillrun_evidence::{EvidenceError, Feed, FeedStep, Folder, LiveFeed, Meta, Stream, names};
use skillrun_model::{AttemptNumber, Timestamp};

use crate::error::RuntimeError;
use crate::run::Run;

/// One attempt that is read.
pub(crate) trait AttemptEvidence: fmt::Debug {
    /// None before its host has recorded it.
    fn started_at(&self) -> Option<Timestamp>;

    /// The next step, if there is one within `extent`.
    fn next_step(&mut self, extent: Extent) -> Result<Option<FeedStep<'_>>, EvidenceError>;

    /// The attempt is over: what its host recorded of it. From here on, only [`next_left`](Self::next_left) is called.
    fn end(&mut self) -> Result<Meta, EvidenceError>;

    /// The next of the remaining steps; none when everything was read.
    fn next_left(&mut self) -> Result<Option<FeedStep<'_>>, EvidenceError>;

    /// What was read, at the end.
    fn totals(&self) -> EvidenceTotals;
}

#[derive(Debug, Default)]
pub(crate) struct EvidenceTotals {
    /// Of all streams.
    pub(crate) bytes: u64,
    /// What could not be read.
    pub(crate) problems: Vec<String>,
    /// Why bytes were withheld: the mask is not complete.
    pub(crate) withheld: Option<String>,
}

/// The files in `.audit`.
#[derive(Debug)]
pub(crate) struct AuditFiles {
    audit: PathBuf,
    attempt: AttemptNumber,
    feed: AuditFeed,
}

#[derive(Debug)]
enum AuditFeed {
    Live(LiveFeed),
    Ended(Box<Feed>),
    /// The end could not be read.
    Broken,
}

impl AuditFiles {
    pub(crate) fn open(run: &Run, attempt: AttemptNumber) -> Result<Self, RuntimeError> {
        let patterns = run.record.patterns(&run.folder.record())?;
        let audit = run.folder.audit();
        let feed = AuditFeed::Live(LiveFeed::open(&audit, attempt)?.hiding(&patterns));
        Ok(Self { audit, attempt, feed })
    }
}

impl AttemptEvidence for AuditFiles {
    fn started_at(&self) -> Option<Timestamp> {
        Meta::read(&self.audit.join(names::meta(self.attempt))).started_at
    }

    fn next_step(&mut self, extent: Extent) -> Result<Option<FeedStep<'_>>, EvidenceError> {
        match &mut self.feed {
            AuditFeed::Live(feed) => feed.next_step(extent),
            AuditFeed::Ended(_) | AuditFeed::Broken => Ok(None),
        }
    }

    fn end(&mut self) -> Result<Meta, EvidenceError> {
        let meta = match Folder::open(&self.audit).and_then(|folder| folder.attempt(self.attempt)) {
            Ok(found) => found.meta,
            Err(_) => Meta::default(),
        };
        if let AuditFeed::Live(feed) = std::mem::replace(&mut self.feed, AuditFeed::Broken) {
            self.feed = AuditFeed::Ended(Box::new(feed.finish()?));
        }
        Ok(meta)
    }

    fn next_left(&mut self) -> Result<Option<FeedStep<'_>>, EvidenceError> {
        match &mut self.feed {
            AuditFeed::Ended(feed) => feed.next_step(),
            AuditFeed::Live(_) | AuditFeed::Broken => Ok(None),
        }
    }

    fn totals(&self) -> EvidenceTotals {
        match &self.feed {
            AuditFeed::Ended(feed) => EvidenceTotals {
                bytes: Stream::ALL.iter().map(|stream| feed.position(*stream)).sum(),
                problems: feed.problems(),
                withheld: feed.withheld(),
            },
            AuditFeed::Live(_) | AuditFeed::Broken => EvidenceTotals::default(),
        }
    }
}
