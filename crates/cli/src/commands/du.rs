//! `skillrun du`: the disk usage of runs.

use serde_json::{Map, Value, json};
use skillrun_runs::retention::{DiskUsage, RetentionStatus, RunUse, Total, du};

use crate::args::{Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, plain, print, print_json};
use crate::place::{CommandContext, note};
use crate::short_ids::ShortIds;
use crate::words::{counted, size};

/// Number of the largest runs that are listed.
const LARGEST: usize = 5;

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

fn word(standing: RetentionStatus) -> &'static str {
    match standing {
        RetentionStatus::NotOver => "not over",
        RetentionStatus::Succeeded => "succeeded",
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
    let line = |ink, name: &str, bytes| {
        [(ink, name.to_owned()), (ink, size(bytes)), (Ink::Plain, String::new()), (Ink::Plain, String::new())]
    };
    rows.push(line(Ink::Plain, "everything else", usage.rest_bytes));
    rows.push(line(Ink::Bold, "total", total(usage)));
    let mut text = output.table(&rows, LastColumn::Wrapped);
    if usage.largest.len() > 1 {
        let ids = ShortIds::new(&place.ids());
        let row = |run: &RunUse| {
            [
                (Ink::Bold, ids.of(run.run)),
                (Ink::Plain, size(run.evidence_bytes + run.other_bytes)),
                (Ink::Dim, word(run.standing).to_owned()),
            ]
        };
        let rows: Vec<_> = usage.largest.iter().take(LARGEST).map(row).collect();
        text += &format!("\nLargest runs:\n{}", output.table(&rows, LastColumn::Wrapped));
    }
    text + &format!("\n{}\n", output.paint(Ink::Dim, &plain(&place.settings.data.root().to_string_lossy())))
}
