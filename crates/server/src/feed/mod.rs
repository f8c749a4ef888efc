//! Streams of one run: from any cursor on, every event once, whatever the speed of the reader.
//!
//! ```text
//! Log or conversation ──read──▶ feed (one per run and kind, while there are readers) ──▶ reader ──▶ SSE
//!          ▲                                                                                │
//!          └───────────────── a lagging reader reads the source itself ──────────────┘
//! ```
//!
//! - `position`: the position of a reader, and its spelling in `id:` and `cursor`.
//! - `frames`: events as sent over the wire, rendered once for all readers.
//! - `source`: where they come from. `conversation`: FCMP, translated once for all readers.
//! - `kept`: conversations for readers that reconnect.
//! - `ring`: the last frames of a feed. `live`: the feed. `reader`: one reader of it.
//!
//! The feed is a shortcut and holds nothing that is not in the Log: losing it costs a read.

pub(crate) mod conversation;
pub(crate) mod frames;
mod kept;
pub(crate) mod live;
pub(crate) mod position;
pub(crate) mod reader;
mod ring;
pub(crate) mod source;

pub(crate) use live::Feeds;
pub(crate) use position::Position;
pub(crate) use reader::{Next, Reader};
pub(crate) use source::Kind;
