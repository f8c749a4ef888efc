//! The binary `skillrun`. Parses arguments to plain data and hands them to one file per command; no logic lives here.

mod args;
mod commands;
mod exit;
mod failure;
mod live;
mod logging;
mod output;
mod owner;
mod place;
mod short_ids;
mod visible;
mod words;

use std::process::ExitCode;

use clap::Parser;
use skillrun_settings as settings;

fn main() -> ExitCode {
    // A host is started for every attempt; building the whole argument parser would be most of its work.
    if args::is_host(std::env::args_os().skip(1)) {
        return skillrun_collect::host::main();
    }
    match args::Args::try_parse() {
        Ok(args) => commands::run(args).unwrap_or_else(|failure| failure.report()),
        Err(error) => args::report(&error),
    }
}
