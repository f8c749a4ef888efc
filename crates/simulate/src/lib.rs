//! Scripted engines for demonstrations and tests. No real run needs anything in here.
//!
//! [`steps`] is an engine that does exactly what its words say, so that a host can be tried against every kind of
//! nasty process without one real engine. [`scripted`] plays a YAML file in the stream format of any engine, turn by
//! turn, so that whole runs can be shown and tried. [`model`] is a model for real engines that answers by script.
//! [`iflow`] stands in for the iFlow CLI, which can no longer be installed, [`acp`] for an agent of the Agent Client
//! Protocol. [`pattern()`] is what they write when only the amount matters.

pub mod acp;
pub mod iflow;
pub mod model;
mod pattern;
mod process;
pub mod scripted;
pub mod steps;

pub use pattern::pattern;
