//! Information about runs and engines, as data: commands print it, the service sends it. Nothing here changes a run.
//!
//! - `attempts`: what happened in each attempt. `interactions`: the questions of a run, and how they were resolved.
//! - `changes`: which files an attempt changed, read line by line.
//! - `retry`: a new request made from an old run.
//! - `engines`: the known engines, and their state on this machine.
//! - `patched`: the text of a skill that an agent reads. `hidden`: the parts of a request that are not shown.

pub mod attempts;
pub mod changes;
pub mod engines;
pub mod hidden;
pub mod interactions;
pub mod patched;
pub mod retry;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
