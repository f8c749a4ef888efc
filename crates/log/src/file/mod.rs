//! Logs in files: the folder `runs/`, one folder per run in it.
//!
//! - `log`: [`FileLog`], which ties the rest together.
//! - `folder`: names and places. `lock`: one writer per run. `epoch`: when cursors are no longer good.
//! - `append`: the writer. `recover`: what is done when one opens a Log. `read`: everything readers ask.
//! - `scan`: lines of a file, in bounded memory. `index`: where to begin. `tail`: news from other processes.
//! - `remove`: Logs that are gone, and how that is remembered.
//!
//! # Files
//!
//! ```text
//! runs/removed.jsonl            {"run_id", "removed_at"} per line: these were there and are gone
//! runs/<run_id>/events.jsonl    one JSON line per event; only ever added to, except for a torn end
//!               events.idx      a view: 32 bytes of header, then 32 bytes per record, little-endian:
//!                               seq u64, offset of its line u64, latest ts of all events before it in milliseconds
//!                               u64, FNV-1a of these and of the first 128 bytes of the line u64.
//!                               One record for each line that begins 16 KiB or more after that of the last record;
//!                               a Log that is shorter has no index
//!               epoch           a decimal number; absent while it is 1
//!               lock            locked (flock) by the writer; holds {"pid", "boot"} of the last one
//!               events.torn.N   what the end of the Log had that was no event, from 1
//! ```
//!
//! All are for their owner alone (0600). Every number in the index is proved against the line it points to before it
//! is used; an index that is missing, stale, torn or wrong costs time and nothing else.
//!
//! # What is where when the power fails
//!
//! Lines that were synced are there. Of the rest any part may be missing, and since readers may have seen them, the
//! Log gets a new epoch when it is opened for writing after another boot of the machine than that of its last writer
//! (`lock`). The name of the boot needs no sync of its own: if it is lost, it is not that of the next boot either.

mod append;
mod epoch;
mod folder;
mod index;
mod lock;
mod log;
mod read;
mod recover;
mod remove;
mod scan;
mod tail;

#[cfg(test)]
mod tests;

pub(crate) use lock::Boot;
pub use log::FileLog;
