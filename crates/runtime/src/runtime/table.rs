//! Where each run stands in this process at the moment. No state of a run is only here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use skillrun_model::{InteractionId, RunId};

use crate::limits::SlotLimits;
use crate::mailbox::Mailbox;
use crate::queue::{Demand, Queue, Slot};
use crate::worker::Alarm;

use super::children::{Loan, LoanNumber};

/// Maximum number of runs whose views are written later; those beyond it are found at the next start.
const LATE_VIEWS_MAX: usize = 1000;

#[derive(Debug)]
pub(super) struct RunTable {
    pub(super) queue: Queue,
    /// Every run that this process has something to do or to report about; the queue has its own runs.
    runs: HashMap<RunId, RunStanding>,
    /// Questions with a deadline and conductors that look again, by moment, in running time; there may be tens of
    /// thousands.
    timers: BTreeMap<TimerPlace, (RunId, Alarm)>,
    armed: u64,
    /// Runs whose problem has a moment at which they are retried.
    retries: BTreeSet<(Instant, RunId)>,
    /// Slots that parents have lent while they wait for their children.
    loans: HashMap<RunId, Loan>,
    loan_number: u64,
    /// The number of runs below each run without a parent, as far as it was needed here.
    pub(super) families: HashMap<RunId, u32>,
    /// Runs that are over and whose views could not be written, and when that is retried. No caller waits for it.
    late_views: HashMap<RunId, Instant>,
    pub(super) is_leaving: bool,
    pub(super) has_timer_thread: bool,
}

/// A moment, and the number of the timer.
type TimerPlace = (Duration, u64);

/// Where a run stands. It may be advanced by a request while its worker is about to leave it, so its worker and its
/// timer are independent of each other.
#[derive(Debug, Default)]
struct RunStanding {
    worker: Option<WorkerStanding>,
    timer: Option<TimerStanding>,
    problem: Option<RunProblem>,
}

#[derive(Debug)]
enum WorkerStanding {
    Active {
        mailbox: Arc<Mailbox>,
        wanted: Wanted,
    },
    /// Released by a worker, and not yet taken up again.
    Between,
    /// Its worker stopped because this process is leaving.
    Left,
}

#[derive(Debug)]
enum TimerStanding {
    Armed(TimerPlace),
    /// The question is being decided because its deadline has passed; its views may still have to be written.
    Expiring,
}

impl RunStanding {
    /// Work is done for it, or will be at its deadline.
    fn is_at_work(&self) -> bool {
        self.timer.is_some() || matches!(self.worker, Some(WorkerStanding::Active { .. } | WorkerStanding::Between))
    }

