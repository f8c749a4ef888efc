//! The program as processes of its own: hosts, owners and runs with real engine processes, and its commands from
//! outside. One binary, because each one that links the product costs seconds of every build.
//!
//! - [`capture`]: the attempt host. [`owners`]: owners that are killed. [`runs`]: runs from request to end.
//! - [`boxed`]: processes in a box.
//! - [`limits`]: processes that use more than they may.
//! - [`traps`]: what real engines do to programs that run them.
//! - [`recordings`], [`outputs`], [`bounds`]: what `skillrun normalize` makes of recorded bytes.
//! - [`access`], [`asking`], [`completion`], [`engine_installs`], [`engine_trials`], [`examples`], [`follow`], [`live`],
//!   [`older_data`], [`skills`], [`terminal_questions`], [`trials`], [`waiting`], [`workflows`]: commands. [`on_terminal`]: a terminal
//!   for them.

/// The program itself.
const SKILLRUN: &str = env!("CARGO_BIN_EXE_skillrun");

mod access;
mod asking;
mod bounds;
mod boxed;
mod capture;
mod completion;
mod engine_installs;
mod engine_trials;
mod examples;
mod follow;
mod limits;
mod live;
mod newer_log;
mod older_data;
mod on_terminal;
mod outputs;
mod owners;
mod recordings;
mod runs;
mod skills;
mod terminal_questions;
mod traps;
mod trials;
mod waiting;
mod workflows;
mod workspace_settings;
