//! `skillrun apply`: the changes of a run, in another folder.

use skillrun_model::RunStatus;
use skillrun_runs::apply::{ApplyChange, ApplyError, ApplyMode, ApplyOutcome, ApplyReport, ApplyRequest, apply};
use skillrun_runs::changes::ChangeKind;

use crate::args::{Apply, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::place::{CommandContext, note};
use crate::words::counted;

pub(crate) fn run(global: &Global, args: &Apply) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let state = place.state(run)?;
    let record = place.record(run)?;
    let to = args.to.as_deref().map(|folder| place.settings.surroundings.absolute_path(folder));
    let report = apply(&ApplyRequest {
        run: &place.folder(run),
        record: &record,
        state: &state,
        to: to.as_deref(),
        mode: if args.check { ApplyMode::Check } else { ApplyMode::Apply },
    });
    let report = report.map_err(|error| {
        let has_no_folder = matches!(error, ApplyError::NoCopy { .. });
        if has_no_folder { Failure::Input(format!("{error}, with --to DIR")) } else { Failure::of(error) }
    })?;
    match state.status {
        Some(RunStatus::Failed | RunStatus::Canceled) => {
            note(&format!("the run did not succeed, so its changes may be incomplete (`skillrun show {run}`)"));
        }
        Some(
            RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser | RunStatus::Succeeded | RunStatus::Closed,
        )
        | None => {}
    }
    for left_out in &report.left_out {
        note(&format!("{} is not applied: {}", left_out.path.as_path().display(), left_out.why));
    }
    match args.json.form() {
        OutputForm::Json => print_json(&report),
        OutputForm::Text => print(&text(&report, &Output::new(global.color, &place.settings.surroundings))),
    }
}

fn text(report: &ApplyReport, output: &Output) -> String {
    let mut text = String::new();
    for ApplyChange { path, change, was_applied } in &report.changes {
        let (mark, ink) = match change {
            ChangeKind::Created => ("A", Ink::Good),
            ChangeKind::Modified => ("M", Ink::Warning),
            ChangeKind::Deleted => ("D", Ink::Bad),
        };
        let rest = if *was_applied { output.paint(Ink::Dim, "  applied before") } else { String::new() };
        text += &format!("{} {}{rest}\n", output.paint(ink, mark), plain(&path.as_path().to_string_lossy()));
    }
    let open = report.changes.iter().filter(|change| !change.was_applied).count();
    let (open, folder) = (counted(open, "change", "changes"), plain(&report.folder));
    let summary = match report.outcome {
        ApplyOutcome::Applied => format!("{open} applied to {folder}"),
        ApplyOutcome::Applicable => format!("{open} can be applied to {folder}"),
        ApplyOutcome::AlreadyApplied => format!("all changes are already applied to {folder}"),
        ApplyOutcome::NothingToApply => "the run changed no files".to_owned(),
    };
    text + &format!("{}\n", output.paint(Ink::Dim, &summary))
}
