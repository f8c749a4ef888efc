//! `skillrun diagnose`: why a run is in its state, what looks wrong, and what can be done.

use skillrun_inspect::diagnose::{DiagnosisLine, RunOwner, diagnose};
use skillrun_inspect::family::{self, LinkedRun};
use skillrun_model::RunId;

use crate::args::{Diagnose, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::place::CommandContext;
use crate::words::now;

pub(crate) fn run(global: &Global, args: &Diagnose) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let owner = |run| place.owner(run).map_or(RunOwner::NoProcess, |pid| RunOwner::Process { pid: Some(pid) });
    let output = Output::new(global.color, &place.settings.surroundings);
    if args.tree {
        let linked = linked(&place, run)?;
        let found = family::diagnose(&place.settings.data, &place.log, run, &linked, &owner, now())?;
        return match args.json.form() {
            OutputForm::Json => print_json(&found),
            OutputForm::Text => print(&text(&found.lines(), &output)),
        };
    }
    let diagnosis = diagnose(&place.settings.data, &place.log, run, owner(run), now())?;
    match args.json.form() {
        OutputForm::Json => print_json(&diagnosis),
        OutputForm::Text => print(&text(&diagnosis.lines(), &output)),
    }
}

fn linked(place: &CommandContext, run: RunId) -> Result<Vec<LinkedRun>, Failure> {
    let links = place.catalog()?.linked(run)?;
    Ok(links.into_iter().map(|(run_id, parent)| LinkedRun { run_id, parent }).collect())
}

fn text(lines: &[DiagnosisLine], output: &Output) -> String {
    let row = |(label, text): &(&'static str, String)| (Ink::Bold, (*label).to_owned(), plain(text));
    output.labelled(&lines.iter().map(row).collect::<Vec<_>>())
}
