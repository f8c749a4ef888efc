//! All Logs of one data folder.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use skillrun_base::sync::lock;
use skillrun_model::rasp::Event;
use skillrun_model::{IgnoredError, RunId, Timestamp};

use super::append::Writer;
use super::folder::{self, Folder, For, failed};
use super::lock::{self, Boot, Lock};
use super::read::View;
use super::recover::{self, OnDamage};
use super::remove;
use super::tail::Watcher;
use crate::bells::{Bells, Subscription, Wake, WakeAll};
use crate::chain::LineHash;
use crate::cursor::{Cursor, Epoch, Head, Seq};
use crate::error::{Damage, LogError, LogErrorKind};
use crate::event_log::{Durability, EventLog, Recovered};
use crate::live_fold::{LiveFold, NewFold};
use crate::page::{Limits, LogRead};

/// Number of runs whose file stays open between two appends.
const BUSY_RUNS: usize = 64;

/// Logs in `runs/<run_id>/`.
///
/// A run that is open for writing costs one descriptor, its lock, until it is released; the runs that were appended to
/// last cost one more, and the memory of their recent events. Everything else costs none: readers open what they read,
/// and runs that wait should be released.
#[derive(Debug)]
pub struct FileLog {
    runs: PathBuf,
    boot: Boot,
    writers: Mutex<HashMap<RunId, Arc<Writer>>>,
    /// Runs whose file is open, the longest unused first.
    busy: Mutex<VecDeque<RunId>>,
    bells: Arc<Bells<Watcher>>,
    /// For Logs that are created from now on.
    new_fold: OnceLock<NewFold>,
}

impl FileLog {
    /// `runs` is the folder of all runs; it is created with the first Log.
    pub fn new(runs: impl Into<PathBuf>) -> Self {
        Self::in_boot(runs.into(), Boot::current())
    }

    pub(super) fn in_boot(runs: PathBuf, boot: Boot) -> Self {
        let bells = Arc::new_cyclic(|bells| Bells::new(Watcher::new(runs.clone(), bells.clone())));
        Self { runs, boot, writers: Mutex::default(), busy: Mutex::default(), bells, new_fold: OnceLock::new() }
    }

    pub fn runs(&self) -> &Path {
        &self.runs
    }

    /// Calls `wake` with the run after everything that this process does to any Log: append, open, release, remove.
    /// Changes by other processes are reported only for runs with a subscription in this process.
    pub fn subscribe_all(&self, wake: WakeAll) -> Subscription {
        self.bells.subscribe_all(wake)
    }

    /// Reads every line of a Log and returns the first that is not the expected one.
    pub fn check(&self, run: RunId) -> Result<Option<Damage>, LogError> {
        let folder = self.folder(run);
        let path = folder.events();
        let checked = std::fs::metadata(&path)
            .map_err(|error| self.missing(run, &path, error))
            .and_then(|found| recover::check(&folder, run, found.len()));
        checked.map_err(|kind| kind.of(run))
    }

    /// Appends events that readers in this process share with the caller; see [`EventLog::append`].
    pub fn append_shared(
        &self,
        run: RunId,
        expected_next: Seq,
        batch: &Arc<[Event]>,
        durability: Durability,
    ) -> Result<Seq, LogError> {
        let Some(writer) = self.writer(run) else {
            let is_there = self.folder(run).events().exists();
            let kind = if is_there { LogErrorKind::NotOpen } else { remove::why_missing(&self.runs, run) };
            return Err(kind.of(run));
        };
        self.keep_busy(run);
        let appended = writer.append(expected_next, batch, durability);
        self.bells.ring(run);
        appended.map_err(|kind| kind.of(run))
    }

    /// The events after the cursor, if they are in the memory of this process: without a system call, so that a task may
    /// call it that must not block.
    pub fn read_recent(&self, run: RunId, cursor: Cursor, limits: Limits) -> Option<LogRead> {
        self.writer(run)?.read(cursor, limits)
    }

    /// The hash that the last line of a Log would have after these events, which are not appended. Only for the writer:
    /// `expected_next` is the seq of the first of them.
    pub fn hash_after(&self, run: RunId, expected_next: Seq, batch: &[Event]) -> Result<LineHash, LogError> {
        let hash = self.writer(run).ok_or(LogErrorKind::NotOpen).and_then(|it| it.hash_after(expected_next, batch));
        hash.map_err(|kind| kind.of(run))
    }

