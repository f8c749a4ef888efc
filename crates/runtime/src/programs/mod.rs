//! Private installs of engines, carried out: one at a time, whole or not at all.
//!
//! `install` goes through the steps that `skillrun_engine::install` plans. `npm` runs npm, within its time limit.

mod error;
mod install;
mod npm;
#[cfg(test)]
mod tests;

pub use error::InstallError;
pub use install::{Install, InstallOutcome, InstallProgress};
