//! `skillrun rm`: removes runs that are over.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use skillrun_base::wait;
use skillrun_model::RunId;
use skillrun_runs::retention::{WhySkipped, remove_run};

use crate::args::{Global, OutputForm, Rm};
use crate::failure::Failure;
use crate::output::{plain, print, print_json};
use crate::place::CommandContext;
use crate::words::{now, size};

/// How long the owner of a run that is over may take to release it.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn run(global: &Global, args: &Rm) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    // Every name is looked up before anything is removed: a later one may be misspelled, and "last" changes.
    let mut runs = Vec::new();
    for word in &args.runs {
        let run = place.run(word)?;
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    let form = args.json.form();
    let (mut removed, mut refused) = (Vec::new(), Vec::new());
    for run in runs {
        // The owner of a run that has just ended still writes some of its files.
        let attempt = || remove_run(&place.log, &place.settings.data, run, now());
        let is_held = |done: &Result<u64, WhySkipped>| matches!(done, Err(WhySkipped::Held { .. }));
        match wait::retry(RELEASE_TIMEOUT, Duration::from_millis(20), attempt, is_held) {
            Ok(bytes) => {
                if form == OutputForm::Text {
                    print(&format!("{run}  removed, {}\n", size(bytes)))?;
                }
                removed.push((run, bytes));
            }
            Err(why) => refused.push((run, reason(run, &why))),
        }
    }
    if form == OutputForm::Json {
        print_json(&json!({
            "removed": removed.iter().map(|(run, bytes)| json!({ "run_id": run, "bytes": bytes })).collect::<Vec<_>>(),
            "refused": refused.iter().map(|(run, why)| json!({ "run_id": run, "why": why })).collect::<Vec<_>>(),
        }))?;
    }
    match refused.is_empty() {
        true => Ok(ExitCode::SUCCESS),
        false => {
            let reasons: Vec<&str> = refused.iter().map(|(_, why)| why.as_str()).collect();
            Err(Failure::Input(reasons.join("; ")))
        }
    }
}

/// Why a run is not removed, and what to do.
fn reason(run: RunId, why: &WhySkipped) -> String {
    match why {
        WhySkipped::NotOver => format!("run {run} is not over; end it with `skillrun cancel {run}` first"),
        WhySkipped::Held { .. } => format!("run {run} cannot be removed now: {why}; try again when it has exited"),
        WhySkipped::Gone => format!("run {run} is already removed"),
        WhySkipped::Failed(error) => format!("run {run} cannot be removed: {}", plain(error)),
    }
}
