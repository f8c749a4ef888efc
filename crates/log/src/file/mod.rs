//! Logs in files: the folder `runs/`, one folder per run in it.
//!
//! - `log`: [`FileLog`], which ties the rest together.
//! - `folder`: names and paths. `lock`: one writer per run. `epoch`: when cursors are no longer valid.
//! - `append`: the writer. `recover`: repairs a Log when it is opened. `read`: the read operations.
//! - `recent`: the last events in memory, for readers in the process of the writer.
//! - `scan`: lines of a file, in bounded memory. `index`: where to begin. `tail`: changes by other processes.
//! - `remove`: removed Logs, and how that is recorded.
//!
//! # Files
//!
//! ```text
//! runs/removed.jsonl            {"run_id", "removed_at"} per line: runs that existed and were removed
//! runs/<run_id>/events.jsonl    one JSON line per event; append-only, except for a torn end
//!               events.idx      a view: 32 bytes of header, then 32 bytes per record, little-endian:
//!                               seq u64, offset of its line u64, latest ts of all events before it in milliseconds
//!                               u64, FNV-1a of these and of the first 128 bytes of the line u64.
//!                               One record for each line that begins 16 KiB or more after that of the last record;
//!                               a Log that is shorter has no index
//!               epoch           a decimal number; absent while it is 1
//!               lock            locked (flock) by the writer; holds {"pid", "boot"} of the last one
//!               events.torn.N   the torn end of the Log, which was not an event; from 1
//! ```
//!
//! All are accessible only to their owner (0600). Every number in the index is verified against the line it points to
//! before it is used; an index that is missing, stale, torn or wrong costs time and nothing else.
//!
//! # After a power failure
//!
//! Lines that were synced exist. Any part of the rest may be missing, and since readers may have seen those lines, the
//! Log gets a new epoch when it is opened for writing in another boot of the machine than that of its last writer
//! (`lock`). The id of the boot needs no sync of its own: if it is lost, it does not match the next boot either.

mod append;
mod epoch;
mod folder;
mod index;
mod lock;
mod log;
mod read;
mod recent;
mod recover;
mod remove;
mod scan;
mod tail;

#[cfg(test)]
mod tests;

pub use lock::Boot;
pub use log::FileLog;
