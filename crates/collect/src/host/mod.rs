//! The host: one process per engine process, one thread, one loop.
//!
//! ```text
//! begin    read the plan, claim the attempt, listen, answer the starter
//! hold     wait for the request to start, if the plan requires it; withdraw if none arrives
//! launch   create the files, start the process
//! run      wait for bytes, requests, exits of processes, deadlines
//! close    terminate the tree, read the rest, seal the evidence, write the record
//! ```
//!
//! - `deadlines`, `ladder`: when and how it terminates a process; pure.
//! - `owner_socket`: the socket. `requests`: requests of the owner. `next_attempt`: one of them that takes longer.
//! - `input`: the input of the engine.
//! - `streams`, `part`: the output of the engine, and the attempt it belongs to.
//! - `limits`: ends processes that use more than the run allows.
//! - `record`: the record under construction.

mod begin;
mod close;
mod deadlines;
mod hold;
mod input;
mod ladder;
mod launch;
mod limits;
mod next_attempt;
mod owner_socket;
mod part;
mod record;
mod requests;
mod run;
mod streams;

pub(crate) use begin::NAME;
pub use begin::main;
pub(crate) use deadlines::{Moment, after};
