//! One file or folder per command.

mod apply;
mod ask;
mod capture;
mod chat;
mod complete;
mod completions;
mod config;
mod consent;
mod continue_run;
mod diagnose;
mod diff;
mod doctor;
mod du;
mod engines;
mod explain;
mod export;
mod gc;
mod interactions;
mod interrupt;
mod logs;
mod ls;
mod mcp;
mod normalize;
mod open;
mod own;
mod prompt_text;
mod replay;
mod reply;
mod result;
mod retry;
mod rm;
mod run;
mod schema;
mod serve;
mod show;
mod skills;
mod test;
mod token;
mod tree;
mod verify;
mod wait;
mod workflow;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::failure::Failure;
use crate::logging::{self, DefaultLevel};

pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let global = args.global;
    let is_server = matches!(args.command, Command::Serve(_));
    let default = if is_server { DefaultLevel::Info } else { DefaultLevel::Off };
    logging::init(&global, default)?;
    let done = |()| ExitCode::SUCCESS;
    match args.command {
        Command::Run(args) => run::run(&global, *args),
        Command::Ask(args) => ask::run(&global, &args),
        Command::Chat(args) => chat::run(&global, &args),
        Command::Reply(args) => reply::reply(&global, &args),
        Command::Cancel(args) => reply::cancel(&global, &args),
        Command::Interrupt(args) => interrupt::interrupt(&global, &args),
        Command::Close(args) => interrupt::close(&global, &args),
        Command::Wait(args) => wait::run(&global, &args),
        Command::Retry(args) => retry::run(&global, &args),
        Command::Workflow(args) => workflow::run(&global, &args.command),
        Command::Continue(args) => continue_run::run(&global, &args),
        Command::Recover(args) => own::recover(&global, &args),
        Command::Own(args) => own::own(&global, &args),
        Command::Ls(args) => ls::run(&global, &args).map(done),
        Command::Show(args) => show::run(&global, &args).map(done),
        Command::Tree(args) => tree::run(&global, &args).map(done),
        Command::Logs(args) => logs::run(&global, &args),
        Command::Result(args) => result::run(&global, &args),
        Command::Replay(args) => replay::run(&global, &args).map(done),
        Command::Diff(args) => diff::run(&global, &args).map(done),
        Command::Apply(args) => apply::run(&global, &args).map(done),
        Command::Interactions(args) => interactions::run(&global, &args).map(done),
        Command::Export(args) => export::run(&global, &args).map(done),
        Command::Verify(args) => verify::run(&global, &args),
        Command::Diagnose(args) => diagnose::run(&global, &args).map(done),
        Command::Rm(args) => rm::run(&global, &args),
        Command::Gc(args) => gc::run(&global, &args).map(done),
        Command::Du(json) => du::run(&global, json.form()).map(done),
        Command::Doctor(json) => doctor::run(&global, json.form()),
        Command::Skills(args) => skills::run(&global, args),
        Command::Test(args) => test::run(&global, &args),
        Command::Engines(args) => engines::run(&global, args),
        Command::Consent(args) => consent::run(&global, &args).map(done),
        Command::Config(args) => config::run(&global, args).map(done),
        Command::Serve(args) => serve::run(&global, &args),
        Command::Mcp => mcp::run(&global).map(done),
        Command::Token(args) => token::run(&global, args).map(done),
        Command::Open(json) => open::run(&global, json.form()).map(done),
        Command::Normalize(args) => normalize::run(&global, &args).map(done),
        Command::Capture(args) => Ok(capture::run(&args)),
        Command::Schema { document } => schema::run(document).map(done),
        Command::Explain { code, json } => explain::run(code.as_deref(), json.form()).map(done),
        Command::Completions { shell } => completions::run(shell).map(done),
        Command::Complete { words } => Ok(complete::run(&words)),
        Command::SimulateScripted { words } => Ok(skillrun_simulate::scripted::main(words)),
        Command::SimulateModel { words } => Ok(skillrun_simulate::model::main(words)),
    }
}
