//! `skillrun verify`: derives everything about a run again, and compares.

use std::process::ExitCode;

use serde_json::json;
use skillrun_runtime::verify::{Absence, Check, Outcome, Report, verify};

use crate::args::{Form, Global, OneRun};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::place::Place;

pub(crate) fn run(global: &Global, args: &OneRun) -> Result<ExitCode, Failure> {
    let place = Place::open(global)?;
    let run = place.run(&args.run)?;
    let report = verify(&place.settings.data, &place.log, run)?;
    let is_good = report.is_good();
    match args.json.form() {
        Form::Json => {
            let mut value = json!(report);
            value["is_good"] = json!(is_good);
            print_json(&value)?;
        }
        Form::Text => {
            let output = Output::new(global.color, &place.settings.surroundings);
            print(&text(&report, is_good, &output))?;
        }
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(report: &Report, is_good: bool, output: &Output) -> String {
    let rows: Vec<_> = report.checks.iter().map(row).collect();
    let table = output.labelled(&rows);
    let end = match is_good {
        true => output.paint(Ink::Good, "Nothing differs."),
        false => output.paint(Ink::Bad, "Not everything is what it should be.") + " The evidence is the truth.",
    };
    format!("{table}\n{end}\n")
}

fn row(check: &Check) -> (Ink, String, String) {
    let (ink, word, why) = match &check.outcome {
        Outcome::Same => (Ink::Good, "same", None),
        Outcome::Different { difference } => (Ink::Bad, "different", Some(difference)),
        Outcome::NotComparable { why } => (Ink::Dim, "not comparable", Some(why)),
        Outcome::Missing { why, absence: Absence::Lost } => (Ink::Bad, "missing", Some(why)),
        Outcome::Missing { why, absence: Absence::NotYet } => (Ink::Dim, "not yet", Some(why)),
    };
    let of = check.attempt.map(|number| format!("attempt {number}: ")).unwrap_or_default();
    let why = why.map(|why| format!(": {}", plain(why))).unwrap_or_default();
    (ink, word.to_owned(), format!("{of}{}{why}", check.what.words()))
}
