//! One attempt: how it is started, read while it runs, and what is already known of it.
//!
//! - `launch`: the plan for the host. `reading`: evidence to events, live or after a crash, with the same code.
//! - `confinement`: the box around its process.
//! - `check`: the plan for the host of a check.
//! - `message`: the message that it begins with.
//! - `inputs`: whether the run still has what was accepted.
//! - `known`: events that an earlier owner has appended. `opening`: what an agent's process is started for.
//! - `evidence`: what it is read from. `keys`: the server's own keys, which are masked in the engine's output.

pub(crate) mod check;
pub(crate) mod confinement;
pub(crate) mod evidence;
mod inputs;
mod keys;
mod known;
pub(crate) mod launch;
pub(crate) mod message;
pub(crate) mod opening;
pub(crate) mod reading;
mod resources;
