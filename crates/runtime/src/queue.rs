//! Which run is next. Pure: slots are numbers here, and the taker of a slot gives it back.

use std::collections::{BTreeMap, HashSet};

use skillrun_model::{RunId, Timestamp};

use crate::limits::SlotLimits;

/// What a run needs a slot for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) engine: String,
    pub(crate) kind: SlotKind,
    /// Higher runs first.
    pub(crate) priority: i32,
    /// It gets no slot before this.
    pub(crate) not_before: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// Given back after each turn.
    Turn,
    /// Kept between turns, under a limit of its own.
    Sticky,
    /// Of a workflow, for as long as its conductor has something to do. It starts no process.
    Conductor,
}

/// A slot in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    engine: String,
    kind: SlotKind,
}

impl Slot {
    pub(crate) fn of(demand: &Demand) -> Self {
        Self { engine: demand.engine.clone(), kind: demand.kind }
    }
}

/// Slots in use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used<'a> {
    pub(crate) turns: usize,
    pub(crate) sticky: usize,
    pub(crate) by_engine: &'a BTreeMap<String, usize>,
}

/// No reported moment is further ahead. One that is was computed with a wrong clock.
const FARTHEST_NANOS: u64 = 32 * 24 * 60 * 60 * 1_000_000_000;

/// Conductors of workflows that work at the same time. Each is done in a moment.
const CONDUCTORS_MAX: usize = 8;

/// Maximum number of runs that wait for a moment when another one is to be created.
const LATER_MAX: usize = 10_000;

/// The limit of waiting runs is reached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full {
    pub(crate) queued: usize,
}

#[derive(Debug)]
pub(crate) struct Queue {
    limits: SlotLimits,
    /// By priority, then by arrival.
    waiting: BTreeMap<(std::cmp::Reverse<i32>, u64), (RunId, Demand)>,
    /// By the moment at which they begin to wait, then by arrival.
    later: BTreeMap<(Timestamp, u64), (RunId, Demand)>,
    known: HashSet<RunId>,
    arrivals: u64,
    turns: usize,
    sticky: usize,
    conductors: usize,
    by_engine: BTreeMap<String, usize>,
}

impl Queue {
    pub(crate) fn new(limits: SlotLimits) -> Self {
        Self {
            limits,
            waiting: BTreeMap::new(),
            later: BTreeMap::new(),
            known: HashSet::new(),
            arrivals: 0,
            turns: 0,
            sticky: 0,
            conductors: 0,
            by_engine: BTreeMap::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.later.len()
    }

    /// Those that wait for a slot.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Runs that must not begin yet, and until when.
    pub(crate) fn later(&self) -> impl Iterator<Item = (RunId, Timestamp)> {
        self.later.iter().map(|((at, _), (run, _))| (*run, *at))
    }

    /// Whether another run that must not begin yet may be created.
    pub(crate) fn room_for_later(&self) -> Result<(), Full> {
        let queued = self.later.len();
        if queued < LATER_MAX { Ok(()) } else { Err(Full { queued }) }
    }

    pub(crate) fn has(&self, run: RunId) -> bool {
        self.known.contains(&run)
    }

    pub(crate) fn runs(&self) -> impl Iterator<Item = RunId> {
        self.known.iter().copied()
    }

    /// Whether another new run may wait. Runs that must not begin yet do not count.
    pub(crate) fn room(&self) -> Result<(), Full> {
        let queued = self.waiting();
        if queued < self.limits.queued { Ok(()) } else { Err(Full { queued }) }
    }

    /// A run waits for a slot; one that waits already keeps its place. Accepted runs are never refused.
    pub(crate) fn push(&mut self, run: RunId, demand: Demand) {
        if self.known.insert(run) {
            self.arrivals += 1;
            match demand.not_before {
                Some(at) => self.later.insert((at, self.arrivals), (run, demand)),
                None => self.waiting.insert((std::cmp::Reverse(demand.priority), self.arrivals), (run, demand)),
            };
        }
    }

    pub(crate) fn remove(&mut self, run: RunId) {
        if self.known.remove(&run) {
            self.waiting.retain(|_, (waiting, _)| *waiting != run);
            self.later.retain(|_, (later, _)| *later != run);
        }
    }

    /// The earliest moment at which a run that must not begin yet may begin.
    pub(crate) fn next_moment(&self) -> Option<Timestamp> {
        self.later.first_key_value().map(|((at, _), _)| *at)
    }

    /// A run has reached its moment.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let mut ends = [self.later.first_key_value(), self.later.last_key_value()].into_iter().flatten();
        ends.any(|((at, _), _)| may_begin(*at, now))
    }

