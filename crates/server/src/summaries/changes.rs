//! Numbers of changes: only the last one of each run. Pure.

use std::collections::{BTreeMap, HashMap};

use skillrun_model::RunId;

/// Number of runs whose last change is remembered. A reader positioned before a forgotten change restarts from a
/// snapshot.
pub(super) const REMEMBERED: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The last number that was assigned.
    last: u64,
    /// The last number that was forgotten.
    forgotten: u64,
    by_run: HashMap<RunId, u64>,
    by_number: BTreeMap<u64, RunId>,
}

impl Changes {
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn note(&mut self, run: RunId) {
        self.last += 1;
        if let Some(before) = self.by_run.insert(run, self.last) {
            self.by_number.remove(&before);
        }
        self.by_number.insert(self.last, run);
        if self.by_number.len() > REMEMBERED
            && let Some((number, run)) = self.by_number.pop_first()
        {
            self.by_run.remove(&run);
            self.forgotten = number;
        }
    }

    /// The first changes after a number, in their order. None when some were forgotten, or the number was never
    /// assigned.
    pub(super) fn since(&self, number: u64, most: usize) -> Option<Vec<(u64, RunId)>> {
        if number < self.forgotten || number > self.last {
            return None;
        }
        let (first, rest) = (std::ops::Bound::Excluded(number), std::ops::Bound::Unbounded);
        Some(self.by_number.range((first, rest)).take(most).map(|(number, run)| (*number, *run)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: u64) -> RunId {
        RunId::new(n, [7; 10])
    }

    #[test]
    fn of_each_run_the_last_change_counts() {
        let mut changes = Changes::default();
        assert_eq!(changes.since(0, 9), Some(vec![]));
        [1, 2, 1, 3].into_iter().for_each(|n| changes.note(run(n)));
        assert_eq!(changes.since(0, 9), Some(vec![(2, run(2)), (3, run(1)), (4, run(3))]));
        assert_eq!(changes.since(0, 2), Some(vec![(2, run(2)), (3, run(1))]), "a page");
        assert_eq!(changes.since(3, 9), Some(vec![(4, run(3))]));
        assert_eq!(changes.since(4, 9), Some(vec![]));
        assert_eq!(changes.since(5, 9), None, "never given out");
    }

    #[test]
    fn what_was_forgotten_is_not_passed_over() {
        let mut changes = Changes::default();
        let all = REMEMBERED as u64;
        (0..all).for_each(|n| changes.note(run(n)));
        (0..100).for_each(|_| changes.note(run(0)));
        assert_eq!(changes.since(0, 1), Some(vec![(2, run(1))]), "nothing was, only one run changed again");
        changes.note(run(all));
        changes.note(run(all + 1));
        assert_eq!((changes.since(0, 1), changes.since(2, 1)), (None, None));
        assert_eq!(changes.since(3, 1), Some(vec![(4, run(3))]));
        assert_eq!(changes.by_run.len(), REMEMBERED);
        assert_eq!(changes.by_number.len(), REMEMBERED);
    }
}
