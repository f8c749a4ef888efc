//! All that was found out about an engine, as data.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use skillrun_simulate::model::{Options, Server};

use super::drift::{self, Drift, Types};
use super::golden;
use super::live;
use crate::drive::Stop;
use crate::lab::{Lab, SCHEMA_FILE};

/// Whether an engine can be used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    pub engine: String,
    /// It was run, and all that is required works.
    pub works: bool,
    pub installed: InstalledEngine,
    /// What it once wrote, by scenario.
    pub recorded: Vec<CheckLine>,
    /// What it does now.
    pub live: Vec<CheckLine>,
    /// None when nothing was run, or there is nothing to compare with.
    pub drift: Option<Drift>,
}

/// What the caller has found of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstalledEngine {
    pub program: Option<String>,
    pub version: Option<String>,
    /// First and last version that is known to be read well.
    pub tested: Option<[String; 2]>,
    /// Outside of these. It is worth a look, and no failure.
    pub is_untested: bool,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckLine {
    pub name: String,
    #[serde(flatten)]
    pub mark: Mark,
    pub ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "why", rename_all = "snake_case")]
pub enum Mark {
    Works,
    Fails(String),
    /// It is not required.
    NotTried(String),
}

impl CheckLine {
    pub(super) fn new(name: &str, mark: Mark, took: Option<Duration>) -> Self {
        let ms = took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        Self { name: name.to_owned(), mark, ms }
    }
}

/// Finds out all of it, within the budget.
pub fn verify(lab: Lab<'_>, installed: InstalledEngine, budget: Duration, stop: &Stop) -> Verification {
    let engine = lab.descriptor.name.as_str().to_owned();
    let recorded = recorded(lab);
    let mut before = Types::default();
    golden::of(lab.descriptor.profile).for_each(|golden| golden.types(&mut before));
    let (live, now) = if installed.problem.is_some() {
        let why = Mark::NotTried("it is not installed".to_owned());
        (vec![CheckLine::new("runs with a scripted model", why, None)], Types::default())
    } else if lab.descriptor.probe.is_none() {
        let why = Mark::NotTried("its file has no [probe]".to_owned());
        (vec![CheckLine::new("runs with a scripted model", why, None)], Types::default())
    } else {
        in_time(lab, budget, stop)
    };
    let drift = (!before.is_empty() && !now.is_empty()).then(|| drift::compare(&before, &now));
    let mut verification = Verification { engine, works: false, installed, recorded, live, drift };
    verification.works = verification.was_tried() && !verification.fails();
    verification
}

impl Verification {
    /// Something is not as it must be.
    pub fn fails(&self) -> bool {
        let is_bad = |line: &CheckLine| matches!(line.mark, Mark::Fails(_));
        self.installed.problem.is_some() || self.recorded.iter().chain(&self.live).any(is_bad)
    }

    /// The engine was run. Its old recordings say nothing about the installed version.
    fn was_tried(&self) -> bool {
        self.live.iter().any(|line| !matches!(line.mark, Mark::NotTried(_)))
    }
}

fn in_time(lab: Lab<'_>, budget: Duration, stop: &Stop) -> (Vec<CheckLine>, Types) {
    let server = match Server::start(Options::default()) {
        Ok(server) => server,
        Err(error) => {
            let why = Mark::Fails(format!("failed to start the scripted model: {error}"));
            return (vec![CheckLine::new("runs with a scripted model", why, None)], Types::default());
        }
    };
    let (done, over) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if over.recv_timeout(budget) == Err(RecvTimeoutError::Timeout) {
                stop.set();
            }
        });
        let probed = live::probe(lab, &server, budget, stop);
        drop(done);
        (probed.lines, probed.types)
    })
}

fn recorded(lab: Lab<'_>) -> Vec<CheckLine> {
    let schema = lab.skill().join(SCHEMA_FILE);
    let scratch = lab.scratch.join("recorded");
    let check = |golden: &golden::Golden| {
        let mark = match golden.check(&scratch, &schema) {
            Ok(()) => Mark::Works,
            Err(error) => Mark::Fails(error.to_string()),
        };
        CheckLine::new(golden.scenario, mark, None)
    };
    let lines: Vec<CheckLine> = golden::of(lab.descriptor.profile).map(check).collect();
    if lines.is_empty() {
        let why = format!("no stream of {} is part of this program", lab.descriptor.profile);
        return vec![CheckLine::new("recorded streams", Mark::NotTried(why), None)];
    }
    lines
}
