//! Engines that do as they are told, for demonstrations and tests. No real run needs anything in here.
//!
//! [`steps`] is an engine that does exactly what its words say, so that a host can be tried against every kind of
//! nasty process without one real engine. [`scripted`] plays a YAML file in the stream format of any engine, turn by
//! turn, so that whole runs can be shown and tried. [`pattern()`] is what they write when only the amount matters.

mod pattern;
mod process;
pub mod scripted;
pub mod steps;

pub use pattern::pattern;
