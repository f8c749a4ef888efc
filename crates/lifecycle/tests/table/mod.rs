//! The decision table of `settle`, in parts.
//!
//! - `build`: facts and circumstances in few words.
//! - `expect`: the table of contract section 3, one function per row.
//! - `process`, `marker`, `output`, `question`: the rows.
//! - `detail`: what a verdict carries beside its decision.
//! - `laws`: what holds for any facts.

pub(crate) mod build;
pub(crate) mod detail;
pub(crate) mod expect;
pub(crate) mod laws;
pub(crate) mod marker;
pub(crate) mod output;
pub(crate) mod process;
pub(crate) mod question;
