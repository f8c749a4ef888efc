//! `skillrun tree`: a run and the runs below it.

use serde_json::json;
use skillrun_catalog::{Row, TreeRow};
use skillrun_model::Timestamp;
use skillrun_model::delegation::SubagentStatus;

use super::ls::{detail, task, took};
use crate::args::{Global, OneRun, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, plain, print, print_json};
use crate::place::CommandContext;
use crate::short_ids::ShortIds;
use crate::words::{now, status_ink};

pub(crate) fn run(global: &Global, args: &OneRun) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let rows = place.catalog()?.tree(run)?;
    match args.json.form() {
        OutputForm::Json => print_json(&json!({ "runs": rows })),
        OutputForm::Text => {
            let output = Output::new(global.color, &place.settings.surroundings);
            print(&text(&rows, &ShortIds::new(&place.ids()), now(), &output))
        }
    }
}

fn text(rows: &[TreeRow], ids: &ShortIds, now: Timestamp, output: &Output) -> String {
    let depth = |row: &Row| row.parent.as_ref().map_or(0, |link| link.depth);
    let top = rows.first().map_or(0, |first| depth(&first.row));
    let lines = rows.iter().map(|TreeRow { row, parent_says, reconciled }| {
        let indent = "  ".repeat(depth(row).saturating_sub(top) as usize);
        let status = row.status.filter(|_| row.damage.is_none());
        let status = status.map_or((Ink::Bad, "damaged".to_owned()), |status| (status_ink(status), status.to_string()));
        [
            (Ink::Bold, format!("{indent}{}", ids.of(row.run_id))),
            status,
            (Ink::Plain, task(row).unwrap_or_else(|| "?".to_owned())),
            (Ink::Plain, row.engine.as_deref().map_or_else(|| "?".to_owned(), plain)),
            (Ink::Dim, took(row, now)),
            (
                Ink::Plain,
                [standing(*parent_says, *reconciled), detail(row, now).map(|it| plain(&it))]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join("; "),
            ),
        ]
    });
    output.table(&lines.collect::<Vec<_>>(), LastColumn::Cut)
}

/// What has to be said of a child that its parent no longer controls.
fn standing(parent_says: Option<SubagentStatus>, reconciled: bool) -> Option<String> {
    match (parent_says, reconciled) {
        (Some(SubagentStatus::Detached), true) => {
            Some("detached by its parent; the status is from its own Log".to_owned())
        }
        (Some(SubagentStatus::Detached), false) => Some("detached by its parent".to_owned()),
        (
            Some(
                SubagentStatus::Completed
                | SubagentStatus::Failed
                | SubagentStatus::TimedOut
                | SubagentStatus::Cancelled,
            )
            | None,
            _,
        ) => None,
    }
}
