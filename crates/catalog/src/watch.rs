//! Finds the rows that are behind their Logs again and again, for a process that does so every second. A scan of all
//! folders would cost two system calls per run each time; here an ended run costs almost nothing.
//!
//! What can change without this process noticing, and how it is found:
//!
//! - A run is added or removed: the folder of all runs has another modification time, and its names are read again. A
//!   removal that leaves the folder of the run is noted in `removed.jsonl`, and then all runs are inspected.
//! - A run goes on: runs that neither ended nor wait are inspected at each look; of those that wait for an answer, a
//!   thousand at each look. Such a run is inspected only if the stamp of its Log differs from that of the last
//!   inspection: beside ten thousand of them, the system calls of the inspections were most of what a server did.
//! - The Log of an ended run is changed by hand: a hundred ended runs are inspected at each look, all of them in turn.
//!
//! A server has far more ended runs than others, so 24 bytes are kept of each, and nothing of their number is allocated
//! at a look but one bit for each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::path::Path;
use std::time::{Duration, Instant};

use skillrun_model::{RunId, RunStatus};

use super::folders::{FolderStamp, LogStamp, Mark, Runs, Seen};
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
    /// Runs that have not ended, and damaged ones.
    known: BTreeMap<RunId, RowState>,
    /// Inspected at each look: runs that go on, damaged ones, folders without a Log, and rows that are behind.
    active: BTreeSet<RunId>,
    waiting: Rotation,
    ended: EndedRuns,
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
    /// How many runs that wait were not inspected, because their Logs are unchanged.
    pub unchanged: usize,
    /// Whether the names of all folders were read.
    pub has_read_names: bool,
}

impl Default for RunsWatch {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            active: BTreeSet::new(),
            waiting: Rotation::default(),
            ended: EndedRuns::default(),
            names: Stamped::new(Some(NAMES_INTERVAL)),
            removals: Stamped::new(None),
        }
    }
}

impl RunsWatch {
    /// Records the state of a run after a refresh; returns whether it differs from the previous one.
    pub fn set(&mut self, run: RunId, state: Option<RowState>) -> bool {
        let ended = state.as_ref().and_then(|state| EndedRun::of(run, state));
        let is_same = match (&state, &ended) {
            (Some(_), Some(ended)) => self.ended.find(run) == Some(ended),
            (Some(state), None) => self.known.get(&run) == Some(state),
            (None, _) => !self.is_known(run),
        };
        if is_same && !self.active.contains(&run) {
            return false;
        }
        self.waiting.runs.remove(&run);
        self.known.remove(&run);
        match (state, ended) {
            (Some(_), Some(ended)) => {
                self.active.remove(&run);
                self.ended.put(ended);
            }
            (Some(state), None) => {
                self.ended.remove(run);
                if state.damage.is_none() && state.status == Some(RunStatus::WaitingUser) {
                    self.waiting.runs.insert(run, None);
                    self.active.remove(&run);
                } else {
                    self.active.insert(run);
                }
                self.known.insert(run, state);
            }
            // Stays active until its folder is gone: its Log may be created later.
            (None, _) => self.ended.remove(run),
        }
        !is_same
    }

    fn is_known(&self, run: RunId) -> bool {
        self.known.contains_key(&run) || self.ended.find(run).is_some()
    }

    /// Looks for rows that are behind. A run stays among them until its new state is set.
    pub fn look(&mut self, runs: &Path, now: Instant) -> Result<WatchedRuns, CatalogError> {
        let folder = Runs::open(runs)?;
        let mut candidates = self.active.clone();
        // Taken before the inspection: what is appended after it has another stamp.
        let waiting = self.waiting.take(WAITING_AT_ONCE).into_iter().map(|run| (run, folder.log_stamp(run)));
        let (unchanged, stamps): (Vec<_>, Vec<_>) =
            waiting.partition(|(run, stamp)| stamp.is_some() && self.waiting.runs.get(run) == Some(stamp));
        candidates.extend(stamps.iter().map(|(run, _)| *run));
        candidates.extend(self.ended.take(ENDED_AT_ONCE));
        let has_read_names = self.names.is_due(folder.stamp(), now);
        if has_read_names {
            self.compare_names(&folder, &mut candidates)?;
            self.names.read_at = Some(now);
        }
        let mut inspected = candidates.len();
        let is_behind = |run: &RunId| match (folder.inspect(*run), self.known.get(run), self.ended.find(*run)) {
            (Seen::Nothing, None, None) => false,
            (Seen::Log(mark), Some(state), _) => state.mark != mark || state.damage.is_some(),
            (Seen::Log(mark), None, Some(ended)) => ended.mark != digest(&mark),
            (Seen::Nothing | Seen::Log(_) | Seen::Unreadable(_), _, _) => true,
        };
        let mut behind: BTreeSet<RunId> = candidates.into_iter().filter(is_behind).collect();
        if self.removals.is_due(folder.removals(), now) {
            let all = self.known.keys().copied().chain(self.ended.runs.iter().map(|ended| ended.run));
            behind.extend(all.inspect(|_| inspected += 1).filter(is_behind));
            self.removals.read_at = Some(now);
        }
        for (run, stamp) in stamps.into_iter().filter(|(run, _)| !behind.contains(run)) {
            self.waiting.runs.insert(run, stamp);
        }
        self.active.extend(&behind);
        Ok(WatchedRuns { behind: behind.into_iter().collect(), inspected, unchanged: unchanged.len(), has_read_names })
    }

