//! The binary `skillrun`. Parses arguments to plain data and hands them to one file per command; no logic lives here.

mod args;
mod commands;
mod failure;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::run(args::Args::parse()) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
