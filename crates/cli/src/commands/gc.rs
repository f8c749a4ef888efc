//! `skillrun gc`: removes runs and evidence that exceed the retention settings, or runs that ended long ago. Runs that
//! are not over stay.

use std::time::Duration;

use serde_json::json;
use skillrun_runs::retention::{
    Removal, RemovalReport, Retention, Skipped, What, Why, WhySkipped, carry_out, measure_all, plan,
};

use crate::args::{Gc, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, plain, print, print_json};
use crate::place::{CommandContext, note};
use crate::short_ids::ShortIds;
use crate::words::{counted, lasting, now, size};

/// Runs that are listed; of more, only the number is shown.
const NAMED: usize = 20;

pub(crate) fn run(global: &Global, args: &Gc) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let data = &place.settings.data;
    let failed = |error: std::io::Error| Failure::internal(format!("{}: {error}", data.runs().display()), error);
    let now = now();
    // Read before runs are removed.
    let ids = ShortIds::new(&place.ids());
    let measured = measure_all(data).map_err(failed)?;
    let retention = args.older_than.map_or_else(|| place.settings.retention.clone(), Retention::by_age_alone);
    let planned = plan(&measured.uses, &retention, now);
    let mut outcome = match args.dry_run {
        true => RemovalReport { removed: planned, skipped: Vec::new() },
        false => carry_out(&place.log, data, &planned, now),
    };
    // A run that cannot be measured is not removed, and does not prevent the removal of others.
    outcome.skipped.extend(measured.unmeasured.into_iter().map(|unmeasured| Skipped {
        run: unmeasured.run,
        why: WhySkipped::Failed(format!("it cannot be measured ({})", unmeasured.why)),
    }));
    let bytes: u64 = outcome.removed.iter().map(|removal| removal.bytes).sum();
    if args.json.form() == OutputForm::Json {
        let removal = |removal: &Removal| {
            json!({
                "run_id": removal.run,
                "what": what_word(removal.what),
                "why": removal.why,
                "bytes": removal.bytes,
            })
        };
        return print_json(&json!({
            "dry_run": args.dry_run,
            "removed": outcome.removed.iter().map(removal).collect::<Vec<_>>(),
            "bytes": bytes,
            "skipped": outcome.skipped.iter()
                .map(|skipped| json!({ "run_id": skipped.run, "why": skipped.why.to_string() }))
                .collect::<Vec<_>>(),
        }));
    }
    let output = Output::new(global.color, &place.settings.surroundings);
    match args.older_than {
        Some(age) if outcome.removed.is_empty() => {
            print(&format!("Nothing to remove: no run ended longer than {} ago.\n", lasting_time(age)))?;
        }
        Some(_) | None => print(&text(&outcome.removed, bytes, args.dry_run, &ids, &output))?,
    }
    for skipped in &outcome.skipped {
        note(&format!("{} stays: {}", skipped.run, skipped.why));
    }
    Ok(())
}

fn lasting_time(age: Duration) -> String {
    lasting(u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
}

fn what_word(what: What) -> &'static str {
    match what {
        What::Evidence => "evidence",
        What::Run => "run",
    }
}

fn why_words(why: Why) -> &'static str {
    match why {
        Why::Age => "too old",
        Why::Count => "too many runs",
        Why::Size => "too much disk space",
    }
}

fn text(removed: &[Removal], bytes: u64, dry_run: bool, ids: &ShortIds, output: &Output) -> String {
    if removed.is_empty() {
        return "Nothing to remove. `skillrun config` shows how long runs are kept (retention.*).\n".to_owned();
    }
    let row = |removal: &Removal| {
        [
            (Ink::Bold, ids.of(removal.run)),
            (Ink::Plain, what_word(removal.what).to_owned()),
            (Ink::Plain, size(removal.bytes)),
            (Ink::Dim, why_words(removal.why).to_owned()),
        ]
    };
    let rows: Vec<_> = removed.iter().take(NAMED).map(row).collect();
    let mut text = output.table(&rows, LastColumn::Wrapped);
    if removed.len() > NAMED {
        text += &format!("… {} more\n", removed.len() - NAMED);
    }
    let count = |what: What| removed.iter().filter(|removal| removal.what == what).count();
    let runs = counted(count(What::Run), "run", "runs");
    let total = match count(What::Evidence) {
        0 => runs,
        evidence => format!("{runs}, and the evidence of {}", counted(evidence, "run", "runs")),
    };
    let did = if dry_run { "would be removed" } else { "removed" };
    text + &plain(&format!("{total} {did}, {}", size(bytes))) + "\n"
}
