//! Finds the rows that are behind their Logs again and again, for a process that does so every second. A scan of all
//! folders would cost two system calls per run each time; here an ended run costs almost nothing.
//!
//! What can change without this process noticing, and how it is found:
//!
//! - A run is added or removed: the folder of all runs has another modification time, and its names are read again. A
//!   removal that leaves the folder of the run is noted in `removed.jsonl`, and then all runs are inspected.
//! - A run goes on: runs that neither ended nor wait are inspected at each look; of those that wait for an answer, a
//!   thousand at each look.
//! - The Log of an ended run is changed by hand: a hundred ended runs are inspected at each look, all of them in turn.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::path::Path;
use std::time::{Duration, Instant};

use skillrun_model::{RunId, RunStatus};

use super::folders::{FolderStamp, Runs, Seen};
use super::some::RowState;
use super::trouble::CatalogError;

/// Number of runs that wait for an answer that are inspected at each look.
const WAITING_AT_ONCE: usize = 1_000;

/// Number of ended runs that are inspected at each look.
const ENDED_AT_ONCE: usize = 100;

/// Two changes within this time may leave the same modification time, so a folder counts as read completely only if it
/// was read this long after the time was first seen. Some network file systems count in steps of two seconds.
const STAMP_STEP: Duration = Duration::from_secs(2);

/// The names are read at least this often, for file systems that do not keep modification times of folders.
const NAMES_INTERVAL: Duration = Duration::from_secs(60);

/// What is known of all runs, and which of them are inspected next.
#[derive(Debug)]
pub struct RunsWatch {
    known: BTreeMap<RunId, RowState>,
    /// Inspected at each look: runs that go on, damaged ones, folders without a Log, and rows that are behind.
    active: BTreeSet<RunId>,
    waiting: Rotation,
    ended: Rotation,
    names: Stamped<Option<FolderStamp>>,
    removals: Stamped<i64>,
}

/// The outcome of a look.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WatchedRuns {
    /// Runs whose rows are behind their Logs, in the order of their ids.
    pub behind: Vec<RunId>,
    /// How many folders of runs were inspected.
    pub inspected: usize,
    /// Whether the names of all folders were read.
    pub has_read_names: bool,
}

impl RunsWatch {
    /// `states` are those of all rows, after a refresh.
    pub fn new(states: HashMap<RunId, RowState>) -> Self {
        let mut watch = Self {
            known: BTreeMap::new(),
            active: BTreeSet::new(),
            waiting: Rotation::default(),
            ended: Rotation::default(),
            names: Stamped::new(Some(NAMES_INTERVAL)),
            removals: Stamped::new(None),
        };
        for (run, state) in states {
            watch.set(run, Some(state));
        }
        watch
    }

    /// Records the state of a run after a refresh; returns whether it differs from the previous one.
    pub fn set(&mut self, run: RunId, state: Option<RowState>) -> bool {
        if self.known.get(&run) == state.as_ref() && !self.active.contains(&run) {
            return false;
        }
        self.waiting.runs.remove(&run);
        self.ended.runs.remove(&run);
        let Some(state) = state else {
            // Stays active until its folder is gone: its Log may be created later.
            return self.known.remove(&run).is_some();
        };
        let rotation = match state.status {
            _ if state.damage.is_some() => None,
            Some(status) if status.is_terminal() => Some(&mut self.ended),
            Some(RunStatus::WaitingUser) => Some(&mut self.waiting),
            Some(_) | None => None,
        };
        match rotation {
            Some(rotation) => {
                rotation.runs.insert(run);
                self.active.remove(&run);
            }
            None => drop(self.active.insert(run)),
        }
        let before = self.known.insert(run, state);
        before.as_ref() != self.known.get(&run)
    }

    /// Looks for rows that are behind. A run stays among them until its new state is set.
    pub fn look(&mut self, runs: &Path, now: Instant) -> Result<WatchedRuns, CatalogError> {
        let folder = Runs::open(runs)?;
        let mut candidates = self.active.clone();
        candidates.extend(self.waiting.take(WAITING_AT_ONCE));
        candidates.extend(self.ended.take(ENDED_AT_ONCE));
        let has_read_names = self.names.is_due(folder.stamp(), now);
        if has_read_names {
            let names = folder.names()?;
            let gone = self.known.keys().filter(|run| !names.contains(run));
            candidates.extend(gone);
            self.active.retain(|run| names.contains(run) || self.known.contains_key(run));
            let new = names.into_iter().filter(|run| !self.known.contains_key(run));
            new.for_each(|run| {
                self.active.insert(run);
                candidates.insert(run);
            });
            self.names.read_at = Some(now);
        }
        if self.removals.is_due(folder.removals(), now) {
            candidates.extend(self.known.keys());
            self.removals.read_at = Some(now);
        }
        let inspected = candidates.len();
        let is_behind = |run: &RunId| match (folder.inspect(*run), self.known.get(run)) {
            (Seen::Nothing, None) => false,
            (Seen::Log(mark), Some(state)) => state.mark != mark || state.damage.is_some(),
            (Seen::Nothing | Seen::Log(_) | Seen::Unreadable(_), _) => true,
        };
        let behind: Vec<RunId> = candidates.into_iter().filter(is_behind).collect();
        self.active.extend(&behind);
        Ok(WatchedRuns { behind, inspected, has_read_names })
    }
}

/// Runs of which a few are inspected at each look, all of them in turn.
#[derive(Debug, Default)]
struct Rotation {
    runs: BTreeSet<RunId>,
    /// The last run of the previous look.
    last: Option<RunId>,
}

impl Rotation {
    fn take(&mut self, most: usize) -> Vec<RunId> {
        let first = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let taken: Vec<RunId> = self.runs.range((first, Bound::Unbounded)).take(most).copied().collect();
        // The next look starts again from the beginning.
        self.last = taken.last().copied().filter(|_| taken.len() == most);
        taken
    }
}

/// Something that is read again when its stamp has changed.
#[derive(Debug)]
struct Stamped<T> {
    /// The stamp, and when it was first seen.
    stamp: Option<(T, Instant)>,
    /// When everything was read.
    read_at: Option<Instant>,
    /// It is read at least this often.
    interval: Option<Duration>,
}

impl<T: PartialEq> Stamped<T> {
    fn new(interval: Option<Duration>) -> Self {
        Self { stamp: None, read_at: None, interval }
    }

    fn is_due(&mut self, stamp: T, now: Instant) -> bool {
        match (&self.stamp, self.read_at) {
            (Some((seen, since)), Some(read_at)) if *seen == stamp => {
                read_at < *since + STAMP_STEP || self.interval.is_some_and(|interval| now >= read_at + interval)
            }
            (Some((seen, _)), None) if *seen == stamp => true,
            (Some(_) | None, _) => {
                self.stamp = Some((stamp, now));
                true
            }
        }
    }
}
