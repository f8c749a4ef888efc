//! Whether an engine can be used: is it there, can what it wrote before still be read, does it do what it must with a
//! scripted model, and does it write events of unknown types.
//!
//! - `golden`: what each kind of engine once wrote, and what must be made of it. `live`: real runs.
//! - `drift`: types of events that are new or gone. `verification`: all of it as data.

pub mod drift;
pub mod golden;
pub mod live;
mod verification;

pub use verification::{CheckLine, InstalledEngine, Mark, Verification, verify};
