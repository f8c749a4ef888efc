//! Views of a run's evidence that are made on request. All of them read through the mask.
//!
//! - [`raw`]: any part of one stream of one attempt.
//! - [`mod@events_at`]: which events a byte went into.
//! - [`cast`]: the run as a recording of a terminal.
//! - `line`: the fields of a Log line that these need.

pub mod cast;
pub mod events_at;
mod line;
pub mod raw;
#[cfg(test)]
mod testing;

pub use cast::{CastError, CastWriter};
pub use events_at::{EventsAt, EventsRest, events_at};
pub use raw::{RawError, RawKind, RawStream};
