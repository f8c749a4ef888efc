//! Summaries of all runs, for lists, and their changes, for streams. A view over the catalog: nothing is stored here
//! that is not in the Logs.
//!
//! - `shared`: [`Summaries`], shared by all threads; a thread that refreshes when there are changes.
//! - `book`: the catalog, and the changes reported so far. `changes`: numbers of changes.
//! - `turns`: access to the book in order. `epoch`: which process assigned a number.
//!
//! # Invariants
//!
//! - Events that this process appended before a query are in its result, unless they are more than a megabyte of one
//!   run, which is read in pieces, so that a run that floods its Log does not delay other queries; changes by other
//!   processes appear after a second.
//! - Each change of a row has a number, and numbers grow. A reader that takes everything after the last number it
//!   received misses no run's last state, and never sees an older state of a run.
//! - A change is "look again": the row that is returned is the current one, not the one at the time of the change. So a
//!   run that changed a hundred times has one change.

mod book;
mod changes;
mod epoch;
mod shared;
mod turns;

#[cfg(test)]
pub(crate) mod tests;

pub use book::{RowChange, Since};
pub use epoch::{Epoch, NoEpoch};
pub use shared::{Guard, Summaries, SummariesError};
