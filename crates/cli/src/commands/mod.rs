//! One file per command.

mod capture;
mod explain;
mod normalize;
mod schema;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::failure::Failure;

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let done = |()| ExitCode::SUCCESS;
    match args.command {
        Command::Normalize(args) => normalize::run(&args).map(done),
        Command::Capture(args) => Ok(capture::run(&args)),
        Command::Schema { protocol } => schema::run(protocol).map(done),
        Command::Explain { code } => explain::run(code.as_deref()).map(done),
        Command::AttemptHost => Ok(skillrun_collect::host::main()),
        Command::SimulateScripted { words } => Ok(skillrun_simulate::scripted::main(words)),
        Command::SimulateSteps { words } => Ok(skillrun_simulate::steps::main(words)),
    }
}
