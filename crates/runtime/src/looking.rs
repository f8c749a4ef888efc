//! What can be told about runs and engines, as data: commands print it, the service sends it. Nothing here changes a run.
//!
//! - `attempts`: what happened in each attempt. `interactions`: the questions of a run, and what became of them.
//! - `changes`: which files an attempt changed, read line by line.
//! - `retry`: a new request made of an old run.
//! - `engines`: which engines there are, and what is found of them on this machine.
//! - `patched`: what an agent reads of a skill. `hidden`: what of a request nobody is shown.

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
