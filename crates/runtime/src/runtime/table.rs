//! What this process is doing at the moment.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skillrun_model::{InteractionId, RunId};

use crate::limits::SlotLimits;
use crate::mailbox::Mailbox;
use crate::queue::Queue;

/// Maximum number of runs whose views are written later; those beyond it are found at the next start.
const LACKING_MAX: usize = 1000;

#[derive(Debug)]
pub(super) struct RunTable {
    pub(super) queue: Queue,
    active: HashMap<RunId, Active>,
    /// Released by a worker, and not yet taken up again.
    between: HashSet<RunId>,
    /// The run whose question is being decided because its deadline has passed; its views may still have to be written.
    expiring: Option<RunId>,
    /// Questions with a deadline, by moment, in running time.
    timers: BTreeMap<(Duration, u64), (RunId, InteractionId)>,
    /// The key of a run's timer; there may be tens of thousands.
    places: HashMap<RunId, (Duration, u64)>,
    armed: u64,
    pub(super) troubles: HashMap<RunId, RunProblem>,
    /// Runs that are over and whose views could not be written, and when that is retried. No caller waits for it.
    lacking: HashMap<RunId, Instant>,
    pub(super) is_leaving: bool,
    /// Their workers stopped because this process is leaving.
    left: HashSet<RunId>,
    pub(super) has_timer_thread: bool,
}

#[derive(Debug)]
struct Active {
    mailbox: Arc<Mailbox>,
    wanted: Wanted,
}

/// Whether the run was advanced while its worker was about to leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    No,
    Again,
}

/// A failure of a run that may be temporary, such as a full disk.
#[derive(Debug, Clone)]
pub(super) struct RunProblem {
    pub(super) words: String,
    pub(super) tries: u32,
    /// When it is retried; none when it is given up.
    pub(super) again: Option<Instant>,
    pub(super) passes: Passes,
}

/// How long a failure is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passes {
    /// Until the work has succeeded here.
    WhenDone,
    /// Until the run is over, whichever process ended it.
    WithRun,
}

impl RunTable {
    pub(super) fn new(slots: SlotLimits) -> Self {
        Self {
            queue: Queue::new(slots),
            active: HashMap::new(),
            between: HashSet::new(),
            expiring: None,
            timers: BTreeMap::new(),
            places: HashMap::new(),
            armed: 0,
            troubles: HashMap::new(),
            lacking: HashMap::new(),
            is_leaving: false,
            left: HashSet::new(),
            has_timer_thread: false,
        }
    }

    pub(super) fn mailbox(&self, run: RunId) -> Option<Arc<Mailbox>> {
        self.active.get(&run).map(|active| active.mailbox.clone())
    }

    pub(super) fn active_runs(&self) -> Vec<RunId> {
        self.active.keys().copied().collect()
    }

    /// The number of workers.
    pub(super) fn active(&self) -> usize {
        self.active.len()
    }

    /// Registers a worker. Refused if there is one already: that one is about to leave, and checks once more before it
    /// does.
    pub(super) fn begins(&mut self, run: RunId, mailbox: &Arc<Mailbox>) -> bool {
        if let Some(active) = self.active.get_mut(&run) {
            active.wanted = Wanted::Again;
            return false;
        }
        self.disarm(run);
        self.active.insert(run, Active { mailbox: mailbox.clone(), wanted: Wanted::No });
        true
    }

    pub(super) fn end(&mut self, run: RunId) -> Wanted {
        let wanted = self.active.remove(&run).map_or(Wanted::No, |active| active.wanted);
        if wanted == Wanted::Again {
            self.between.insert(run);
        }
        wanted
    }

    /// A worker stopped because it was asked to. If this process is leaving, it has to hand the run over; otherwise the
    /// caller that asked for it has.
    pub(super) fn was_let_go(&mut self, run: RunId) {
        if self.is_leaving {
            self.left.insert(run);
        }
    }

    /// It is taken up again, or will be.
    pub(super) fn handed_over(&mut self, run: RunId) {
        self.between.remove(&run);
    }

    /// Every run that is worked on here, or was until this process left.
    pub(super) fn unfinished(&self) -> Vec<RunId> {
        let troubled = self.troubles.iter().filter(|(_, trouble)| trouble.again.is_some()).map(|(run, _)| *run);
        let all = self.active.keys().chain(&self.between).chain(&self.left).chain(self.places.keys()).copied();
        all.chain(troubled).chain(self.queue.runs()).collect::<HashSet<_>>().into_iter().collect()
    }

    pub(super) fn is_active(&self, run: RunId) -> bool {
        self.active.contains_key(&run)
    }

    pub(super) fn arm(&mut self, at: Duration, run: RunId, interaction_id: InteractionId) {
        self.disarm(run);
        self.armed += 1;
        self.timers.insert((at, self.armed), (run, interaction_id));
        self.places.insert(run, (at, self.armed));
    }

    pub(super) fn disarm(&mut self, run: RunId) {
        if let Some(place) = self.places.remove(&run) {
            self.timers.remove(&place);
        }
    }

    /// Whether there is a timer for this question.
    pub(super) fn is_armed(&self, run: RunId, interaction_id: InteractionId) -> bool {
        let armed = self.places.get(&run).and_then(|place| self.timers.get(place));
        armed == Some(&(run, interaction_id))
    }

