//! Measures the skillrun command from outside, prints tables and writes them to `docs/numbers.md`.
//!
//! - [`speed`]: processor time for ordinary streams, compared with `jq` and a plain copy.
//! - [`memory`]: the peak memory for inputs of any size.
//! - [`linearity`]: how processor time grows with hostile inputs.
//! - [`capture`]: what recording a process costs, compared with the bare command.
//! - [`runs`]: what running a skill costs, compared with the bare engine; [`waiting`], [`interrupt`], [`replay`] and
//!   [`handover`]: runs that wait, an interrupted turn, the replay of a run, and a run that continues it.
//! - [`service`]: what the server adds to a bare relay, and what it holds and answers under load.
//! - [`load`]: how much load one machine sustains: many runs, floods, a killed server, disk.
//! - [`web`]: the web page with a long run, in a browser.
//! - [`instructions`]: exact counts for small inputs, compared with `bench/accepted.txt`.
//!
//! [`program`] runs skillrun, [`table`] collects what was measured, [`page`] shows it, [`args`] reads the command line.

mod args;
mod capture;
mod copy;
mod handover;
mod instructions;
mod interrupt;
mod later;
mod linearity;
mod load;
mod log_work;
mod memory;
mod page;
mod program;
mod replay;
mod runs;
mod service;
mod speed;
mod table;
mod terminal;
mod waiting;
mod web;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use args::{Args, Task};
use page::{Page, Stamp};
use program::Program;
use table::Table;
use testkit::problem::{self, Problem};

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
        Task::Log(words) => return log_work::work(&words),
        Task::Help => return print(args::HELP),
    };
    let program = Program::build(args.skillrun.as_deref())?;
    if args.check {
        return instructions::check(&program);
    }
    if args.accept {
        return instructions::accept(&program);
    }
    service::children::guard()?;
    // Before half an hour of measuring, not after it.
    let read = |file: &PathBuf| {
        fs::read_to_string(file).map_err(|error| Problem(format!("--soak {}: {error}", file.display())))
    };
    let soak = args.soak.as_ref().map(read).transpose()?;
    let stamp = Stamp::now(args.date());
    let (mut table, mut now) = (Table::default(), Page::default());
    let mut before = Page::read(&fs::read_to_string(&args.page).unwrap_or_default());
    for part in &args.parts {
        let begin = Instant::now();
        table.begin(*part);
        // The other parts are still measured.
        if let Err(problem) = measure(*part, &args, &program, &mut table) {
            table.missed(format!("{}: not measured completely: {problem}", part.name()));
        }
        eprintln!("{} took {}", part.name(), page::minutes(begin.elapsed()));
        for page in [&mut now, &mut before] {
            if let (args::Part::Soak, Some(made)) = (part, &soak) {
                page.put_made(*part, made, &stamp);
            } else {
                page.put(*part, &table, &stamp, begin.elapsed());
            }
        }
    }
    print(&now.text(&stamp))?;
    if args.writes() {
        fs::write(&args.page, before.text(&stamp))?;
        eprintln!("written to {}", args.page.display());
    }
    later::remove_all();
    match now.missed().len() {
        0 => Ok(()),
        missed => Err(Problem(format!("{missed} targets were missed"))),
    }
}

fn measure(part: args::Part, args: &Args, program: &Program, table: &mut Table) -> Result<(), Problem> {
    match part {
        args::Part::Speed => speed::measure(program, table),
        args::Part::Memory => memory::measure(program, args.size, table),
        args::Part::Linearity => linearity::measure(program, table),
        args::Part::Instructions => instructions::measure(program, table),
        args::Part::Capture => capture::measure(program, table),
        args::Part::Runs => runs::measure(program, &args.figures, table),
        args::Part::Service => service::measure(program, args.scale, &args.figures, table),
        args::Part::Load => load::measure(program, args.scale, &args.figures, table),
        args::Part::Page => web::measure(program, table),
        args::Part::Soak if args.soak.is_some() => Ok(()),
        args::Part::Soak => Err(Problem("--soak FILE is needed".to_owned())),
    }
}

fn print(text: &str) -> Result<(), Problem> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
