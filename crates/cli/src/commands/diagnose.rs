//! `skillrun diagnose`: why a run is in its state, what looks wrong, and what can be done.

use skillrun_runtime::diagnose::{Diagnosis, Owner, diagnose};

use crate::args::{Form, Global, OneRun};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::place::Place;
use crate::words::now;

pub(crate) fn run(global: &Global, args: &OneRun) -> Result<(), Failure> {
    let place = Place::open(global)?;
    let run = place.run(&args.run)?;
    let owner = place.owner(run).map_or(Owner::Nobody, |pid| Owner::Somebody { pid: Some(pid) });
    let diagnosis = diagnose(&place.settings.data, &place.log, run, owner, now())?;
    match args.json.form() {
        Form::Json => print_json(&diagnosis),
        Form::Text => print(&text(&diagnosis, &Output::new(global.color, &place.settings.surroundings))),
    }
}

fn text(diagnosis: &Diagnosis, output: &Output) -> String {
    let lines = diagnosis.lines();
    let row = |(label, text): &(&'static str, String)| (Ink::Bold, (*label).to_owned(), plain(text));
    output.labelled(&lines.iter().map(row).collect::<Vec<_>>())
}
