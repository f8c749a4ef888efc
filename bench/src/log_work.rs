//! `bench log WORK ..`: work on a Log in a process of its own, so that its instructions can be counted.
//!
//! ```text
//! bench log read EVENTS            reads events from a file, and does nothing with them
//! bench log append EVENTS RUNS     the same, and appends them to a new Log in the folder
//! bench log fold RUNS CATALOG      makes a catalog of the Logs in the folder: the fold of each
//! ```

use std::fs;
use std::path::Path;
use std::sync::Arc;

use skillrun_catalog::Catalog;
use skillrun_log::{Durability, EventLog, FileLog};
use skillrun_model::rasp::Event;

use crate::problem::Problem;

/// As many as a worker appends at a time under load.
const AT_ONCE: usize = 256;

pub(crate) fn work(words: &[String]) -> Result<(), Problem> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["read", events] => read(Path::new(events)).map(drop),
        ["append", events, runs] => append(read(Path::new(events))?, Path::new(runs)),
        ["fold", runs, catalog] => fold(Path::new(runs), Path::new(catalog)),
        _ => Err(Problem("log: expected read, append or fold, with its files".to_owned())),
    }
}

fn read(file: &Path) -> Result<Vec<Event>, Problem> {
    let text = fs::read_to_string(file)?;
    text.lines().map(|line| Event::from_json(line).map_err(|error| Problem(format!("log: {error}")))).collect()
}

/// As the owner of a run does: readers in the same process share the batch.
fn append(events: Vec<Event>, runs: &Path) -> Result<(), Problem> {
    let failed = |error: skillrun_log::LogError| Problem(error.to_string());
    let run = events.first().ok_or_else(|| Problem("log: there are no events".to_owned()))?.run_id;
    let log = FileLog::new(runs);
    let mut next = log.create(run).map_err(failed)?.next_seq;
    let mut events = events.into_iter().peekable();
    while events.peek().is_some() {
        let batch: Arc<[Event]> = events.by_ref().take(AT_ONCE).collect();
        next = log.append_shared(run, next, &batch, Durability::Derived).map_err(failed)?;
    }
    log.release(run);
    Ok(())
}

fn fold(runs: &Path, catalog: &Path) -> Result<(), Problem> {
    let failed = |error: skillrun_catalog::CatalogError| Problem(error.to_string());
    let log = FileLog::new(runs);
    let (mut catalog, _) = Catalog::open(catalog, runs).map_err(failed)?;
    catalog.refresh(&log).map_err(failed)?;
    Ok(())
}
