//! The catalog: one row per run over all Logs of a `runs/` folder, so that lists are fast. A view: it may lag behind the
//! Logs, it never leads, and deleting it costs time and nothing else.
//!
//! Appending events does not write to the catalog. A reader calls [`Catalog::refresh`] first, which compares every Log
//! with its row and reads new events.
//!
//! - `store`: the file: opened, created, rebuilt, or kept in memory if it cannot be written. `trouble`: errors of the
//!   file, and their consequences.
//! - `view`: [`Catalog`], which keeps working whatever happens to the file.
//! - `refresh`: finds outdated rows and refreshes them. `some`: the same for a few rows. `folders`: scans `runs/`.
//! - `watch`: [`RunsWatch`], which finds outdated rows again and again at a cost that ended runs do not add to.
//! - `fold`: the state of one run, and how reading its Log resumes. `row`: what is shown of a run.
//!   `front`: the part of a line that suffices for events that no row shows.
//! - `query`: the queries. `words`: text search.
//!
//! # The file
//!
//! SQLite, accessible only to its owner (0600). `PRAGMA user_version` is the version of the tables.
//!
//! ```text
//! meta     one row: boot of the machine, version of the fold, a random number for this build of the tables
//! runs     run_id; inode, epoch and bytes of its Log up to which the row goes; the columns that lists filter by
//! details  run_id; the row as JSON; the fold as JSON, from which the next refresh continues; the words for text search
//! ```
//!
//! A row is current when the Log has the inode and the epoch of the row and ends exactly where the row does. So a torn
//! end or a damage is checked again each time, which is cheap, and events after a repaired end are never missed.
//!
//! # Several processes, and leftovers
//!
//! - Rollback journal, not WAL: WAL needs two more files and shared memory, which are not available on some file
//!   systems or without write permission, and its advantage, reading during long writes, is not needed here. The file of
//!   the journal stays between two transactions (`journal_mode=PERSIST`): a server makes several transactions for each
//!   run, and creating and deleting a file costs more than the transaction. On ext4 it also makes every file that is
//!   created within the next five seconds more expensive, because numbers of deleted files are not used again so soon.
//! - `synchronous=OFF`: a process may be killed at any moment, since the journal is in the page cache and the next
//!   process rolls it back. A power failure can leave anything, so the catalog of another boot is not trusted; neither
//!   are the sizes of Logs that were not synced.
//! - Damage is repaired in place, under the locks of SQLite. A file that is removed and recreated would share the name
//!   of its journal with the old one, which other processes may still have open. Since they may find the tables emptied
//!   between two queries, each build of the tables has a number, and a process that finds another number than before
//!   refreshes again.
//! - If the file cannot be read or written (no permission, no space, locked for some seconds), the catalog is kept in
//!   memory: slower, with the same results.

mod fold;
mod folders;
mod front;
mod query;
mod refresh;
mod row;
mod some;
mod store;
mod trouble;
mod view;
mod watch;
mod words;

#[cfg(test)]
mod tests;

pub use query::{Counts, ParentFilter, Query};
pub use refresh::Refreshed;
pub use row::{NoPosition, Resting, Row, RowQuestion, TokenUsage, TreeRow, Unfinished, Waiting, WaitingPosition};
pub use some::{Current, PartlyRead, RowState};
pub use store::{Opened, Rebuild};
pub use trouble::CatalogError;
pub use view::Catalog;
pub use watch::{RunsWatch, WatchedRuns};
pub use words::TEXT_MAX;
