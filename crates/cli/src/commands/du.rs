//! `skillrun du`: the disk usage of runs, and what is large in them.

use serde_json::{Map, Value, json};
use skillrun_model::RunId;
use skillrun_runs::retention::{
    DiskUsage, LargePart, RetentionStatus, RunPart, RunUse, Total, du, large_parts, largest_entry,
};

use crate::args::{Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, plain, print, print_json};
use crate::place::{CommandContext, note};
use crate::short_ids::ShortIds;
use crate::words::{counted, size};

/// Number of the largest runs that are listed.
const LARGEST: usize = 5;
/// Number of the largest parts of a run in JSON.
const PARTS: usize = 5;

pub(crate) fn run(global: &Global, form: OutputForm) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let data = &place.settings.data;
    let usage = match du(data) {
        Ok(usage) => usage,
        Err(error) => return Err(Failure::internal(format!("{}: {error}", data.root().display()), error)),
    };
    for unmeasured in &usage.unmeasured {
        note(&format!("{} cannot be measured: {}", unmeasured.run, unmeasured.why));
    }
    match form {
        OutputForm::Json => print_json(&usage_json(&place, &usage)),
        OutputForm::Text => {
            let output = Output::new(global.color, &place.settings.surroundings);
            print(&usage_text(&place, &usage, &output))
        }
    }
}

fn total(usage: &DiskUsage) -> u64 {
    usage.rest_bytes + usage.by_standing.values().map(bytes).sum::<u64>()
}

fn bytes(total: &Total) -> u64 {
    total.evidence_bytes + total.other_bytes
}

fn usage_json(place: &CommandContext, usage: &DiskUsage) -> Value {
    let of_standing = |(standing, total): (&RetentionStatus, &Total)| {
        let value = json!({
            "runs": total.runs,
            "bytes": bytes(total),
            "evidence_bytes": total.evidence_bytes,
        });
        (json!(standing).as_str().unwrap_or_default().to_owned(), value)
    };
    let run = |run: &RunUse| {
        json!({
            "run_id": run.run,
            "standing": run.standing,
            "bytes": run.evidence_bytes + run.other_bytes,
            "evidence_bytes": run.evidence_bytes,
            "parts": parts(place, run.run).iter().take(PARTS).map(part_json).collect::<Vec<_>>(),
        })
    };
    json!({
        "folder": place.settings.data.root().to_string_lossy(),
        "bytes": total(usage),
        "rest_bytes": usage.rest_bytes,
        "by_standing": usage.by_standing.iter().map(of_standing).collect::<Map<_, _>>(),
        "largest": usage.largest.iter().map(run).collect::<Vec<_>>(),
        "unmeasured": usage.unmeasured.iter()
            .map(|unmeasured| json!({ "run_id": unmeasured.run, "why": unmeasured.why }))
            .collect::<Vec<_>>(),
    })
}

/// Files and folders of a run, the largest first. A run that is being removed has none.
fn parts(place: &CommandContext, run: RunId) -> Vec<LargePart> {
    large_parts(&place.folder(run)).unwrap_or_default()
}

fn part_json(part: &LargePart) -> Value {
    json!({ "what": part.part, "path": part.path.to_string_lossy(), "bytes": part.bytes })
}

fn part_text(part: &LargePart) -> String {
    let what = match part.part {
        RunPart::Workspace => "in the workspace",
        RunPart::Home => "in the home folder of the engine",
        RunPart::Evidence => "of evidence",
        RunPart::Log => "of events",
        RunPart::Skill => "in the copy of the skill",
        RunPart::Inputs => "in the inputs",
        RunPart::Reserve => "reserved for the end of the run",
        RunPart::Other => "in other files",
    };
    format!("{} {what}: {}", size(part.bytes), plain(&part.path.to_string_lossy()))
}

/// The largest thing in the data folder that is not a run.
fn rest_text(place: &CommandContext) -> String {
    let data = &place.settings.data;
    let runs = data.runs();
    let largest = largest_entry(data.root(), |name| runs.file_name() == Some(name)).ok().flatten();
    largest
        .map_or_else(String::new, |(path, bytes)| format!("{} of it {}", size(bytes), plain(&path.to_string_lossy())))
}

fn word(standing: RetentionStatus) -> &'static str {
    match standing {
        RetentionStatus::NotOver => "not over",
        RetentionStatus::Succeeded => "succeeded",
        RetentionStatus::Closed => "closed",
        RetentionStatus::Failed => "failed",
        RetentionStatus::Canceled => "canceled",
    }
}

fn usage_text(place: &CommandContext, usage: &DiskUsage, output: &Output) -> String {
    let of = |evidence: u64| if evidence == 0 { String::new() } else { format!("{} of it evidence", size(evidence)) };
    let mut rows = Vec::new();
    for (standing, total) in &usage.by_standing {
        let runs = counted(usize::try_from(total.runs).unwrap_or(usize::MAX), "run", "runs");
        rows.push([
            (Ink::Plain, word(*standing).to_owned()),
            (Ink::Plain, size(bytes(total))),
            (Ink::Dim, runs),
            (Ink::Dim, of(total.evidence_bytes)),
        ]);
    }
    let line = |ink, name: &str, bytes, remark| {
        [(ink, name.to_owned()), (ink, size(bytes)), (Ink::Plain, String::new()), (Ink::Dim, remark)]
    };
    rows.push(line(Ink::Plain, "everything else", usage.rest_bytes, rest_text(place)));
    rows.push(line(Ink::Bold, "total", total(usage), String::new()));
    let mut text = output.table(&rows, LastColumn::Wrapped);
    if !usage.largest.is_empty() {
        let ids = ShortIds::new(&place.ids());
        let row = |run: &RunUse| {
            [
                (Ink::Bold, ids.of(run.run)),
                (Ink::Plain, size(run.evidence_bytes + run.other_bytes)),
                (Ink::Dim, word(run.standing).to_owned()),
            ]
        };
        let rows: Vec<_> = usage.largest.iter().take(LARGEST).map(row).collect();
        text += "\nLargest runs:\n";
        let table = output.table(&rows, LastColumn::Cut);
        for (line, run) in table.lines().zip(&usage.largest) {
            text += &format!("{line}\n");
            let large = parts(place, run.run).into_iter().next().map(|part| part_text(&part));
            text.extend(large.map(|large| format!("  {}\n", output.paint(Ink::Dim, &large))));
        }
    }
    text + &format!("\n{}\n", output.paint(Ink::Dim, &plain(&place.settings.data.root().to_string_lossy())))
}
