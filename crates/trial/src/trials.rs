//! Many runs: every case on every engine, N times, a few at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use skillrun_runtime::{NewRun, Options, Runtime};
use skillrun_skill::{SchemaRole, Skill};
use skillrun_translate::progress::Progress;

use crate::cases::Case;
use crate::drive::{Because, CancelWhen, Conduct, Ended, Stop, drive};
use crate::judge::{Check, Validity, checks, hindrance};

/// Interval of the checks whether everything is to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What is tried on what.
#[derive(Debug, Clone, Copy)]
pub struct TrialPlan<'a> {
    pub skill: &'a Skill,
    pub cases: &'a [Case],
    pub engines: &'a [Engine],
    /// How many times each case is run on each engine.
    pub times: u32,
    /// Maximum number of concurrent runs.
    pub at_once: usize,
    /// Of every run; the model is the engine's.
    pub options: &'a Options,
}

/// An engine that is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    pub name: String,
    /// It is part of this program, so it can play scripts.
    pub plays: Plays,
    /// None: its own choice.
    pub model: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plays {
    Scripts,
    Nothing,
}

/// One run of one case on one engine.
#[derive(Debug, Clone)]
pub struct Trial {
    /// In the order of the plan.
    pub case: usize,
    pub engine: usize,
    /// From 1.
    pub time: u32,
    pub came: TrialEnd,
}

/// What came of it.
#[derive(Debug, Clone)]
pub enum TrialEnd {
    Ended {
        ended: Box<Ended>,
        checks: Vec<Check>,
        validity: Validity,
        /// Why this says nothing about the skill.
        hindrance: Option<String>,
    },
    /// It could not be run, or not to its end.
    Trouble(String),
    /// Everything was to stop before it began.
    NotRun,
}

/// Whether a trial is as was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Passed,
    /// Not as expected.
    Failed,
    /// It could not be run.
    Error,
    /// Everything was to stop before its end.
    Interrupted,
}

impl Trial {
    pub fn verdict(&self) -> Verdict {
        match &self.came {
            TrialEnd::Ended { ended, .. } if ended.because == Because::Stopped => Verdict::Interrupted,
            TrialEnd::Ended { hindrance: Some(_), .. } => Verdict::Error,
            TrialEnd::Ended { checks, .. } if checks.iter().all(|check| check.problem.is_none()) => Verdict::Passed,
            TrialEnd::Ended { .. } => Verdict::Failed,
            TrialEnd::Trouble(_) => Verdict::Error,
            TrialEnd::NotRun => Verdict::Interrupted,
        }
    }

    /// What is not as it must be.
    pub fn problems(&self) -> Vec<String> {
        match &self.came {
            TrialEnd::Ended { hindrance: Some(why), .. } => vec![why.clone()],
            TrialEnd::Ended { checks, .. } => checks.iter().filter_map(|check| check.problem.clone()).collect(),
            TrialEnd::Trouble(why) => vec![why.clone()],
            TrialEnd::NotRun => Vec::new(),
        }
    }
}

