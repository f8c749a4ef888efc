//! Information about runs, as data: commands print it, the service sends it. Reads what runs leave, and never changes a
//! run.
//!
//! - `attempts`: what happened in each attempt. `interactions`: the questions of a run, and how they were resolved.
//! - `patched`: the text of a skill that an agent reads.
//! - `evidence_views`: parts of the evidence on request: bytes, events of a byte, a recording.
//! - `verify`: everything derived again and compared. `diagnose`: why a run is in its state.
//! - `family`: a run and all runs below it, compared.
//! - `replay`: what a model would see again of a run.
//! - `workflow`: a workflow with its steps. `step_questions`: what the runs of its steps ask.
//! - `bundle`: a run in one file. `normalize`: recorded bytes to events and verdict.

pub mod attempts;
pub mod bundle;
pub mod diagnose;
mod error;
pub mod evidence_views;
pub mod family;
pub mod interactions;
pub mod normalize;
pub mod patched;
pub mod replay;
pub mod step_questions;
#[cfg(test)]
mod testing;
pub mod verify;
pub mod workflow;

pub use error::InspectError;
