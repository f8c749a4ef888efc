//! RASP `rasp/1.0`, the event protocol of the Log: one JSON object per line.
//!
//! - [`envelope`]: the fields of every event.
//! - [`data`]: one payload type per event type, and the table that ties them together.
//! - [`schema`]: the JSON Schema made from both.

pub mod data;
pub mod envelope;
pub mod schema;

pub use data::{Category, ControlData, Data, EventType, EvidenceData};
pub use envelope::{Correlation, Event, Level, LogHead, PROTOCOL_VERSION, RawRef, Source, SourceStream, SpanRef};