/// What is reported while the trials run.
#[derive(Debug)]
pub enum TrialProgress<'a> {
    /// One more is done.
    Done { done: usize, of: usize, trial: &'a Trial },
    /// These run at the moment; reported at short intervals.
    Running { done: usize, of: usize, running: &'a [RunningTrial] },
    /// The rest is canceled.
    Stopping,
}

/// A trial that has begun and is not over.
#[derive(Debug, Clone)]
pub struct RunningTrial {
    /// In the order of the plan.
    pub case: usize,
    pub engine: usize,
    pub progress: Progress,
}

/// What one thread runs, and what the engine of that run is doing.
#[derive(Debug, Default)]
struct Seat {
    trial: Mutex<Option<(usize, usize)>>,
    progress: Mutex<Progress>,
}

impl Seat {
    fn take(&self, trial: Option<(usize, usize)>) {
        *lock(&self.progress) = Progress::default();
        *lock(&self.trial) = trial;
    }

    fn running(&self) -> Option<RunningTrial> {
        let (case, engine) = (*lock(&self.trial))?;
        Some(RunningTrial { case, engine, progress: lock(&self.progress).clone() })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs them all. What stops everything leaves trials that were not run.
pub fn run_all(
    runtime: &Runtime,
    plan: TrialPlan<'_>,
    stop: &Stop,
    mut tell: impl FnMut(TrialProgress<'_>),
) -> Result<Vec<Trial>, skillrun_skill::SkillError> {
    let schema = plan.skill.schema(SchemaRole::Output)?;
    let places = places(plan);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    let mut trials: Vec<Option<Trial>> = vec![None; places.len()];
    let seats: Vec<Seat> = (0..plan.at_once.clamp(1, places.len().max(1))).map(|_| Seat::default()).collect();
    std::thread::scope(|scope| {
        for seat in &seats {
            let (sender, places, next, schema) = (sender.clone(), &places, &next, schema.as_ref());
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&(time, case, engine)) = places.get(number) else { return };
                    seat.take(Some((case, engine)));
                    let watched = Watched { stop, progress: &seat.progress };
                    let came = if stop.is_set() {
                        TrialEnd::NotRun
                    } else {
                        run(runtime, plan, case, engine, schema, watched)
                    };
                    seat.take(None);
                    if sender.send((number, Trial { case, engine, time, came })).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut done, mut has_told_stop) = (0, false);
        loop {
            if stop.is_set() && !has_told_stop {
                has_told_stop = true;
                tell(TrialProgress::Stopping);
            }
            match receiver.recv_timeout(POLL_INTERVAL) {
                Ok((number, trial)) => {
                    done += 1;
                    if !matches!(trial.came, TrialEnd::NotRun) {
                        tell(TrialProgress::Done { done, of: places.len(), trial: &trial });
                    }
                    trials[number] = Some(trial);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let running: Vec<RunningTrial> = seats.iter().filter_map(Seat::running).collect();
                    tell(TrialProgress::Running { done, of: places.len(), running: &running });
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    });
    // A thread that panicked has printed why; its trials count as not run.
    let lost = |&(time, case, engine): &(u32, usize, usize)| Trial { case, engine, time, came: TrialEnd::NotRun };
    let mut trials: Vec<Trial> =
        trials.into_iter().zip(&places).map(|(trial, place)| trial.unwrap_or_else(|| lost(place))).collect();
    trials.sort_by_key(|trial| (trial.case, trial.engine, trial.time));
    Ok(trials)
}

/// In the order they begin: engines take turns, so that two at the same time are seldom on the same one.
fn places(plan: TrialPlan<'_>) -> Vec<(u32, usize, usize)> {
    let times = 1..=plan.times;
    let pairs = (0..plan.cases.len()).flat_map(|case| (0..plan.engines.len()).map(move |engine| (case, engine)));
    times.flat_map(|time| pairs.clone().map(move |(case, engine)| (time, case, engine))).collect()
}

/// What a run is stopped by, and where its progress goes.
#[derive(Clone, Copy)]
struct Watched<'a> {
    stop: &'a Stop,
    progress: &'a Mutex<Progress>,
}

fn run(
    runtime: &Runtime,
    plan: TrialPlan<'_>,
    case: usize,
    engine: usize,
    schema: Option<&skillrun_skill::Schema>,
    watched: Watched<'_>,
) -> TrialEnd {
    let (Some(case), Some(engine)) = (plan.cases.get(case), plan.engines.get(engine)) else { return TrialEnd::NotRun };
    let new = NewRun {
        mode: case.mode,
        input: case.input.clone(),
        parameter: case.parameter.clone(),
        files: case.files.clone(),
        script: match engine.plays {
            Plays::Scripts => case.script.clone(),
            Plays::Nothing => None,
        },
        options: Options { model: engine.model.clone(), ..plan.options.clone() },
        ..NewRun::new(plan.skill.clone(), engine.name.clone())
    };
    let (stop, progress) = (watched.stop, Some(watched.progress));
    let conduct = Conduct { answers: &case.replies, cancel: CancelWhen::Never, stop, progress };
    match drive(runtime, new, conduct) {
        Ok(ended) => {
            let validity = Validity::of(ended.result.as_ref(), schema);
            let checks = checks(&case.expect, &ended, validity);
            let hindrance = hindrance(&case.expect, &ended);
            TrialEnd::Ended { ended: Box::new(ended), checks, validity, hindrance }
        }
        Err(error) => TrialEnd::Trouble(error.to_string()),
    }
}
