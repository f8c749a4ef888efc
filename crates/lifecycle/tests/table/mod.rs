//! The decision table of `settle`, in parts.
//!
//! - `build`: short builders for facts and circumstances.
//! - `expect`: the table of contract R3.5, one function per row.
//! - `conversation`, `process`, `marker`, `output`, `prompt`, `question`: the rows.
//! - `detail`: what a verdict contains in addition to its decision.
//! - `records`: what a turn record contains in addition to its verdict.
//! - `laws`: what holds for any facts.

pub(crate) mod build;
pub(crate) mod conversation;
pub(crate) mod detail;
pub(crate) mod expect;
pub(crate) mod laws;
pub(crate) mod marker;
pub(crate) mod output;
pub(crate) mod process;
pub(crate) mod prompt;
pub(crate) mod question;
pub(crate) mod records;