    /// The process that opened a Log for writing last. It may no longer be the writer, or may be dead.
    pub fn last_writer(&self, run: RunId) -> Option<u32> {
        lock::last_holder(&self.folder(run))
    }

    /// Moves everything from the first damage on aside, at the request of a user, and gives the Log a new epoch. The
    /// Log must not be open; it is not open afterwards.
    pub fn cut_at_damage(&self, run: RunId) -> Result<Recovered, LogError> {
        let cut = self.locked(run).and_then(|lock| {
            let repaired = recover::repair(&self.folder(run), run, lock.is_same_boot, OnDamage::Cut)?;
            lock.stamp(&self.boot);
            Ok(repaired.recovered)
        });
        self.bells.ring(run);
        cut.map_err(|kind| kind.of(run))
    }

    #[cfg(test)]
    pub(super) fn watched(&self) -> (usize, usize) {
        self.bells.outside.watched()
    }

    #[cfg(test)]
    pub(super) fn runs_with_files(&self) -> usize {
        lock(&self.writers).values().filter(|writer| writer.has_file()).count()
    }

    fn folder(&self, run: RunId) -> Folder {
        Folder::new(&self.runs, run)
    }

    fn writer(&self, run: RunId) -> Option<Arc<Writer>> {
        lock(&self.writers).get(&run).cloned()
    }

    /// Whether this process is the writer of a Log.
    pub fn has_writer(&self, run: RunId) -> bool {
        lock(&self.writers).contains_key(&run)
    }

    /// From now on, the writer of each new Log in this process continues such a fold. The first call decides which.
    pub fn fold_new_logs(&self, new: NewFold) {
        self.new_fold.get_or_init(|| new);
    }

    /// A copy of the fold of a Log whose writer is in this process, and how far it goes.
    pub fn fold(&self, run: RunId) -> Option<(Box<dyn Any>, Epoch, u64)> {
        let (fold, end) = self.writer(run)?.fold()?;
        Some((fold, end.epoch, end.len))
    }

    /// Hands a fold that was read to the writer in this process, which continues it if nothing was appended meanwhile.
    pub fn continue_fold(&self, run: RunId, fold: Box<dyn LiveFold>, epoch: Epoch, bytes: u64) {
        if let Some(writer) = self.writer(run) {
            writer.continue_fold(fold, epoch, bytes);
        }
    }

    fn missing(&self, run: RunId, path: &Path, error: io::Error) -> LogErrorKind {
        failed(path, error).or_if_not_found(|| remove::why_missing(&self.runs, run))
    }

    /// The lock of an existing Log.
    fn locked(&self, run: RunId) -> Result<Lock, LogErrorKind> {
        if self.writer(run).is_some() {
            return Err(LogErrorKind::Held { pid: Some(std::process::id()) });
        }
        let folder = self.folder(run);
        let path = folder.events();
        let find = || std::fs::metadata(&path).map_err(|error| self.missing(run, &path, error));
        // Checked before the lock, so that no lock file is created without a Log, and after it, since the Log may be
        // gone.
        find()?;
        let lock = Lock::take(&folder, &self.boot)?;
        find()?;
        Ok(lock)
    }

    fn opened(&self, run: RunId, lock_of_run: Lock) -> Result<Recovered, LogErrorKind> {
        let folder = self.folder(run);
        let repaired = recover::repair(&folder, run, lock_of_run.is_same_boot, OnDamage::Report)?;
        lock_of_run.stamp(&self.boot);
        let recovered = repaired.recovered.clone();
        let writer = Arc::new(Writer::new(run, folder, lock_of_run, repaired, self.new_fold.get().copied()));
        lock(&self.writers).insert(run, writer);
        Ok(recovered)
    }

    /// Updates what is watched: the writer of this run may have moved into or out of this process.
    fn update_watch(&self, run: RunId) -> io::Result<()> {
        self.bells.update_watch(run, || self.has_writer(run))
    }

