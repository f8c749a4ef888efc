//! `skillrun diagnose`: why a run is in its state, what looks wrong, and what can be done.

use skillrun_inspect::diagnose::{Diagnosis, RunOwner, diagnose};

use crate::args::{Global, OneRun, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::place::CommandContext;
use crate::words::now;

pub(crate) fn run(global: &Global, args: &OneRun) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let owner = place.owner(run).map_or(RunOwner::NoProcess, |pid| RunOwner::Process { pid: Some(pid) });
    let diagnosis = diagnose(&place.settings.data, &place.log, run, owner, now())?;
    match args.json.form() {
        OutputForm::Json => print_json(&diagnosis),
        OutputForm::Text => print(&text(&diagnosis, &Output::new(global.color, &place.settings.surroundings))),
    }
}

fn text(diagnosis: &Diagnosis, output: &Output) -> String {
    let lines = diagnosis.lines();
    let row = |(label, text): &(&'static str, String)| (Ink::Bold, (*label).to_owned(), plain(text));
    output.labelled(&lines.iter().map(row).collect::<Vec<_>>())
}
