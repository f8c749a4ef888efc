//! One file or folder per command.

mod capture;
mod completions;
mod config;
mod engines;
mod explain;
mod normalize;
mod own;
mod reply;
mod retry;
mod run;
mod schema;
mod skills;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::failure::Failure;

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let global = args.global;
    let done = |()| ExitCode::SUCCESS;
    match args.command {
        Command::Run(args) => run::run(&global, *args),
        Command::Reply(args) => reply::reply(&global, &args),
        Command::Cancel(args) => reply::cancel(&global, &args),
        Command::Retry(args) => retry::run(&global, &args),
        Command::Recover(args) => own::recover(&global, &args),
        Command::Own(args) => own::own(&global, &args),
        Command::Skills(args) => skills::run(&global, args),
        Command::Engines(args) => engines::run(&global, args).map(done),
        Command::Config(args) => config::run(&global, args).map(done),
        Command::Normalize(args) => normalize::run(&args).map(done),
        Command::Capture(args) => Ok(capture::run(&args)),
        Command::Schema { protocol } => schema::run(protocol).map(done),
        Command::Explain { code } => explain::run(code.as_deref()).map(done),
        Command::Completions { shell } => completions::run(shell).map(done),
        Command::AttemptHost => Ok(skillrun_collect::host::main()),
        Command::SimulateScripted { words } => Ok(skillrun_simulate::scripted::main(words)),
        Command::SimulateSteps { words } => Ok(skillrun_simulate::steps::main(words)),
    }
}