    /// Remembers that a run is busy, and closes the file of the one that was idle for longest.
    fn keep_busy(&self, run: RunId) {
        let mut busy = lock(&self.busy);
        if busy.back() == Some(&run) {
            return;
        }
        busy.retain(|other| *other != run);
        busy.push_back(run);
        if busy.len() > BUSY_RUNS
            && let Some(idle) = busy.pop_front()
            && self.writer(idle).is_some_and(|writer| !writer.close_file())
        {
            busy.push_back(idle);
        }
    }

    /// The result of `ask` on the current Log.
    fn view<T>(&self, run: RunId, ask: impl Fn(&View) -> Result<T, LogErrorKind>) -> Result<T, LogError> {
        let answer = || loop {
            let published = self.writer(run).map(|writer| writer.published());
            let view = View::open(run, self.folder(run), published)?;
            let answer = ask(&view);
            // Truncated by another process while it was read: the result may be half old and half new.
            if view.still_holds()? {
                return answer;
            }
        };
        answer().map_err(|kind| kind.or_if_not_found(|| remove::why_missing(&self.runs, run)).of(run))
    }
}

impl EventLog for FileLog {
    fn create(&self, run: RunId) -> Result<Head, LogError> {
        let created = (|| {
            let folder = self.folder(run);
            let path = folder.events();
            match remove::is_removed(&self.runs, run) {
                Ok(true) => return Err(LogErrorKind::Gone),
                Ok(false) => {}
                Err(error) => return Err(failed(&self.runs, error)),
            }
            if path.exists() {
                return Err(LogErrorKind::Exists);
            }
            folder.make()?;
            let lock = Lock::take(&folder, &self.boot)?;
            folder::open(&path, For::Making).map_err(|error| failed(&path, error))?;
            self.opened(run, lock).map(|recovered| recovered.head)
        })();
        created.map_err(|kind| kind.of(run))
    }

    fn open(&self, run: RunId) -> Result<Recovered, LogError> {
        let opened = self.locked(run).and_then(|lock| self.opened(run, lock));
        if opened.is_ok() {
            // With a writer here there is nothing to watch outside any more, so this cannot fail.
            self.update_watch(run).ignored();
            self.bells.ring(run);
        }
        opened.map_err(|kind| kind.of(run))
    }

    fn release(&self, run: RunId) {
        let Some(writer) = lock(&self.writers).remove(&run) else { return };
        lock(&self.busy).retain(|other| *other != run);
        // Watched before the lock is released: the next writer is noticed. If that fails, readers check when their
        // timeout expires.
        self.update_watch(run).ignored();
        writer.release();
        self.bells.ring(run);
    }

    fn append(&self, run: RunId, expected_next: Seq, batch: &[Event], durability: Durability) -> Result<Seq, LogError> {
        self.append_shared(run, expected_next, &batch.into(), durability)
    }

    fn head(&self, run: RunId) -> Result<Head, LogError> {
        if let Some(end) = self.writer(run).map(|writer| writer.published()) {
            return Ok(Head { epoch: end.epoch, next_seq: end.next });
        }
        self.view(run, View::head)
    }

    fn read(&self, run: RunId, cursor: Cursor, limits: Limits) -> Result<LogRead, LogError> {
        if let Some(read) = self.read_recent(run, cursor, limits) {
            return Ok(read);
        }
        self.view(run, |view| view.read(cursor, limits))
    }

    fn first_at(&self, run: RunId, moment: Timestamp) -> Result<Option<Seq>, LogError> {
        self.view(run, |view| view.first_at(moment))
    }

    fn subscribe(&self, run: RunId, wake: Wake) -> Result<Subscription, LogError> {
        let path = self.folder(run).events();
        let found = std::fs::metadata(&path).map_err(|error| self.missing(run, &path, error));
        found.map_err(|kind| kind.of(run))?;
        let subscription = self.bells.subscribe(run, wake);
        self.update_watch(run).map_err(|error| failed(&path, error).of(run))?;
        Ok(subscription)
    }

    fn remove(&self, run: RunId, at: Timestamp) -> Result<(), LogError> {
        self.release(run);
        let removed = self.locked(run).and_then(|_lock| remove::remove(&self.runs, &self.folder(run), run, at));
        self.bells.ring(run);
        removed.map_err(|kind| kind.of(run))
    }
}