    /// The same, if the timer is still for this question.
    pub(super) fn disarm_question(&mut self, run: RunId, interaction_id: InteractionId) {
        if self.is_armed(run, interaction_id) {
            self.disarm(run);
        }
    }

    /// Questions with a deadline, the earliest first; at most `limit`.
    pub(super) fn armed(&self, limit: usize) -> Vec<(RunId, InteractionId)> {
        self.timers.values().take(limit).copied().collect()
    }

    /// The first that is due, removed from the timers.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<(RunId, InteractionId)> {
        let first = *self.timers.first_key_value().filter(|((at, _), _)| *at <= now)?.0;
        let due = self.timers.remove(&first)?;
        self.places.remove(&due.0);
        self.expiring = Some(due.0);
        Some(due)
    }

    /// The due question is decided.
    pub(super) fn has_expired(&mut self) {
        self.expiring = None;
    }

    pub(super) fn next_timer(&self) -> Option<Duration> {
        self.timers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Something is due at some moment.
    pub(super) fn has_moments(&self) -> bool {
        self.next_timer().is_some()
            || self.next_retry().is_some()
            || self.next_lacking().is_some()
            || self.queue.next_moment().is_some()
    }

    /// The views of a run are written later.
    pub(super) fn lacks_views(&mut self, run: RunId, at: Instant) {
        if self.lacking.len() < LACKING_MAX {
            self.lacking.insert(run, at);
        }
    }

    /// A run whose views are written now.
    pub(super) fn take_lacking(&mut self, now: Instant) -> Option<RunId> {
        let run = self.lacking.iter().find(|(_, at)| **at <= now).map(|(run, _)| *run)?;
        self.lacking.remove(&run);
        Some(run)
    }

    pub(super) fn next_lacking(&self) -> Option<Instant> {
        self.lacking.values().min().copied()
    }

    /// A run that is retried now.
    pub(super) fn take_retry(&mut self, now: Instant) -> Option<RunId> {
        let due = |trouble: &RunProblem| trouble.again.is_some_and(|at| at <= now);
        let run = self.troubles.iter().find(|(_, trouble)| due(trouble)).map(|(run, _)| *run)?;
        if let Some(trouble) = self.troubles.get_mut(&run) {
            trouble.again = None;
        }
        Some(run)
    }

    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.troubles.values().filter_map(|trouble| trouble.again).min()
    }

    /// Work will be done for it without another request.
    pub(super) fn has(&self, run: RunId) -> bool {
        self.is_active(run)
            || self.between.contains(&run)
            || self.expiring == Some(run)
            || self.queue.has(run)
            || self.places.contains_key(&run)
            || self.troubles.get(&run).is_some_and(|trouble| trouble.again.is_some())
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.later().next().is_none() && self.only_later_is_left(&[])
    }

    /// Nothing is left to do except for runs that must not begin yet, and for these.
    pub(super) fn only_later_is_left(&self, but: &[RunId]) -> bool {
        self.active.is_empty()
            && self.between.is_empty()
            && self.expiring.is_none()
            && self.queue.waiting() == 0
            && self.timers.is_empty()
            && self.troubles.iter().all(|(run, trouble)| trouble.again.is_none() || but.contains(run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a waiting run was handed to an owner in the background, if its worker had not quite finished when
    /// its command left; and that owner existed only for a moment (found on a busy machine).
    #[test]
    fn a_run_that_finishes_during_leave_needs_no_owner() {
        let run = |n: u8| RunId::new(u64::from(n), [n; 10]);
        let mailbox = Arc::new(Mailbox::new().expect("a mailbox"));
        let mut table = RunTable::new(SlotLimits::default());
        for number in 1..=4 {
            assert!(table.begins(run(number), &mailbox));
        }
        assert_eq!(table.end(run(4)), Wanted::No);
        table.was_let_go(run(4));
        assert_eq!(table.unfinished().len(), 3, "the caller that released it has taken it");
        table.is_leaving = true;
        // One waits, one was stopped, one waits for a moment.
        for number in 1..=3 {
            assert_eq!(table.end(run(number)), Wanted::No);
        }
        table.was_let_go(run(2));
        table.arm(Duration::ZERO, run(3), InteractionId(1));
        let mut unfinished = table.unfinished();
        unfinished.sort_by_key(ToString::to_string);
        assert_eq!(unfinished, [run(2), run(3)]);
    }

    #[test]
    fn a_run_has_one_timer_and_the_first_is_due_first() {
        let run = |n: u8| RunId::new(u64::from(n), [n; 10]);
        let at = Duration::from_secs;
        let mut table = RunTable::new(SlotLimits::default());
        table.arm(at(30), run(1), InteractionId(1));
        table.arm(at(20), run(2), InteractionId(1));
        table.arm(at(10), run(1), InteractionId(2));
        assert!(table.has(run(1)) && !table.is_idle());
        assert_eq!((table.take_due(at(9)), table.next_timer()), (None, Some(at(10))));
        assert_eq!(
            table.take_due(at(30)),
            Some((run(1), InteractionId(2))),
            "the later one took the place of the first"
        );
        assert!(table.has(run(1)), "until what is due is done, its views included");
        table.has_expired();
        assert!(!table.has(run(1)));
        table.disarm(run(2));
        assert_eq!(table.take_due(at(99)), None);
        assert!(table.is_idle());
    }
}
