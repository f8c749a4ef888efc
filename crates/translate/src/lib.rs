//! Translates one attempt's evidence into RASP events and facts for the gate, and RASP events into the FCMP
//! conversation.
//!
//! - `pipeline`: one attempt's evidence in, events and facts out; the same live and offline.
//! - `replay`: one attempt from its first byte to its facts; for the worker and for every later reader.
//! - `builder`: the one place where RASP events are made.
//! - `to_rasp`: parse records to events. `payload`: the JSON object of a message.
//! - `facts`: parse records to the facts that the gate uses.
//! - `questions`: questions of the engine inside a turn, until the caller fetches them.
//! - `coverage`: which bytes lie in the range of an event.
//! - `fcmp`, `echo`: RASP to FCMP, without raw lines that only repeat a message.
//! - `transcript`: FCMP to readable text.
//! - `progress`: what the engine of a run is doing, for a line that is shown while a user waits.

pub mod builder;
pub mod coverage;
mod echo;
pub mod facts;
pub mod fcmp;
mod names;
mod payload;
pub mod pipeline;
pub mod progress;
mod questions;
pub mod replay;
mod to_rasp;
pub mod transcript;

pub use builder::EventBuilder;
pub use facts::Facts;
pub use fcmp::FcmpTranslator;
pub use pipeline::AttemptPipeline;
pub use replay::{Replay, ReplayEnd};
