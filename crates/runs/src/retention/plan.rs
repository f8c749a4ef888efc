//! Decides what is removed. Pure: the runs, the limits and the time are passed in.

use std::collections::BTreeMap;
use std::time::Duration;

use skillrun_model::Timestamp;

use super::{Evidence, Removal, RetentionStatus, RunUse, What, Why};
use crate::retention::{Keep, Retention};

/// What is to be removed, the oldest first. After it is carried out, a second plan for the same moment is empty.
pub fn plan(runs: &[RunUse], retention: &Retention, now: Timestamp) -> Vec<Removal> {
    let mut over: Vec<Run<'_>> = runs.iter().filter_map(Run::of).collect();
    // The oldest first. Of those that ended at the same moment failed ones come last, and then in the order of their
    // ids, so that every process decides the same.
    over.sort_by_cached_key(|run| (run.ended_at, run.is_failed(), run.of.run.to_string()));
    let mut plan = Plan { over, fate: BTreeMap::new() };
    plan.by_age_and_count(RetentionStatus::Succeeded, retention.succeeded, now);
    plan.by_age_and_count(RetentionStatus::Canceled, retention.canceled, now);
    plan.failed(retention, now);
    plan.evidence_by_age(retention, now);
    if let Some(most) = retention.max_bytes {
        let all: u64 = runs.iter().map(|run| run.evidence_bytes.saturating_add(run.other_bytes)).sum();
        plan.by_size(all, most);
        // A run that was kept because of an older run may have lost that reason.
        plan.failed(retention, now);
    }
    plan.removals()
}

#[derive(Clone, Copy)]
struct Run<'a> {
    of: &'a RunUse,
    ended_at: Timestamp,
}

impl<'a> Run<'a> {
    /// None for a run that is not over.
    fn of(run: &'a RunUse) -> Option<Self> {
        match run.standing {
            RetentionStatus::NotOver => None,
            RetentionStatus::Succeeded
            | RetentionStatus::Closed
            | RetentionStatus::Failed
            | RetentionStatus::Canceled => Some(Self { of: run, ended_at: run.ended_at.unwrap_or(run.created_at) }),
        }
    }

    fn is_failed(&self) -> bool {
        self.of.standing == RetentionStatus::Failed
    }

    fn is_older_than(&self, age: Option<Duration>, now: Timestamp) -> bool {
        let lasted = now.millis_since(self.ended_at).unwrap_or(0);
        age.is_some_and(|age| u128::from(lasted) > age.as_millis())
    }
}

struct Plan<'a> {
    over: Vec<Run<'a>>,
    /// By place in `over`.
    fate: BTreeMap<usize, (What, Why)>,
}

impl Plan<'_> {
    fn is_gone(&self, at: usize) -> bool {
        matches!(self.fate.get(&at), Some((What::Run, _)))
    }

    /// Places of runs in this state that are too old or too many, with the reason.
    fn too_old_or_many(&self, standing: RetentionStatus, keep: Keep, now: Timestamp) -> Vec<(usize, Why)> {
        let of_these = self.over.iter().enumerate().filter(|(_, run)| run.of.standing.kept_as() == standing);
        let count = of_these.clone().count();
        let surplus = keep.count.map_or(0, |most| count.saturating_sub(most));
        let judged = of_these.enumerate().map(|(place, (at, run))| match run.is_older_than(keep.age, now) {
            true => (at, Some(Why::Age)),
            false => (at, Some(Why::Count).filter(|_| place < surplus)),
        });
        judged.filter_map(|(at, why)| why.map(|why| (at, why))).collect()
    }

    fn by_age_and_count(&mut self, standing: RetentionStatus, keep: Keep, now: Timestamp) {
        for (at, why) in self.too_old_or_many(standing, keep, now) {
            self.fate.insert(at, (What::Run, why));
        }
    }

    /// Failed runs are the ones that users come back to: none is removed while another run is kept that is not younger,
    /// whatever the settings say.
    fn failed(&mut self, retention: &Retention, now: Timestamp) {
        let kept = |at: usize| !self.over[at].is_failed() && !self.is_gone(at);
        let first_kept = (0..self.over.len()).find(|at| kept(*at)).unwrap_or(self.over.len());
        for (at, why) in self.too_old_or_many(RetentionStatus::Failed, retention.failed, now) {
            if at < first_kept {
                self.fate.insert(at, (What::Run, why));
            }
        }
    }

    /// The same age for all, so that failed runs do not lose their evidence before others.
    fn evidence_by_age(&mut self, retention: &Retention, now: Timestamp) {
        for (at, run) in self.over.iter().enumerate() {
            let has_evidence = run.of.evidence == Evidence::Present;
            if has_evidence && !self.fate.contains_key(&at) && run.is_older_than(retention.evidence_age, now) {
                self.fate.insert(at, (What::Evidence, Why::Age));
            }
        }
    }

    /// Evidence of the oldest runs, as long as that suffices; then the oldest runs themselves.
    fn by_size(&mut self, all: u64, most: u64) {
        let freed: u64 = self.fate.iter().map(|(at, (what, _))| bytes(self.over[*at].of, *what)).sum();
        let mut left = all.saturating_sub(freed);
        for what in [What::Evidence, What::Run] {
            for at in 0..self.over.len() {
                if left <= most {
                    return;
                }
                let run = self.over[at].of;
                let (goes, already) = match (what, self.fate.get(&at)) {
                    (_, Some((What::Run, _))) | (What::Evidence, Some((What::Evidence, _))) => continue,
                    (What::Evidence, None) => (run.evidence == Evidence::Present, 0),
                    (What::Run, None) => (true, 0),
                    (What::Run, Some((What::Evidence, _))) => (true, run.evidence_bytes),
                };
                if goes {
                    left = left.saturating_sub(bytes(run, what) - already);
                    self.fate.insert(at, (what, Why::Size));
                }
            }
        }
    }

    fn removals(self) -> Vec<Removal> {
        let removal = |(at, (what, why)): (usize, (What, Why))| {
            let run = self.over[at].of;
            Removal { run: run.run, what, why, bytes: bytes(run, what) }
        };
        self.fate.into_iter().map(removal).collect()
    }
}

fn bytes(run: &RunUse, what: What) -> u64 {
    match what {
        What::Evidence => run.evidence_bytes,
        What::Run => run.evidence_bytes.saturating_add(run.other_bytes),
    }
}
