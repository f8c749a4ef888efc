//! One attempt: how it is started, read while it goes on, and what is known of it already.
//!
//! - `launch`: what the host is told. `reading`: evidence to events, live or after a crash, with the same code.
//! - `inputs`: whether the run still has what was accepted.
//! - `known`: events that an owner before us has appended. `opening`: what an agent's process is started for.
//! - `keys`: what of the server's own is masked in what an engine writes.

pub(crate) mod inputs;
mod keys;
mod known;
pub(crate) mod launch;
pub(crate) mod opening;
pub(crate) mod reading;

pub(crate) use known::is_evidence;
