//! Bytes to records. Push-style: bytes in any chunking go in, records with byte ranges come out; nothing is read twice
//! and memory is bounded by the budgets below, whatever the input.
//!
//! - `parser`: the driver. Splits streams into lines, passes each to the profile, keeps lines that no rule understands.
//! - `profiles`: one file per engine format.
//! - `record`: what comes out.
//! - `lines`, `document`, `raw`: lines with offsets, JSON over several lines, lines that no rule understands.
//! - `merged`: a terminal's recording beside the two streams.
//! - `text`: objects, fences and the done marker inside a message's text.
//! - `ansi`, `buffer`, `classify`, `json`: text made safe to show, bounded text, error words, lines as JSON.
//! - `types`: which types of events there were, and how many.
//! - `last_lines`: the reason that an engine gave on stderr before its process ended.
//! - `reset`: when a quota is available again.
//!
//! Per stream, any chunking gives the same records. Every byte lies in the span of at least one record that becomes
//! an event.

pub mod ansi;
pub mod buffer;
pub mod classify;
mod document;
mod json;
pub mod last_lines;
mod lines;
mod merged;
pub mod parser;
mod profile;
mod profiles;
mod raw;
pub mod record;
pub mod reset;
pub mod text;
pub mod types;

/// What the driver of an agent and its parser must interpret in the same way.
pub mod acp {
    pub use crate::profiles::acp::ours::{Name, Unusable, Wanted, Way};
    pub use crate::profiles::acp::said::{AgentMessage, Wants, read_agent_message};
}

pub use lines::LINE_BUDGET;
pub use parser::Parser;
pub use record::{Record, RecordKind, Span};
