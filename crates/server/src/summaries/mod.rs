//! All runs in a few words, for lists, and what changes about them, for streams. A view over the catalog: nothing is kept
//! here that the Logs do not say.
//!
//! - `shared`: [`Summaries`], used by everybody at once; a thread that looks when there is news.
//! - `book`: the catalog, and what was told about it. `changes`: numbers for changes.
//! - `turns`: who has the book next. `epoch`: which process gave a number out.
//!
//! # What holds
//!
//! - What this process appended before somebody asks is in the answer, unless it is more than a megabyte of one run,
//!   which comes in pieces, so that a run that floods keeps nobody waiting; what others did is there after a second.
//! - Each change of a row has a number, and numbers grow. Whoever takes everything after the last number it was given
//!   misses no run's last state, and never sees a run as it was before.
//! - A change is "look again": the row that is given is the one that is there, not the one that was there then. So of a
//!   run that changed a hundred times there is one change to give.

mod book;
mod changes;
mod epoch;
mod shared;
mod turns;

#[cfg(test)]
pub(crate) mod tests;

pub use book::{Change, Since};
pub use epoch::{Epoch, NoEpoch};
pub use shared::{Guard, Summaries, SummariesError};
