//! Two at work: each takes an engine and tries all scenarios on it, one after the other.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use skillrun_base::sync::{into_inner, lock};

use crate::args::Folders;
use crate::bounded::Deadline;
use crate::engines::Engine;
use crate::lab::Lab;
use crate::place::Place;
use crate::processes;
use crate::scenarios::{Scenario, workflow};
use crate::table::{Cell, Skip, Tried};
use crate::trial::Trial;

/// How many engines at a time; each takes a core and more.
const CREW: usize = 2;

struct Crew<'a> {
    lab: &'a Lab,
    engines: &'a [Engine],
    scenarios: &'a [Scenario],
    folders: Folders,
    /// Trials that are over, and all there are.
    done: AtomicUsize,
    all: usize,
}

/// What was tried on the engines, in their order.
pub(crate) fn try_all(lab: &Lab, engines: &[Engine], scenarios: &[Scenario], folders: Folders) -> Vec<Tried> {
    let made_for = |engine: &Engine| scenarios.iter().filter(|scenario| scenario.is_for(engine.group)).count();
    let all = engines.iter().map(made_for).sum();
    eprintln!("{all} trials with {} engines, {CREW} engines at a time", engines.len());
    let crew = Crew { lab, engines, scenarios, folders, done: AtomicUsize::new(0), all };
    let next = AtomicUsize::new(0);
    let tried: Mutex<BTreeMap<usize, Tried>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..CREW {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(engine) = crew.engines.get(number) else { return };
                    let one = crew.try_engine(engine);
                    lock(&tried).insert(number, one);
                }
            });
        }
    });
    into_inner(tried).into_values().collect()
}

impl Crew<'_> {
    fn try_engine(&self, engine: &Engine) -> Tried {
        let mut cells = Vec::new();
        for scenario in self.scenarios.iter().copied().filter(|scenario| scenario.is_for(engine.group)) {
            let cell = self.try_one(engine, scenario);
            self.tell(engine, scenario, &cell);
            cells.push((scenario, cell));
        }
        Tried { engine: engine.name.clone(), version: engine.version.clone(), group: engine.group, cells }
    }

    fn tell(&self, engine: &Engine, scenario: Scenario, cell: &Cell) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let why = match cell {
            Cell::Failed(miss, _) => format!(": {}", miss.why),
            Cell::Passed(_) | Cell::Skipped(_) => String::new(),
        };
        let width = self.all.to_string().len();
        eprintln!("[{done:width$}/{}] {} {} {}{why}", self.all, engine.name, scenario.as_str(), cell.text());
    }

    fn try_one(&self, engine: &Engine, scenario: Scenario) -> Cell {
        let lab = self.lab;
        if let Some(skip) = self.is_over() {
            return Cell::Skipped(skip);
        }
        if let Some(needed) = scenario.needs().filter(|needed| Command::new(needed).arg("--version").output().is_err())
        {
            return Cell::Skipped(Skip::Without(needed));
        }
        if scenario == Scenario::Continue && lab.engine(engine.heir()).is_none() {
            return Cell::Skipped(Skip::Without(engine.heir()));
        }
        if scenario == Scenario::Repeated && engine.call_limit().is_none() {
            return Cell::Skipped(Skip::Without("short limit"));
        }
        if scenario == Scenario::Workflow && workflow::other_engines(lab, engine).is_none() {
            return Cell::Skipped(Skip::Without("other engines"));
        }
        let begin = Instant::now();
        let usual = begin + scenario.bound();
        let deadline = Deadline::new(lab.end.map_or(usual, |end| usual.min(end)), &lab.stop);
        let place = match Place::make(&lab.scratch, &engine.name, scenario.as_str()) {
            Ok(place) => place,
            Err(error) => return Cell::Failed(error.into(), lab.scratch.clone()),
        };
        let folder = place.root().to_owned();
        let trial = Trial { lab, engine, scenario, place, deadline };
        let outcome = scenario.check(&trial);
        // Whatever was left behind does not disturb what comes next.
        processes::end(&trial.place.tag);
        if outcome.is_err() {
            // It has failed already, and a bound is kept.
            processes::gone(&trial.place.tag, &folder).ok();
        }
        match (outcome, self.is_over()) {
            (Ok(()), _) => {
                if self.folders == Folders::OfFailures {
                    // It is only in the way.
                    fs::remove_dir_all(&folder).ok();
                }
                Cell::Passed(begin.elapsed())
            }
            // It was not given the time it may take, so nothing is known about it.
            (Err(_), Some(skip)) => Cell::Skipped(skip),
            (Err(miss), None) => Cell::Failed(miss, folder),
        }
    }

    /// Why nothing more is tried.
    fn is_over(&self) -> Option<Skip> {
        if self.lab.stop.is_wanted() {
            return Some(Skip::Interrupted);
        }
        self.lab.end.is_some_and(|end| Instant::now() >= end).then_some(Skip::NoTime)
    }
}
