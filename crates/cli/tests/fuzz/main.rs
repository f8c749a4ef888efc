//! Malformed bytes for every place that reads untrusted bytes, as long as the budget lasts.
//!
//! ```text
//! SKILLRUN_FUZZ_SECONDS=60 cargo test -p skillrun --test fuzz -- --nocapture    each target for a minute, not 2 s
//! SKILLRUN_FUZZ_SEED=N     cargo test -p skillrun --test fuzz TARGET            what a failure prints, to see it again
//! ```
//!
//! - [`drive`]: the budget, the seed, what a failure leaves. [`watch`]: nothing may take too long or too much memory.
//! - [`mutate`]: changes of bytes. [`words`]: the words of each format. [`seeds`]: what the changes begin with.
//! - [`parsers`], [`evidence`]: what an engine wrote, in memory and in files. [`log`]: a damaged Log.
//! - [`zips`], [`folders`], [`runner`], [`schemas`], [`yaml`]: what a skill brings along.
//! - [`toml`]: what an operator wrote.
//! - [`http`], [`host`], [`owner`]: any client of a socket, with a real process at its other end.
//! - [`server`], [`process`], [`tree`]: a real server, the ends of processes, what a folder holds.

mod drive;
mod evidence;
mod folders;
mod host;
mod http;
mod log;
mod mutate;
mod owner;
mod parsers;
mod process;
mod runner;
mod schemas;
mod seeds;
mod server;
mod toml;
mod tree;
mod watch;
mod words;
mod yaml;
mod zips;
