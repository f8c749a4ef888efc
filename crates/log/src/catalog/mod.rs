//! The catalog: one row per run over all Logs of a `runs/` folder, so that lists are fast. A view: it may lag behind the
//! Logs, it never leads, and deleting it costs time and nothing else.
//!
//! Nobody writes to it when events are appended. Whoever wants to look calls [`Catalog::refresh`] first, which compares
//! every Log with its row and reads what is new.
//!
//! - `store`: the file: opened, made, made anew, or kept in memory where it cannot be written. `trouble`: what can be
//!   wrong with it, and what follows.
//! - `view`: [`Catalog`], which gets on whatever happens to the file.
//! - `refresh`: which rows are behind, and bringing them up to date. `some`: the same for a few of them. `folders`: a
//!   look at `runs/`.
//! - `fold`: what is known about one run, and reading its Log on from there. `row`: what is shown of it.
//! - `query`: what can be asked. `words`: finding runs by a piece of text.
//!
//! # The file
//!
//! SQLite, for its owner alone (0600). `PRAGMA user_version` is the version of the tables.
//!
//! ```text
//! meta     one row: boot of the machine, version of the fold, a random number for this making of the tables
//! runs     run_id; inode, epoch and bytes of its Log up to which the row goes; what lists are chosen by
//! details  run_id; the row as JSON; the fold as JSON, from which the next refresh goes on; the words it is found by
//! ```
//!
//! A row is current when the Log has the inode and the epoch of the row and ends exactly where the row does. So a torn
//! end or a damage is looked at again each time, which is cheap, and what comes after a mended end is never missed.
//!
//! # Several processes, and what they leave
//!
//! - Rollback journal, not WAL: WAL needs two more files and shared memory, which a folder of other file systems or
//!   without write permission does not give, and its gain, reading during long writes, is not needed here.
//! - `synchronous=OFF`: a process may be killed at any moment, since the journal is in the page cache and the next one
//!   rolls it back. A power failure can leave anything, so the catalog of another boot is not believed; neither are the
//!   sizes of Logs that were not synced.
//! - Damage is mended in place, under the locks of SQLite. A file removed and made anew would share the name of its
//!   journal with the old one, which other processes may still have open. Since they may find the tables emptied
//!   between two questions, each making has a number, and whoever meets another one than before refreshes again.
//! - Where the file cannot be read or written (no permission, no space, no turn within some seconds), the catalog is
//!   kept in memory: slower, and as good.

mod fold;
mod folders;
mod query;
mod refresh;
mod row;
mod some;
mod store;
mod trouble;
mod view;
mod words;

#[cfg(test)]
mod tests;

pub use query::{Counts, Prefix, Query};
pub use refresh::Refreshed;
pub use row::{Question, Resting, Row, Unfinished, Usage, Waiting};
pub use some::{Current, RowState};
pub use store::{Opened, Rebuild};
pub use trouble::CatalogError;
pub use view::Catalog;
pub use words::TEXT_MAX;
