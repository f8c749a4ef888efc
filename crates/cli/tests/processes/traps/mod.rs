//! The traps that real engines set for programs that run them, each with a test of its own.
//!
//! `docs/traps.md` lists them all; `table` sees to it that the list is whole. What an engine wrote is read from the
//! corpus by `tape`; how its processes behave is acted by stand-ins that `lab` puts in the place of its program, so
//! that the shipped engine files are at work.
//!
//! - Which stream, which exit code: `terminal`, `plain`, `ends`, `refusals`, `server_errors`, `cut_streams`,
//!   `no_server`, `sessions`, `texts`, `silence`.
//! - What is found on stdin: `stdin`.
//! - MCP servers: `servers`.
//! - Signals and children that survive: `signals`, `survivors`, `wrappers`.

mod cut_streams;
mod ends;
mod lab;
mod no_server;
mod plain;
mod refusals;
mod run;
mod server_errors;
mod servers;
mod sessions;
mod signals;
mod silence;
mod stdin;
mod survivors;
mod table;
mod tape;
mod terminal;
mod texts;
mod wrappers;
