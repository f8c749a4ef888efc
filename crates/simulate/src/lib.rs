//! Scripted engines for demonstrations and tests. No real run needs anything in here.
//!
//! [`scripted`] plays a YAML file in the stream format of any engine, turn by turn, so that whole runs can be shown and
//! tried. [`model`] is a model for real engines that answers by script. [`pattern()`] is what they write when only the
//! amount matters. Engines that tests alone need are in the crate `stand-ins`, which uses [`process`].

pub mod model;
mod pattern;
pub mod process;
pub mod scripted;

pub use pattern::pattern;
