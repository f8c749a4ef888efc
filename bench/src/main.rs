//! Measures the skillrun command from outside, prints one table and writes it to `docs/numbers.md`.
//!
//! - [`speed`]: processor time for ordinary streams, beside `jq` and a plain copy.
//! - [`memory`]: the most memory held for inputs of any size.
//! - [`linearity`]: how processor time grows with hostile inputs.
//! - [`capture`]: what recording a process costs, beside the bare command.
//! - [`runs`]: what running a skill costs, beside the bare engine.
//! - [`service`]: what the server adds to a bare relay, and what it holds and answers under load.
//! - [`web`]: the web page with a long run, in a browser.
//! - [`instructions`]: exact counts for small inputs, compared with `bench/accepted.txt`.
//!
//! [`program`] runs skillrun, [`table`] collects what is printed, [`args`] reads the command line.

mod args;
mod capture;
mod copy;
mod instructions;
mod linearity;
mod memory;
mod problem;
mod program;
mod runs;
mod service;
mod speed;
mod table;
mod web;

use std::fs;
use std::io::Write;
use std::process::ExitCode;

use args::{Args, Task};
use problem::Problem;
use program::Program;
use table::Table;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("bench: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Problem> {
    let args = match Args::read(std::env::args().skip(1))? {
        Task::Measure(args) => args,
        Task::Copy(paths) => return copy::copy(&paths),
        Task::Write(words) => return service::writer::write(&words),
        Task::Relay(words) => return service::relay::relay(&words),
        Task::Help => return print(args::HELP),
    };
    let program = Program::build(args.skillrun.as_deref())?;
    if args.check {
        return instructions::check(&program);
    }
    if args.accept {
        return instructions::accept(&program);
    }
    let mut table = Table::default();
    for part in &args.parts {
        match part {
            args::Part::Speed => speed::measure(&program, &mut table)?,
            args::Part::Memory => memory::measure(&program, args.size, &mut table)?,
            args::Part::Linearity => linearity::measure(&program, &mut table)?,
            args::Part::Instructions => instructions::measure(&program, &mut table)?,
            args::Part::Capture => capture::measure(&program, &mut table)?,
            args::Part::Runs => runs::measure(&program, &mut table)?,
            args::Part::Service => service::measure(&program, args.scale, &mut table)?,
            args::Part::Page => web::measure(&program, &mut table)?,
        }
    }
    let page = table.page(&args.date())?;
    print(&page)?;
    // A page with a part missing would look as if that had never been measured.
    if args.is_whole() {
        fs::write(&args.page, &page)?;
        eprintln!("written to {}", args.page.display());
    }
    table.verdict()
}

fn print(text: &str) -> Result<(), Problem> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
