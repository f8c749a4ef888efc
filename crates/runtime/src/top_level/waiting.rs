//! Waits for runs: they look when a Log changes, and sleep otherwise.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use skillrun_base::sync::{lock, wait_while};
use skillrun_log::EventLog;
use skillrun_model::RunId;
use skillrun_model::delegation::{DelegatedRun, DelegatedState, DelegationResponse, RefusalReason, WaitOutcome};

use super::{Asked, TopLevelDesk, WAIT_RUNS_MAX, refusal, refused};

/// Interval at which runs without progress are looked at, for an owner that died, and on a file system without change
/// notifications.
const OWNER_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// A run that writes much is not looked at after each event.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Counts changes.
#[derive(Debug, Default)]
struct Bell {
    rung: Mutex<u64>,
    news: Condvar,
}

impl Bell {
    fn rung(&self) -> u64 {
        *lock(&self.rung)
    }

    fn ring(&self) {
        *lock(&self.rung) += 1;
        self.news.notify_all();
    }

    /// Until it rings more than `seen` times, at most until the deadline.
    fn wait(&self, seen: u64, deadline: Instant) {
        wait_while(&self.news, lock(&self.rung), Some(deadline), |rung| *rung == seen);
    }
}

/// The waits of a desk.
#[derive(Debug, Default)]
pub(super) struct Waits {
    bells: Mutex<Vec<Weak<Bell>>>,
    is_over: AtomicBool,
}

impl Waits {
    fn begin(&self) -> Arc<Bell> {
        let bell = Arc::new(Bell::default());
        let mut bells = lock(&self.bells);
        bells.retain(|bell| bell.strong_count() > 0);
        bells.push(Arc::downgrade(&bell));
        bell
    }

    pub(super) fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        lock(&self.bells).iter().filter_map(Weak::upgrade).for_each(|bell| bell.ring());
    }
}

impl TopLevelDesk {
    /// Until every run has ended, one of them asks something, or the time is up.
    pub(super) fn wait(&self, runs: &[RunId], timeout_sec: f64) -> Asked<DelegationResponse> {
        if runs.is_empty() {
            let message = "give the ids of the runs to wait for; list_runs shows them";
            return Err(refusal(RefusalReason::Invalid, message));
        }
        if runs.len() > WAIT_RUNS_MAX {
            let message = format!("{} runs are too many for one wait; give at most {WAIT_RUNS_MAX}", runs.len());
            return Err(refusal(RefusalReason::LimitReached, message));
        }
        let timeout = Duration::try_from_secs_f64(timeout_sec)
            .map_err(|error| refusal(RefusalReason::Invalid, format!("timeout_sec: {error}")))?;
        let deadline = Instant::now() + timeout;
        let bell = self.waits.begin();
        let mut subscriptions = Vec::new();
        // They exist: a missing run is not waited for.
        self.runs(runs)?;
        for run in runs {
            let bell = bell.clone();
            let wake = Arc::new(move || bell.ring());
            subscriptions.push(self.runtime.log().subscribe(*run, wake).map_err(|error| refused(&error))?);
        }
        let found = loop {
            let rung = bell.rung();
            // After the subscriptions, so that no change is missed.
            let found = self.runs(runs)?;
            if is_enough(&found) || Instant::now() >= deadline || self.waits.is_over.load(Ordering::SeqCst) {
                break found;
            }
            thread::sleep(LOOK_INTERVAL.min(deadline.saturating_duration_since(Instant::now())));
            let check = Instant::now() + OWNER_CHECK_INTERVAL;
            bell.wait(rung, check.min(deadline));
            if Instant::now() >= check {
                self.keeper.take_over_orphans();
            }
        };
        drop(subscriptions);
        Ok(DelegationResponse::Waited { outcome: WaitOutcome::of(found.iter().map(|run| run.state)), runs: found })
    }
}

/// Nothing follows without an act of the caller.
fn is_enough(runs: &[DelegatedRun]) -> bool {
    runs.iter().all(|run| run.state.is_ended()) || runs.iter().any(|run| run.state == DelegatedState::NeedsOrchestrator)
}