    /// Adds the runs whose folder is new or gone to those that are inspected.
    fn compare_names(&mut self, folder: &Runs, candidates: &mut BTreeSet<RunId>) -> Result<(), CatalogError> {
        let mut others = BTreeSet::new();
        let mut has_folder = Bits::new(self.ended.runs.len());
        folder.each_name(|run| match self.ended.place(run) {
            Ok(place) => has_folder.set(place),
            Err(_) => drop(others.insert(run)),
        })?;
        candidates.extend(self.known.keys().filter(|run| !others.contains(run)));
        let gone = self.ended.runs.iter().enumerate().filter(|(place, _)| !has_folder.is_set(*place));
        candidates.extend(gone.map(|(_, ended)| ended.run));
        let (known, ended) = (&self.known, &self.ended);
        self.active.retain(|run| others.contains(run) || known.contains_key(run) || ended.find(*run).is_some());
        others.retain(|run| !self.known.contains_key(run));
        self.active.extend(&others);
        candidates.append(&mut others);
        Ok(())
    }
}

/// What is kept of an ended run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EndedRun {
    run: RunId,
    /// A hash of how far its row goes.
    mark: u32,
    status: RunStatus,
}

impl EndedRun {
    /// None while it has not ended. Damaged runs are inspected at each look.
    fn of(run: RunId, state: &RowState) -> Option<Self> {
        let status = state.status.filter(|status| state.damage.is_none() && status.is_terminal())?;
        Some(Self { run, mark: digest(&state.mark), status })
    }
}

fn digest(mark: &Mark) -> u32 {
    let mut hasher = DefaultHasher::new();
    mark.hash(&mut hasher);
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}

/// Ended runs in the order of their ids, which is mostly the order in which they were created: new runs come at the end,
/// and old ones are removed at the beginning.
#[derive(Debug, Default)]
struct EndedRuns {
    runs: VecDeque<EndedRun>,
    /// The last run of the previous look.
    last: Option<RunId>,
}

impl EndedRuns {
    fn place(&self, run: RunId) -> Result<usize, usize> {
        self.runs.binary_search_by_key(&run, |ended| ended.run)
    }

    fn find(&self, run: RunId) -> Option<&EndedRun> {
        self.place(run).ok().and_then(|place| self.runs.get(place))
    }

    fn put(&mut self, ended: EndedRun) {
        match self.place(ended.run) {
            Ok(place) => self.runs[place] = ended,
            Err(place) => self.runs.insert(place, ended),
        }
    }

    fn remove(&mut self, run: RunId) {
        if let Ok(place) = self.place(run) {
            self.runs.remove(place);
        }
    }

    /// The next to be inspected, all of them in turn.
    fn take(&mut self, most: usize) -> Vec<RunId> {
        let first = self.last.map_or(0, |last| self.place(last).map_or_else(|place| place, |place| place + 1));
        let taken: Vec<RunId> = self.runs.range(first..).take(most).map(|ended| ended.run).collect();
        // The next look starts again from the beginning.
        self.last = taken.last().copied().filter(|_| taken.len() == most);
        taken
    }
}

/// One bit for each of a number of things.
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn set(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn is_set(&self, place: usize) -> bool {
        self.0[place / 64] & (1 << (place % 64)) != 0
    }
}

/// Runs of which a few are inspected at each look, all of them in turn.
#[derive(Debug, Default)]
struct Rotation {
    /// With the stamp of the Log before the last inspection, which found nothing new.
    runs: BTreeMap<RunId, Option<LogStamp>>,
    /// The last run of the previous look.
    last: Option<RunId>,
}

impl Rotation {
    fn take(&mut self, most: usize) -> Vec<RunId> {
        let first = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let taken: Vec<RunId> = self.runs.range((first, Bound::Unbounded)).take(most).map(|(run, _)| *run).collect();
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

#[cfg(test)]
mod tests {
    use skillrun_log::cursor::Epoch;

    use super::*;

    /// A server kept about 200 bytes of each run that it had ever seen.
    #[test]
    fn an_ended_run_costs_24_bytes() {
        let mut watch = RunsWatch::default();
        let run = |number| RunId::new(number, [7; 10]);
        let state = |status, bytes| {
            Some(RowState { mark: Mark { inode: 1, epoch: Epoch::FIRST, bytes }, damage: None, status: Some(status) })
        };
        for number in 0..10_000 {
            assert!(watch.set(run(number), state(RunStatus::Running, 1)));
            assert!(watch.set(run(number), state(RunStatus::Succeeded, 2)));
            assert!(!watch.set(run(number), state(RunStatus::Succeeded, 2)), "nothing new");
        }
        assert_eq!((watch.known.len(), watch.active.len(), watch.waiting.runs.len()), (0, 0, 0));
        assert_eq!((watch.ended.runs.len(), size_of::<EndedRun>()), (10_000, 24));
        assert!(watch.set(run(5), state(RunStatus::Succeeded, 3)), "it was changed by hand");
        assert!(watch.set(run(6), state(RunStatus::WaitingUser, 3)), "it was cut by hand");
        for number in 0..10_000 {
            assert!(watch.set(run(number), None));
        }
        assert_eq!((watch.known.len(), watch.ended.runs.len()), (0, 0));
    }
}
