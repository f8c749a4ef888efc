//! The host: one process per engine process, one thread, one loop.
//!
//! ```text
//! begin    take the plan, claim the attempt, listen, tell the starter
//! hold     wait for the word to start, if the plan says so; withdraw if it does not come
//! launch   create the files, start the process
//! run      wait for bytes, requests, ends of processes, deadlines
//! close    end the tree, read the rest, seal the evidence, write the record
//! ```
//!
//! - `deadlines`, `ladder`: when and how it ends a process; pure.
//! - `desk`: the socket. `requests`: what the owner asks for. `next_attempt`: one of them that takes longer.
//! - `input`: what the engine is given.
//! - `streams`, `part`: what the engine writes, and the attempt it belongs to.
//! - `record`: the one record in the making.

mod begin;
mod close;
mod deadlines;
mod desk;
mod hold;
mod input;
mod ladder;
mod launch;
mod next_attempt;
mod part;
mod record;
mod requests;
mod run;
mod streams;

pub(crate) use begin::NAME;
pub use begin::main;