    fn is_retried(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.again.is_some())
    }

    /// It needs an owner if this process ends now.
    fn is_unfinished(&self) -> bool {
        self.worker.is_some() || matches!(self.timer, Some(TimerStanding::Armed(_))) || self.is_retried()
    }
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
            runs: HashMap::new(),
            timers: BTreeMap::new(),
            armed: 0,
            retries: BTreeSet::new(),
            loans: HashMap::new(),
            loan_number: 0,
            families: HashMap::new(),
            late_views: HashMap::new(),
            is_leaving: false,
            has_timer_thread: false,
        }
    }

    /// A parent waits for its children: its slot is free for other runs, until the last of its waits is over.
    pub(super) fn lend(&mut self, run: RunId, demand: &Demand) -> LoanNumber {
        if let Some(loan) = self.loans.get_mut(&run) {
            loan.waits += 1;
            return loan.number;
        }
        self.loan_number += 1;
        let (number, slot) = (LoanNumber(self.loan_number), Slot::of(demand));
        self.queue.give_back(slot.clone());
        self.loans.insert(run, Loan { number, waits: 1, slot });
        number
    }

    /// A wait is over. The process of the parent continues, so that it does not wait for a free slot; no new run begins
    /// until there are as few as allowed.
    pub(super) fn take_back(&mut self, run: RunId, number: LoanNumber) {
        let Some(loan) = self.loans.get_mut(&run).filter(|loan| loan.number == number) else { return };
        loan.waits -= 1;
        if loan.waits == 0
            && let Some(loan) = self.loans.remove(&run)
        {
            self.queue.retake(&loan.slot);
        }
    }

    /// A worker ends. A slot that is lent at that moment is free already.
    pub(super) fn give_back(&mut self, run: RunId, slot: Slot) {
        if self.loans.remove(&run).is_none() {
            self.queue.give_back(slot);
        }
    }

    fn change<T>(&mut self, run: RunId, change: impl FnOnce(&mut RunStanding) -> T) -> T {
        let standing = self.runs.entry(run).or_default();
        let changed = change(standing);
        if let RunStanding { worker: None, timer: None, problem: None } = standing {
            self.runs.remove(&run);
        }
        changed
    }

    pub(super) fn mailbox(&self, run: RunId) -> Option<Arc<Mailbox>> {
        let Some(WorkerStanding::Active { mailbox, .. }) = &self.runs.get(&run)?.worker else { return None };
        Some(mailbox.clone())
    }

    /// Runs with a worker.
    pub(super) fn active(&self) -> impl Iterator<Item = RunId> {
        let is_active = |standing: &RunStanding| matches!(standing.worker, Some(WorkerStanding::Active { .. }));
        self.runs.iter().filter(move |(_, standing)| is_active(standing)).map(|(run, _)| *run)
    }

    /// Registers a worker. Refused if there is one already: that one is about to leave, and checks once more before it
    /// does.
    pub(super) fn begins(&mut self, run: RunId, mailbox: &Arc<Mailbox>) -> bool {
        let standing = self.runs.entry(run).or_default();
        if let Some(WorkerStanding::Active { wanted, .. }) = &mut standing.worker {
            *wanted = Wanted::Again;
            return false;
        }
        standing.worker = Some(WorkerStanding::Active { mailbox: mailbox.clone(), wanted: Wanted::No });
        self.disarm(run);
        true
    }

    /// The run has to be taken up again when its worker leaves.
    pub(super) fn want_again(&mut self, run: RunId) {
        if let Some(WorkerStanding::Active { wanted, .. }) =
            self.runs.get_mut(&run).and_then(|standing| standing.worker.as_mut())
        {
            *wanted = Wanted::Again;
        }
    }

    pub(super) fn end(&mut self, run: RunId) -> Wanted {
        self.change(run, |standing| {
            let Some(WorkerStanding::Active { wanted, .. }) = standing.worker else { return Wanted::No };
            standing.worker = match wanted {
                Wanted::No => None,
                Wanted::Again => Some(WorkerStanding::Between),
            };
            wanted
        })
    }

    /// A worker stopped because it was asked to. If this process is leaving, it has to hand the run over; otherwise the
    /// caller that asked for it has.
    pub(super) fn was_let_go(&mut self, run: RunId) {
        if self.is_leaving {
            self.change(run, |standing| standing.worker = Some(WorkerStanding::Left));
        }
    }

    /// It is taken up again, or will be.
    pub(super) fn handed_over(&mut self, run: RunId) {
        self.change(run, |standing| standing.worker.take_if(|worker| matches!(worker, WorkerStanding::Between)));
    }

    /// Every run that is worked on here, or was until this process left.
    pub(super) fn unfinished(&self) -> Vec<RunId> {
        let unfinished = self.runs.iter().filter(|(run, standing)| standing.is_unfinished() && !self.queue.has(**run));
        unfinished.map(|(run, _)| *run).chain(self.queue.runs()).collect()
    }

    pub(super) fn arm(&mut self, at: Duration, run: RunId, alarm: Alarm) {
        self.disarm(run);
        self.armed += 1;
        let place = (at, self.armed);
        self.timers.insert(place, (run, alarm));
        self.change(run, |standing| standing.timer = Some(TimerStanding::Armed(place)));
    }

    fn timer(&self, run: RunId) -> Option<TimerPlace> {
        let Some(TimerStanding::Armed(place)) = self.runs.get(&run)?.timer else { return None };
        Some(place)
    }

    pub(super) fn disarm(&mut self, run: RunId) {
        if let Some(place) = self.timer(run) {
            self.timers.remove(&place);
            self.change(run, |standing| standing.timer = None);
        }
    }

    /// Whether there is a timer for this question.
    pub(super) fn is_armed(&self, run: RunId, interaction_id: InteractionId) -> bool {
        let armed = self.timer(run).and_then(|place| self.timers.get(&place));
        armed == Some(&(run, Alarm::Question(interaction_id)))
    }

    /// The same, if the timer is still for this question.
    pub(super) fn disarm_question(&mut self, run: RunId, interaction_id: InteractionId) {
        if self.is_armed(run, interaction_id) {
            self.disarm(run);
        }
    }

    /// Questions with a deadline, the earliest first; at most `limit`.
    pub(super) fn armed(&self, limit: usize) -> Vec<(RunId, InteractionId)> {
        let question = |(run, alarm): &(RunId, Alarm)| match alarm {
            Alarm::Question(interaction_id) => Some((*run, *interaction_id)),
            Alarm::Conductor => None,
        };
        self.timers.values().filter_map(question).take(limit).collect()
    }

    /// The first that is due, removed from the timers.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<(RunId, Alarm)> {
        let first = self.timers.first_entry().filter(|first| first.key().0 <= now)?;
        let due = first.remove();
        self.change(due.0, |standing| standing.timer = Some(TimerStanding::Expiring));
        Some(due)
    }

    /// The due question of a run is decided.
    pub(super) fn has_expired(&mut self, run: RunId) {
        self.change(run, |standing| standing.timer.take_if(|timer| matches!(timer, TimerStanding::Expiring)));
    }

    pub(super) fn next_timer(&self) -> Option<Duration> {
        self.timers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Something is due at some moment.
    pub(super) fn has_moments(&self) -> bool {
        self.next_timer().is_some() || self.next_try().is_some() || self.queue.next_moment().is_some()
    }

    /// When a run is retried, or its views are written.
    pub(super) fn next_try(&self) -> Option<Instant> {
        self.retries.first().map(|(at, _)| *at).into_iter().chain(self.late_views.values().copied()).min()
    }

    /// The views of a run are written later.
    pub(super) fn lacks_views(&mut self, run: RunId, at: Instant) {
        if self.late_views.len() < LATE_VIEWS_MAX {
            self.late_views.insert(run, at);
        }
    }

    /// A run whose views are written now.
    pub(super) fn take_late_views(&mut self, now: Instant) -> Option<RunId> {
        let run = self.late_views.iter().find(|(_, at)| **at <= now).map(|(run, _)| *run)?;
        self.late_views.remove(&run);
        Some(run)
    }

    pub(super) fn problem(&self, run: RunId) -> Option<&RunProblem> {
        self.runs.get(&run)?.problem.as_ref()
    }

    /// How often a run with a problem was tried.
    pub(super) fn tries(&self, run: RunId) -> u32 {
        self.problem(run).map_or(0, |problem| problem.tries)
    }

    /// The number of runs with a problem.
    pub(super) fn problems(&self) -> usize {
        self.runs.values().filter(|standing| standing.problem.is_some()).count()
    }

    pub(super) fn set_problem(&mut self, run: RunId, problem: Option<RunProblem>) {
        let again = problem.as_ref().and_then(|problem| problem.again);
        let before = self.change(run, |standing| std::mem::replace(&mut standing.problem, problem));
        if let Some(at) = before.and_then(|before| before.again) {
            self.retries.remove(&(at, run));
        }
        self.retries.extend(again.map(|at| (at, run)));
    }

    /// A run that is retried now.
    pub(super) fn take_retry(&mut self, now: Instant) -> Option<RunId> {
        let (_, run) = self.retries.first().filter(|(at, _)| *at <= now).copied()?;
        self.retries.pop_first();
        self.change(run, |standing| standing.problem.iter_mut().for_each(|problem| problem.again = None));
        Some(run)
    }

    /// Work will be done for it without another request.
    pub(super) fn has(&self, run: RunId) -> bool {
        let is_pending = |standing: &RunStanding| standing.is_at_work() || standing.is_retried();
        self.queue.has(run) || self.runs.get(&run).is_some_and(is_pending)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.later().next().is_none() && self.only_later_is_left(&[])
    }

    /// Nothing is left to do except for runs that must not begin yet, and for these.
    pub(super) fn only_later_is_left(&self, but: &[RunId]) -> bool {
        let is_left = |(run, standing): (&RunId, &RunStanding)| {
            standing.is_at_work() || (standing.is_retried() && !but.contains(run))
        };
        self.queue.waiting() == 0 && !self.runs.iter().any(is_left)
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
        table.arm(Duration::ZERO, run(3), Alarm::Question(InteractionId(1)));
        let mut unfinished = table.unfinished();
        unfinished.sort_by_key(ToString::to_string);
        assert_eq!(unfinished, [run(2), run(3)]);
    }

    #[test]
    fn a_run_has_one_timer_and_the_first_is_due_first() {
        let run = |n: u8| RunId::new(u64::from(n), [n; 10]);
        let at = Duration::from_secs;
        let mut table = RunTable::new(SlotLimits::default());
        table.arm(at(30), run(1), Alarm::Question(InteractionId(1)));
        table.arm(at(20), run(2), Alarm::Question(InteractionId(1)));
        table.arm(at(10), run(1), Alarm::Question(InteractionId(2)));
        assert!(table.has(run(1)) && !table.is_idle());
        assert_eq!((table.take_due(at(9)), table.next_timer()), (None, Some(at(10))));
        assert_eq!(
            table.take_due(at(30)),
            Some((run(1), Alarm::Question(InteractionId(2)))),
            "the later one took the place of the first"
        );
        assert!(table.has(run(1)), "until what is due is done, its views included");
        table.has_expired(run(1));
        assert!(!table.has(run(1)));
        table.disarm(run(2));
        assert_eq!(table.take_due(at(99)), None);
        assert!(table.is_idle());
    }

    #[test]
    fn a_problem_and_late_views_have_one_moment_each_and_leave_nothing_behind() {
        let (first, second) = (RunId::new(1, [1; 10]), RunId::new(2, [2; 10]));
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let problem =
            |tries, again| Some(RunProblem { words: "full".to_owned(), tries, again, passes: Passes::WhenDone });
        let mut table = RunTable::new(SlotLimits::default());
        table.set_problem(first, problem(1, Some(at(1))));
        table.set_problem(first, problem(2, Some(at(5))));
        table.set_problem(second, problem(1, None));
        assert_eq!((table.next_try(), table.take_retry(at(4))), (Some(at(5)), None), "the second took the place");
        assert!(table.has(first) && !table.has(second) && !table.is_idle() && table.only_later_is_left(&[first]));
        assert_eq!((table.take_retry(at(5)), table.tries(first), table.problems()), (Some(first), 2, 2));
        assert!(!table.has_moments() && table.is_idle(), "it is being retried");
        table.lacks_views(first, at(9));
        table.lacks_views(first, at(7));
        table.set_problem(first, None);
        table.set_problem(second, None);
        assert_eq!((table.take_late_views(at(6)), table.take_late_views(at(7))), (None, Some(first)));
        assert_eq!((table.take_late_views(at(9)), table.runs.len()), (None, 0));
    }
}