    /// Runs that have reached their moment wait for a slot like all others.
    pub(crate) fn let_in(&mut self, now: Timestamp) {
        while let Some(first) = self.later.first_entry().filter(|first| may_begin(first.key().0, now)) {
            let ((_, arrival), (run, demand)) = first.remove_entry();
            self.waiting.insert((std::cmp::Reverse(demand.priority), arrival), (run, demand));
        }
        while let Some(last) = self.later.last_entry().filter(|last| may_begin(last.key().0, now)) {
            let ((_, arrival), (run, demand)) = last.remove_entry();
            self.waiting.insert((std::cmp::Reverse(demand.priority), arrival), (run, demand));
        }
    }

    /// The first run that can have a slot, with the slot.
    pub(crate) fn next(&mut self, now: Timestamp) -> Option<(RunId, Slot)> {
        self.let_in(now);
        let place = self.waiting.iter().find(|(_, (_, demand))| self.has_room(demand)).map(|(place, _)| *place)?;
        let (run, demand) = self.waiting.remove(&place)?;
        self.known.remove(&run);
        let slot = Slot::of(&demand);
        self.retake(&slot);
        Some((run, slot))
    }

    fn has_room(&self, demand: &Demand) -> bool {
        let (used, limit) = match demand.kind {
            SlotKind::Turn => (self.turns, self.limits.total),
            SlotKind::Sticky => (self.sticky, self.limits.sticky),
            SlotKind::Conductor => return self.conductors < CONDUCTORS_MAX,
        };
        let engine = self.by_engine.get(&demand.engine).copied().unwrap_or_default();
        let engine_limit = self.limits.by_engine.get(&demand.engine).copied().unwrap_or(self.limits.per_engine);
        used < limit && engine < engine_limit
    }

    /// A slot that is taken without waiting, for a process that is already running.
    pub(crate) fn take(&mut self, demand: Demand) -> Slot {
        let slot = Slot::of(&demand);
        self.retake(&slot);
        slot
    }

    /// The same for a slot that was lent.
    pub(crate) fn retake(&mut self, slot: &Slot) {
        match slot.kind {
            SlotKind::Turn => self.turns += 1,
            SlotKind::Sticky => self.sticky += 1,
            SlotKind::Conductor => {
                self.conductors += 1;
                return;
            }
        }
        *self.by_engine.entry(slot.engine.clone()).or_default() += 1;
    }

    pub(crate) fn give_back(&mut self, slot: Slot) {
        match slot.kind {
            SlotKind::Turn => self.turns = self.turns.saturating_sub(1),
            SlotKind::Sticky => self.sticky = self.sticky.saturating_sub(1),
            SlotKind::Conductor => {
                self.conductors = self.conductors.saturating_sub(1);
                return;
            }
        }
        if let Some(used) = self.by_engine.get_mut(&slot.engine) {
            *used = used.saturating_sub(1);
        }
    }

    pub(crate) fn limits(&self) -> &SlotLimits {
        &self.limits
    }

    /// Slots in use, by kind.
    pub(crate) fn used(&self) -> Used<'_> {
        Used { turns: self.turns, sticky: self.sticky, by_engine: &self.by_engine }
    }

    /// Slots in use.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.turns + self.sticky
    }
}

