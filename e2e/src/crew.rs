//! Two at work: each takes an engine and tries all scenarios on it, one after the other.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::args::Folders;
use crate::engines::Engine;
use crate::lab::Lab;
use crate::place::Place;
use crate::problem::Miss;
use crate::processes;
use crate::scenarios::Scenario;
use crate::table::{Cell, Row};
use crate::trial::Trial;

/// How many engines at a time; each takes a core and more.
const CREW: usize = 2;

/// The rows of the engines, in their order.
pub(crate) fn try_all(lab: &Lab, engines: &[Engine], scenarios: &[Scenario], folders: Folders) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let rows: Mutex<BTreeMap<usize, Row>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..CREW {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(engine) = engines.get(number) else { return };
                    let row = try_engine(lab, engine, scenarios, folders);
                    rows.lock().unwrap_or_else(PoisonError::into_inner).insert(number, row);
                }
            });
        }
    });
    rows.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

fn try_engine(lab: &Lab, engine: &Engine, scenarios: &[Scenario], folders: Folders) -> Row {
    let mut cells = Vec::new();
    for scenario in scenarios {
        let cell = try_one(lab, engine, *scenario, folders);
        eprintln!("{} {}: {}", engine.name, scenario.name(), cell.text());
        cells.push(cell);
    }
    Row { engine: engine.name.clone(), version: engine.version.clone(), cells }
}

fn try_one(lab: &Lab, engine: &Engine, scenario: Scenario, folders: Folders) -> Cell {
    if let Some(needed) = scenario.needs().filter(|needed| Command::new(needed).arg("--version").output().is_err()) {
        return Cell::Skipped(needed);
    }
    let begin = Instant::now();
    let usual = begin + scenario.bound();
    let deadline = lab.end.map_or(usual, |end| usual.min(end));
    let place = match Place::make(&lab.scratch, &engine.name, scenario.name()) {
        Ok(place) => place,
        Err(error) => return Cell::Failed(error.into(), lab.scratch.clone()),
    };
    let folder = place.root().to_owned();
    if begin >= deadline {
        return Cell::Failed(Miss::new("no time", "no time was left for it"), folder);
    }
    let trial = Trial { lab, engine, scenario, place, deadline };
    let outcome = scenario.check(&trial);
    // Whatever was left behind does not disturb what comes next.
    processes::end(&trial.place.tag);
    match outcome {
        Ok(()) => {
            if folders == Folders::OfFailures {
                // It is only in the way.
                fs::remove_dir_all(&folder).ok();
            }
            Cell::Passed(begin.elapsed())
        }
        Err(miss) => Cell::Failed(miss, folder),
    }
}
