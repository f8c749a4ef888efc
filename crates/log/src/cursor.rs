//! Positions of events and of readers in a Log.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of an event in its run: from 1, without a gap. In a cursor, 0 means "nothing yet".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    pub const BEFORE_FIRST: Self = Self(0);
    pub const FIRST: Self = Self(1);

    #[must_use]
    pub fn plus(self, events: u64) -> Self {
        Self(self.0.saturating_add(events))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Raised when seqs were lost that a reader may have seen: within one epoch a seq always refers to the same event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u32);

impl Epoch {
    pub const FIRST: Self = Self(1);

    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a Log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub epoch: Epoch,
    /// The seq of the event that is appended next.
    pub next_seq: Seq,
}

/// The last event a reader has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The epoch in which it was seen; none when the reader does not know it, and accepts any.
    pub epoch: Option<Epoch>,
    pub after: Seq,
}

impl Cursor {
    /// A reader that has nothing. It fits every epoch.
    pub const BEGINNING: Self = Self { epoch: None, after: Seq::BEFORE_FIRST };

    pub fn new(epoch: Epoch, after: Seq) -> Self {
        Self { epoch: Some(epoch), after }
    }

    /// A reader without events has seen nothing that was lost.
    pub(crate) fn fits(self, epoch: Epoch) -> bool {
        self.after == Seq::BEFORE_FIRST || self.epoch.is_none_or(|seen| seen == epoch)
    }
}
