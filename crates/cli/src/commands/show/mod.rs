//! `skillrun show`: everything about one run on one page.
//!
//! `page` writes it for people.

mod page;

use serde::Serialize;
use serde_json::{Value, json};
use skillrun_inspect::attempts::{Attempt, Attempts};
use skillrun_lifecycle::run::State;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{RunId, Timestamp};
use skillrun_runs::RunRecord;
use skillrun_runs::children::{self, KnownEnd};
use skillrun_runs::result::RunResult;

use crate::args::{Global, OneRun, OutputForm};
use crate::failure::Failure;
use crate::output::{Output, print, print_json};
use crate::place::{CommandContext, note};

/// What is known about a run.
struct Known {
    run: RunId,
    /// None if `run.json` cannot be read; the rest is shown anyway.
    record: Option<RunRecord>,
    state: State,
    /// Why the Log could not be read to its end.
    damage: Option<String>,
    /// Events that a newer version of skillrun wrote.
    newer_events: u64,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    canceled_by: Option<String>,
    attempts: Attempts,
    result: Option<RunResult>,
    owner: Option<u32>,
    children: Vec<KnownEnd>,
    files: Vec<File>,
}

/// A file or folder of a run.
#[derive(Serialize)]
struct File {
    name: &'static str,
    what: &'static str,
    /// None for folders.
    bytes: Option<u64>,
}

pub(crate) fn run(global: &Global, args: &OneRun) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let known = look(&place, run)?;
    match args.json.form() {
        OutputForm::Text => {
            let output = Output::new(global.color, &place.settings.surroundings);
            print(&output.fit(&page::page(&place, &known, &output)))
        }
        OutputForm::Json => print_json(&json!({
            "run_id": known.run,
            "status": known.state.status,
            "damage": known.damage,
            "newer_events": known.newer_events,
            "created_at": known.created_at,
            "updated_at": known.updated_at,
            "owner": known.owner,
            "canceled_by": known.canceled_by,
            "session_id": known.state.session_id,
            "auto_decision_count": known.state.auto_decisions,
            "last_auto_decision_at": known.state.last_auto_decision_at,
            "question": known.state.question,
            "not_before": known.state.not_before,
            "retry": known.state.retry,
            "children": known.children,
            "attempts": known.attempts.list().iter().map(attempt_json).collect::<Vec<_>>(),
            "cost_usd": known.result.as_ref().and_then(RunResult::cost_usd),
            "result": known.result,
            "record": known.record,
            "folder": place.folder(run).root().to_string_lossy(),
            "files": known.files,
        })),
    }
}

fn attempt_json(attempt: &Attempt) -> Value {
    let Attempt { number, started_at, ended, bytes, streams: _, parse } = attempt;
    json!({ "number": number, "started_at": started_at, "ended": ended, "bytes": bytes, "parse": parse })
}

fn look(place: &CommandContext, run: RunId) -> Result<Known, Failure> {
    let record = match place.record(run) {
        Ok(record) => Some(record),
        Err(error) => {
            note(&error.to_string());
            None
        }
    };
    let (mut state, mut attempts) = (State::default(), Attempts::default());
    let (mut created_at, mut updated_at, mut canceled_by) = (None, None, None);
    let read = place.events(run, |event| {
        state.evolve(&event);
        attempts.take(&event);
        created_at.get_or_insert(event.ts);
        updated_at = Some(event.ts);
        if let Data::Control(ControlData::RunCanceled(canceled)) = event.data {
            canceled_by = canceled.by;
        }
        Ok(())
    });
    // The events before a damage are worth showing.
    let (newer_events, damage) = match read {
        Ok(newer) => (newer, None),
        Err(error) => (0, Some(error.to_string())),
    };
    let folder = place.folder(run);
    attempts.measure(&folder.audit());
    let result = if state.is_over() { super::result::read(place, run)? } else { None };
    let owner = if state.is_over() { None } else { place.owner(run) };
    let data = &place.settings.data;
    let children = state.children.iter().map(|child| children::known_end(&place.log, data, child)).collect();
    let files = files(folder.root());
    let canceled_by = canceled_by.or_else(|| state.canceling.clone());
    Ok(Known {
        run,
        record,
        state,
        damage,
        newer_events,
        created_at,
        updated_at,
        canceled_by,
        attempts,
        result,
        owner,
        children,
        files,
    })
}

/// The files of a run that exist.
fn files(root: &std::path::Path) -> Vec<File> {
    const FILES: [(&str, &str); 10] = [
        ("run.json", "the request"),
        ("events.jsonl", "the Log"),
        ("result.json", "the result"),
        ("fcmp.jsonl", "the conversation"),
        ("parser_diagnostics.jsonl", "warnings and errors of the parsers"),
        ("inputs", "input files and reply files"),
        ("skill", "the skill as it was at the start"),
        ("workspace", "where the engine works"),
        ("home", "the engine's home folder"),
        (".audit", "the evidence: raw engine output"),
    ];
    let file = |(name, what): (&'static str, &'static str)| {
        let found = std::fs::metadata(root.join(name)).ok()?;
        Some(File { name, what, bytes: found.is_file().then_some(found.len()) })
    };
    FILES.into_iter().filter_map(file).collect()
}
