//! Tries engines and skills: runs cases on several engines and compares; probes an engine against a scripted model;
//! records fixtures.
//!
//! ```text
//! cases file ─▶ cases ─┐
//!                      ├─▶ trials ─▶ drive ─▶ runtime ─▶ result ─▶ judge ─▶ report ─▶ table, JSON, junit
//! engines of a skill ──┘
//! ```
//!
//! - [`cases`]: what a skill is tried with, and what must come of it.
//! - [`drive`]: one run from request to end, with answers to what it asks. [`trials`]: many of them.
//! - [`judge`]: what came of a run against what must come of it. [`report`]: all of that together, and what engines
//!   disagree about. [`junit`]: the same for other programs.
//!
//! - [`lab`]: a real engine with a scripted model. [`verify`]: whether an engine can be used. [`record`]: a fixture from a
//!   real engine.
//!
//! Runs go through the runtime like all others. Nothing is decided here about a run; it is only looked at.

pub mod cases;
pub mod drive;
pub mod judge;
pub mod junit;
pub mod lab;
pub mod record;
pub mod report;
pub mod trials;
pub mod verify;
