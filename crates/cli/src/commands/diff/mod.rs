//! `skillrun diff`: which files a run changed, attempt by attempt.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::RangeInclusive;

use serde_json::{Value, json};
use skillrun_model::{AttemptNumber, ErrorClass, RunId};
use skillrun_runs::changes::{
    ChangeKind, Changes, ChangesError, FileKind, FileVersion, NoChanges, WorkspaceChange, why_none,
};
use skillrun_runs::patch::{self, PatchError};

use super::logs::VisibleOutput;
use crate::args::{Diff, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::place::{CommandContext, no_attempt, note};
use crate::words::{counted, plain_lines, size};

/// Changes that are not in a patch and are named; of more, only the number is shown.
const OMITTED_NAMED: usize = 20;

pub(crate) fn run(global: &Global, args: &Diff) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let folder = place.folder(run);
    let last = place.state(run)?.attempt;
    let wanted = match args.attempt {
        Some(number) if number > last.0 => return Err(no_attempt(run, AttemptNumber(number), last)),
        Some(number) => number..=number,
        None => 1..=last.0,
    };
    if args.patch {
        return print_patch(&place, run, wanted, last);
    }
    let output = Output::new(global.color, &place.settings.surroundings);
    let mut document = Vec::new();
    let mut is_any = false;
    for number in wanted.map(AttemptNumber) {
        let Some(mut changes) = Changes::open(&folder, number).map_err(failed)? else { continue };
        is_any = true;
        match args.json.form() {
            OutputForm::Json => document.push(attempt_json(number, &mut changes)?),
            OutputForm::Text => attempt_text(number, &mut changes, &output)?,
        }
    }
    match args.json.form() {
        OutputForm::Json => print_json(&json!({ "run_id": run, "attempts": document })),
        OutputForm::Text if is_any => Ok(()),
        OutputForm::Text => print(&format!("{}\n", none_words(&place, run, last))),
    }
}

fn print_patch(
    place: &CommandContext,
    run: RunId,
    attempts: RangeInclusive<u32>,
    last: AttemptNumber,
) -> Result<(), Failure> {
    let stdout = io::stdout();
    let mut out: Box<dyn Write> = if stdout.is_terminal() {
        Box::new(VisibleOutput::new(stdout.lock()))
    } else {
        Box::new(BufWriter::new(stdout.lock()))
    };
    let report = patch::write(&place.folder(run), attempts, &mut out).map_err(|error| match error {
        PatchError::Write(error) => Failure::Write { path: "stdout".to_owned(), error },
        PatchError::Changes(_) | PatchError::TooMany => Failure::of(error),
    })?;
    out.flush().map_err(|error| Failure::Write { path: "stdout".to_owned(), error })?;
    if report.attempts == 0 {
        note(none_words(place, run, last));
    }
    for omitted in report.omitted.iter().take(OMITTED_NAMED) {
        note(&format!("{} is not in the patch: {}", omitted.path.as_path().display(), omitted.why));
    }
    match report.omitted.len() {
        0 => Ok(()),
        count => Err(Failure::Failed(format!("the patch lacks {}", counted(count, "change", "changes")))),
    }
}

fn failed(error: ChangesError) -> Failure {
    Failure::of_class(ErrorClass::Internal, error)
}

/// Why there is nothing to show.
fn none_words(place: &CommandContext, run: RunId, last: AttemptNumber) -> &'static str {
    match why_none(&place.folder(run), place.record(run).ok().as_ref(), last) {
        NoChanges::SnapshotOff => "No changes were recorded: the run was started with --no-snapshot.",
        NoChanges::NoAttempt => "No engine has been started yet.",
        NoChanges::Removed => "The list of changes was removed together with the evidence of this run.",
        NoChanges::NotYet => "There is no list of changes yet; it is created when an attempt is over.",
    }
}

fn attempt_json(number: AttemptNumber, changes: &mut Changes<File>) -> Result<Value, Failure> {
    let [mut created, mut modified, mut deleted] = [(); 3].map(|()| Vec::new());
    while let Some((kind, entry)) = changes.next_value().map_err(failed)? {
        match kind {
            ChangeKind::Created => created.push(entry),
            ChangeKind::Modified => modified.push(entry),
            ChangeKind::Deleted => deleted.push(entry),
        }
    }
    Ok(json!({ "attempt": number, "created": created, "modified": modified, "deleted": deleted }))
}

/// Printed while it is read: there may be a million changes.
fn attempt_text(number: AttemptNumber, changes: &mut Changes<File>, output: &Output) -> Result<(), Failure> {
    let mut count = 0_usize;
    print(&format!("{}\n", output.paint(Ink::Bold, &format!("attempt {number}"))))?;
    while let Some(change) = changes.next_change().map_err(failed)? {
        count += 1;
        print(&change_text(&change, output))?;
    }
    let total = if count == 0 { "nothing changed".to_owned() } else { counted(count, "change", "changes") };
    print(&format!("{}\n", output.paint(Ink::Dim, &total)))
}

fn change_text(change: &WorkspaceChange, output: &Output) -> String {
    let (mark, ink) = match change.change {
        ChangeKind::Created => ("A", Ink::Good),
        ChangeKind::Modified => ("M", Ink::Warning),
        ChangeKind::Deleted => ("D", Ink::Bad),
    };
    let path = plain(&change.path.as_path().to_string_lossy());
    let rest = describe(change);
    let rest = if rest.is_empty() { rest } else { format!("  {}", output.paint(Ink::Dim, &plain(&rest))) };
    let mut text = format!("{} {path}{rest}\n", output.paint(ink, mark));
    for line in change.diff.iter().flat_map(|diff| diff.lines()) {
        let ink = match line.as_bytes().first() {
            Some(b'+') => Ink::Good,
            Some(b'-') => Ink::Bad,
            Some(b'@') => Ink::Dim,
            Some(_) | None => Ink::Plain,
        };
        text += &format!("    {}\n", output.paint(ink, &plain_lines(line)));
    }
    text
}

/// What it was and is, unless it is a regular file.
fn describe(change: &WorkspaceChange) -> String {
    let words = |version: &FileVersion| {
        let size = version.size.map(size);
        let target = version.target.as_ref().map(|to| format!("link to {}", to.as_path().to_string_lossy()));
        let kind = if version.kind == FileKind::File { None } else { Some(version.kind.as_str().to_owned()) };
        size.or(target).or(kind).unwrap_or_default()
    };
    let mut told = match (&change.before, &change.after) {
        (Some(before), Some(after)) if words(before) == words(after) => vec![words(after)],
        (Some(before), Some(after)) => vec![format!("{} → {}", words(before), words(after))],
        (Some(one), None) | (None, Some(one)) => vec![words(one)],
        (None, None) => Vec::new(),
    };
    if let (Some(FileVersion { mode: Some(before), .. }), Some(FileVersion { mode: Some(after), .. })) =
        (&change.before, &change.after)
        && before != after
    {
        told.push(format!("mode {before} → {after}"));
    }
    told.extend(change.diff_omitted.as_deref().map(|why| format!("no text: {}", why.replace('_', " "))));
    told.retain(|words| !words.is_empty());
    told.join(", ")
}
