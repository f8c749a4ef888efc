//! The binary `stand-in`: programs that stand in for engines in tests. It is not shipped.
//!
//! [`steps`] does exactly what its words say, so that a host can be tried against every kind of nasty process without
//! one real engine. [`iflow`] stands in for the iFlow CLI, which cannot be installed any more, [`acp`] for an agent of
//! the Agent Client Protocol.

mod acp;
mod iflow;
mod steps;

use std::ffi::OsString;
use std::process::ExitCode;

use rustix::stdio::stderr;
use skillrun_simulate::process::write_all;

const USAGE: u8 = 64;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let which = words.next().unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    match which.to_str() {
        Some(steps::SUBCOMMAND) => steps::main(words),
        Some(iflow::SUBCOMMAND) => iflow::main(words),
        Some(acp::SUBCOMMAND) => acp::main(words),
        _ => {
            // The exit code says enough if stderr is gone.
            let _ = write_all(stderr(), b"stand-in: the first word must be steps, iflow or acp\n");
            ExitCode::from(USAGE)
        }
    }
}
