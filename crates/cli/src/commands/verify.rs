//! `skillrun verify`: derives a run again from its evidence, and compares the result with what is stored.

use std::process::ExitCode;

use skillrun_inspect::verify::{Absence, Check, Verification, VerifyOutcome, VerifyReport, verify_against};

use crate::args::{Global, OutputForm, Verify};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::place::CommandContext;

pub(crate) fn run(global: &Global, args: &Verify) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let report = verify_against(&place.settings.data, &place.log, run, args.head)?;
    let is_good = report.is_good();
    match args.json.form() {
        OutputForm::Json => {
            print_json(&Verification::from(report))?;
        }
        OutputForm::Text => {
            let output = Output::new(global.color, &place.settings.surroundings);
            print(&text(&report, &output))?;
        }
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(report: &VerifyReport, output: &Output) -> String {
    let rows: Vec<_> = report.checks.iter().map(row).collect();
    let table = output.labelled(&rows);
    let has_changed = report.checks.iter().any(|check| matches!(check.outcome, VerifyOutcome::ChangedSince { .. }));
    let end = match report.first_break() {
        None if has_changed => output.paint(Ink::Good, "Nothing differs in the files that skillrun keeps."),
        None => output.paint(Ink::Good, "Nothing differs."),
        Some(check) => {
            let (_, _, what) = row(check);
            let words = output.paint(Ink::Bad, "Some checks failed.");
            format!("{words} The first failed check: {what}.")
        }
    };
    let head = report.log_head.as_ref().map(|head| format!("head  {}:{}\n", head.seq, head.hash)).unwrap_or_default();
    format!("{table}\n{head}{end}\n")
}

fn row(check: &Check) -> (Ink, String, String) {
    let (ink, word, why) = match &check.outcome {
        VerifyOutcome::Same => (Ink::Good, "same", None),
        VerifyOutcome::Different { difference } => (Ink::Bad, "different", Some(difference)),
        VerifyOutcome::ChangedSince { what_changed } => (Ink::Plain, "changed since", Some(what_changed)),
        VerifyOutcome::NotComparable { why } => (Ink::Dim, "not comparable", Some(why)),
        VerifyOutcome::Missing { why, absence: Absence::Lost } => (Ink::Bad, "missing", Some(why)),
        VerifyOutcome::Missing { why, absence: Absence::NotYet } => (Ink::Dim, "not yet", Some(why)),
    };
    let of = check.attempt.map(|number| format!("attempt {number}: ")).unwrap_or_default();
    let why = why.map(|why| format!(": {}", plain(why))).unwrap_or_default();
    (ink, word.to_owned(), format!("{of}{}{why}", check.what.words()))
}
