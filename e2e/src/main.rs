//! Runs the real engines through the skillrun command against a scripted model, and prints two tables of the results.
//!
//! - [`args`], [`network`]: the command line; a network namespace with only loopback.
//! - [`program`], [`clis`], [`engines`]: skillrun, the programs of the engines, and how each is pointed at a model.
//! - [`lab`], [`home`]: what all trials share. [`place`], [`trial`]: one scenario on one engine.
//!   [`told`]: its result.
//! - [`scenarios`]: the scenarios. [`crew`]: the threads that run them, two engines at a time.
//! - [`bounded`], [`stop`], [`processes`], [`problem`]: waiting, signals, processes, and what went wrong.
//! - [`table`], [`page`]: what is printed and written.

mod args;
mod bounded;
mod clis;
mod crew;
mod engines;
mod home;
mod lab;
mod network;
mod page;
mod place;
mod problem;
mod processes;
mod program;
mod scenarios;
mod stop;
mod table;
mod told;
mod trial;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use args::{Args, Extent, Folders, Network, Page, Task};
use clis::Clis;
use engines::Group;
use lab::Lab;
use network::Entered;
use problem::Problem;
use program::Program;
use skillrun_engine::Engines;
use stop::Stop;
use table::{Skip, Table};

/// The exit code, as a shell has it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("e2e: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, Problem> {
    let begin = Instant::now();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let args = match Args::read(words.iter().cloned())? {
        Task::Try(args) => args,
        Task::Help => {
            print(args::HELP)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let clis = Clis::find()?;
    let wanted = engines::asked_for(&Engines::shipped(), &args.engines)?;
    let is_there = |descriptor: &skillrun_engine::Descriptor| engines::installed(descriptor, &clis).is_some();
    if args.extent == Extent::Quick && !wanted.iter().any(is_there) {
        print(&format!("skipped: none of the engines is in {}; `make e2e` installs them\n", clis.root().display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let program = Program::build(args.skillrun.as_deref())?;
    if args.network == Network::AsItIs {
        if args.extent == Extent::Full {
            for descriptor in wanted.iter().filter(|descriptor| !is_there(descriptor)) {
                clis.install(&program, descriptor.name.as_str())?;
            }
        }
        match network::enter(&program, &words, begin.elapsed(), &Stop::listen()?)? {
            Entered::Done(code) => return Ok(code),
            Entered::Refused(why) => eprintln!("failed to restrict the network to loopback, continuing without: {why}"),
        }
    }
    let mut found = Vec::new();
    for descriptor in &wanted {
        match engines::installed(descriptor, &clis) {
            Some(engine) => found.push(engine),
            None => print(&format!("skipped: {} is not in {}\n", descriptor.name, clis.root().display()))?,
        }
    }
    let end = (args.extent == Extent::Quick).then(|| begin + args::QUICK_LIMIT.saturating_sub(args.spent));
    // All of them: a conversation may be continued on an engine that is not tried itself.
    let names: Vec<String> =
        engines::asked_for(&Engines::shipped(), &[])?.iter().map(|one| one.name.to_string()).collect();
    let stop = Stop::listen()?;
    let lab = Lab::make(program, clis, &names, end, args.confinement, stop.clone())?;
    let tried = crew::try_all(&lab, &found, &args.scenarios, args.folders);
    let mut failures = table::failures(&tried);
    // Everything is over, so the user's HOME must be unchanged.
    failures.extend(lab.home.changes()?.into_iter().map(|change| format!("the user's HOME was changed: {change}")));
    for group in Group::ALL {
        let Some(table) = Table::of(group, &tried) else { continue };
        print(&format!("\n{}", table.markdown()))?;
        // A missing part would look as if it had never been tested.
        if args.page == Page::Written && group.is_whole(&args.engines) && !stop.is_wanted() {
            page::write(&testkit::paths::workspace().join("docs/engines.md"), &table, &testkit::problem::today())?;
        }
    }
    print("\n")?;
    for failure in &failures {
        print(&format!("FAILED: {failure}\n"))?;
    }
    let left_out = table::left_out(&tried, Skip::NoTime);
    if !left_out.is_empty() {
        print(&format!("not tested, because the time was up: {}\n", left_out.join(", ")))?;
    }
    if failures.is_empty() && args.folders == Folders::OfFailures {
        std::fs::remove_dir_all(&lab.scratch)?;
    }
    print(&format!("{} s in total\n", (args.spent + begin.elapsed()).as_secs()))?;
    if stop.is_wanted() {
        print("interrupted\n")?;
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(text: &str) -> Result<(), Problem> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
