//! The Log: one append-only sequence of RASP events per run, one writer, read by many.
//!
//! - [`event_log`]: the trait [`EventLog`]: append, read by seq and by time, subscribe. No file in its signatures.
//! - [`cursor`]: sequence numbers, epochs, and positions of readers.
//! - [`page`]: what a reader gets: whole lines, as they were written, and their seqs.
//! - [`tail`]: [`Tail`], a reader that waits for more, over any implementation.
//! - [`mod@file`]: [`FileLog`], `runs/<run_id>/events.jsonl`; the formats of its files are described there.
//! - [`memory`]: [`MemoryLog`], the same without a disk, for tests and embedders.
//! - [`chain`]: each line carries the hash of the line before it.
//! - [`error`]: errors, and what to do about them.
//! - `lines`: events to lines and back. `bells`: wakes subscribers when a run changes.
//! - `conformance`: one suite of tests over the trait, run against both implementations.
//!
//! # Invariants
//!
//! - An event exists when its append returned. Readers in the process of the writer see a batch whole or not at all;
//!   readers elsewhere see whole lines, in order, without a gap.
//! - `seq` begins at 1 and has no gap. A writer states which seq it expects next; a wrong one is refused.
//! - An event appended as [`Durability::Synced`] survives a power failure, and so does everything before it.
//! - A seq that was lost after a reader may have seen it is never assigned again in the same epoch. A cursor of another
//!   epoch, or beyond the end, is answered with a reset.
//! - Good lines are never rewritten, and each carries the hash of the line before it.

pub mod chain;
pub mod cursor;
pub mod error;
pub mod event_log;
pub mod file;
pub mod memory;
pub mod page;
pub mod tail;

mod bells;
mod lines;
mod live_fold;

#[cfg(test)]
mod conformance;

pub use bells::{Subscription, Wake, WakeAll};
pub use chain::LineHash;
pub use cursor::{Cursor, Epoch, Head, Seq};
pub use error::{Damage, DamageKind, LogError, LogErrorKind, NewerEvent};
pub use event_log::{Durability, EventLog, IndexState, ReadEnd, Recovered, Torn};
pub use file::FileLog;
pub use lines::{MAX_BATCH, MAX_LINE};
pub use live_fold::{LiveFold, NewFold};
pub use memory::MemoryLog;
pub use page::{Limits, LogLine, LogRead, Page};
pub use tail::{Tail, Tailed};
