//!
//! - `pipeline`: one attempt's evidence in, events and facts out; the same live and offline.
//! - `builder`: the one place where RASP events are made.
//! - `to_rasp`: parse records to events. `payload`: the object that a message is.
//! - `facts`: parse records to what the gate asks about.
//! - `questions`: what the engine asks in the middle of a turn, until somebody fetches it.
//! - `coverage`: which bytes lie in the range of an event.
//! - `fcmp`, `echo`: RASP to FCMP, without what only repeats a message.
//! - `transcript`: FCMP to readable text.

pub mod builder;
pub mod coverage;
mod echo;
pub mod facts;
pub mod fcmp;
mod names;
mod payload;
pub mod pipeline;
mod questions;
mod to_rasp;
pub mod transcript;

pub use builder::EventBuilder;
pub use facts::Facts;
pub use fcmp::FcmpTranslator;
pub use pipeline::AttemptPipeline;