fn may_begin(at: Timestamp, now: Timestamp) -> bool {
    at <= now || at > now.plus_nanos(FARTHEST_NANOS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: u8) -> RunId {
        RunId::new(u64::from(n), [n; 10])
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::EPOCH.plus_nanos(seconds * 1_000_000_000)
    }

    fn demand(engine: &str, kind: SlotKind, priority: i32) -> Demand {
        Demand { engine: engine.to_owned(), kind, priority, not_before: None }
    }

    fn queue(total: usize, per_engine: usize, sticky: usize) -> Queue {
        Queue::new(SlotLimits { total, per_engine, sticky, queued: 3, ..SlotLimits::default() })
    }

    #[test]
    fn order_is_priority_then_arrival() {
        let mut queue = queue(9, 9, 9);
        for (n, priority) in [(1, 0), (2, 5), (3, 0), (4, 5), (5, -1)] {
            queue.push(run(n), demand("a", SlotKind::Turn, priority));
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.next(at(0)).map(|(run, _)| run)).collect();
        assert_eq!(order, [2, 4, 1, 3, 5].map(run));
    }

    #[test]
    fn limits_hold_and_one_engine_does_not_block_another() {
        let mut queue = queue(3, 2, 1);
        for n in 1..=3 {
            queue.push(run(n), demand("a", SlotKind::Turn, 0));
        }
        queue.push(run(4), demand("b", SlotKind::Turn, 0));
        queue.push(run(5), demand("b", SlotKind::Sticky, 0));
        queue.push(run(6), demand("c", SlotKind::Sticky, 0));
        let mut slots: Vec<_> = std::iter::from_fn(|| queue.next(at(0))).collect();
        assert_eq!(slots.iter().map(|(run, _)| *run).collect::<Vec<_>>(), [1, 2, 4, 5].map(run));
        queue.give_back(slots.remove(3).1);
        assert_eq!(queue.next(at(0)).map(|(run, _)| run), Some(run(6)), "a sticky slot");
        queue.give_back(slots.remove(0).1);
        assert_eq!(queue.next(at(0)).map(|(run, _)| run), Some(run(3)));
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn a_run_waits_once_and_a_full_queue_takes_no_new_ones() {
        let mut queue = queue(1, 1, 1);
        for n in [1, 1, 2, 3] {
            assert_eq!(queue.room(), Ok(()));
            queue.push(run(n), demand("a", SlotKind::Turn, 0));
        }
        assert_eq!(queue.room(), Err(Full { queued: 3 }));
        queue.remove(run(2));
        queue.remove(run(2));
        assert_eq!(queue.room(), Ok(()));
        assert_eq!((queue.next(at(0)).map(|(run, _)| run), queue.len()), (Some(run(1)), 1));
    }

    #[test]
    fn all_slots_come_back() {
        let mut queue = queue(2, 2, 2);
        for round in 0..50u8 {
            let kind = if round % 3 == 0 { SlotKind::Sticky } else { SlotKind::Turn };
            queue.push(run(round), demand(if round % 2 == 0 { "a" } else { "b" }, kind, 0));
            let slots: Vec<_> = std::iter::from_fn(|| queue.next(at(0))).collect();
            slots.into_iter().for_each(|(_, slot)| queue.give_back(slot));
        }
        assert_eq!((queue.in_use(), queue.len()), (0, 0));
    }

    #[test]
    fn no_run_begins_before_its_moment_and_others_pass() {
        let mut queue = queue(1, 1, 1);
        let later = |seconds| Demand { not_before: Some(at(seconds)), ..demand("a", SlotKind::Turn, 9) };
        queue.push(run(1), later(20));
        queue.push(run(2), later(10));
        queue.push(run(3), demand("a", SlotKind::Turn, 0));
        assert_eq!((queue.len(), queue.next_moment()), (3, Some(at(10))));
        assert_eq!((queue.room(), queue.waiting()), (Ok(()), 1), "they do not count");
        assert!(queue.later().eq([(run(2), at(10)), (run(1), at(20))]));
        assert!(queue.has(run(1)) && queue.runs().count() == 3);
        let mut next = |now| queue.next(at(now)).map(|(run, slot)| (run, queue.give_back(slot)).0);
        assert_eq!((next(9), next(9)), (Some(run(3)), None));
        assert_eq!((next(10), next(19), next(20)), (Some(run(2)), None, Some(run(1))));
        assert_eq!((queue.len(), queue.next_moment()), (0, None));
    }

    /// Regression: a clock that was years ahead when a run failed made the next one wait for years.
    #[test]
    fn an_implausible_moment_is_not_waited_for() {
        let mut queue = queue(9, 9, 9);
        let day = 24 * 60 * 60;
        for (n, days) in [(1, 32), (2, 33), (3, 4000)] {
            queue.push(run(n), Demand { not_before: Some(at(days * day)), ..demand("a", SlotKind::Turn, 0) });
        }
        assert!(queue.is_due(at(0)));
        let order: Vec<_> = std::iter::from_fn(|| queue.next(at(0)).map(|(run, _)| run)).collect();
        assert_eq!(order, [2, 3].map(run));
        assert!(!queue.is_due(at(0)) && queue.is_due(at(32 * day)));
    }

    #[test]
    fn the_number_of_delayed_runs_is_limited() {
        let mut queue = queue(1, 1, 1);
        for n in 0..LATER_MAX as u64 {
            assert_eq!(queue.room_for_later(), Ok(()));
            let not_before = Some(at(n + 1));
            queue.push(RunId::new(n, [1; 10]), Demand { not_before, ..demand("a", SlotKind::Turn, 0) });
        }
        assert_eq!(queue.room_for_later(), Err(Full { queued: LATER_MAX }));
    }

    #[test]
    fn one_whose_moment_has_come_waits_by_its_priority_and_arrival() {
        let mut queue = queue(9, 9, 9);
        for (n, priority, not_before) in [(1, 0, Some(5)), (2, 0, None), (3, 7, Some(5)), (4, 0, Some(6))] {
            let not_before = not_before.map(at);
            queue.push(run(n), Demand { not_before, ..demand("a", SlotKind::Turn, priority) });
        }
        queue.let_in(at(5));
        assert_eq!(queue.next_moment(), Some(at(6)), "no run is let in twice, or early");
        let order: Vec<_> = std::iter::from_fn(|| queue.next(at(5)).map(|(run, _)| run)).collect();
        assert_eq!(order, [3, 1, 2].map(run));
        queue.remove(run(4));
        assert_eq!((queue.len(), queue.next(at(99))), (0, None));
    }
}
