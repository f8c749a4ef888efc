//! The format of `.audit`: what an engine process wrote, byte for byte; read in recorded order, through the mask.
//!
//! ```text
//! .audit/  meta.N.json       facts about attempt N: engine, mode, exit (see [`meta`])
//!          stdout.N.log      what the process wrote; the bytes are the truth and are never changed
//!          stderr.N.log
//!          pty-output.N.log  the terminal's copy; alone it stands for stdout (`one_pty`)
//!          chunks.N.jsonl    the order of reads, ends of streams and the host's acts (see [`chunks`])
//!          redact.N.jsonl    ranges that hold secrets: `{"stream","from","to"}` (see [`mask`])
//!          stdin.N.log       what was written to the process
//!          host.N.json       the host's own record, there when the attempt is over (see [`host_record`])
//!          claim.N           created before the process; the host that created it owns the attempt
//!          host.sock         the socket of a living host
//! ```
//!
//! [`recorder`] writes, [`tail`] follows what is being written. [`folder`] finds attempts, [`feed`] returns one attempt's
//! bytes record by record, and [`live_feed`] does so while they are being written; [`patterns`] hide more than [`mask`]
//! does, in every reader that has some. Nothing here interprets a byte.

pub mod chunks;
pub mod error;
pub mod feed;
pub mod folder;
#[cfg(test)]
mod hiding_tests;
pub mod host_record;
mod lines;
pub mod live_feed;
pub mod mask;
pub mod meta;
pub mod names;
pub mod os_text;
pub mod patterns;
pub mod recorder;
pub mod tail;
#[cfg(test)]
mod testing;

pub use error::EvidenceError;
pub use feed::{Feed, FeedStep};
pub use folder::{Attempt, Folder};
pub use host_record::HostRecord;
pub use live_feed::{Extent, LiveFeed};
pub use meta::Meta;
pub use os_text::OsText;
pub use patterns::{PatternError, Patterns};
pub use recorder::Recorder;
pub use tail::Tail;

pub use skillrun_model::Stream;
