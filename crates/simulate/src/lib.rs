//! Engines that do as they are told, for demonstrations and tests. No real run needs anything in here.
//!
//! [`steps`] is an engine that does exactly what its words say, so that a host can be tried against every kind of
//! nasty process without one real engine. [`pattern`] is what it writes when only the amount matters.

mod pattern;
pub mod steps;

pub use pattern::pattern;
