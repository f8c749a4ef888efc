//! Owns runs: one queue, one worker per run that has a process, timers for those that wait.
//!
//! - `config`: what the caller passes in. `table`: current activity; no state of a run is only here.
//! - `deliver`: replies and cancels. `anywhere`: the same, whichever process has the run. `take_up`: runs that another
//!   owner has left.
//! - `retries`: runs that replace others. `children`: runs that others ask for.
//! - `stats`: figures.

mod anywhere;
mod children;
mod config;
mod delegate;
mod deliver;
mod retries;
mod stats;
mod table;
mod take_up;
mod threads;

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use skillrun_base::sync::{lock, wait_while};
use skillrun_log::{FileLog, LogError, LogErrorKind};
use skillrun_model::RunId;
use skillrun_runs::data_folder::DataFolder;
use skillrun_runs::hidden::Hidden;
use skillrun_runs::record::{RecordError, RunRecord};
use skillrun_runs::request_entries::{self, Entry, RequestEntry, RequestKey};
use skillrun_skill::Layers;

pub use anywhere::Delivery;
pub(crate) use children::LentSlot;
pub use config::{RuntimeConfig, RuntimeSetup};
pub use delegate::DelegatedChild;
pub(crate) use stats::Counters;
pub use stats::{EngineStats, ParseTotals, Share, Slots, Stats};
pub use take_up::{Recovered, TakenUp};

use crate::accept::{self, AcceptError, Checked, NewRun, Options};
use crate::error::RuntimeError;
use crate::limits::SlotLimits;
use crate::requests::{SubmitError, Submitted, WasNew};
use crate::run::{Run, check_variables};
use table::{Passes, RunTable};

/// How long a worker may take to release its run.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(30);

/// The owner of runs in one process. Dropping it leaves them: their hosts continue, and the next owner adopts them.
#[derive(Debug)]
pub struct Runtime {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: RuntimeConfig,
    table: Mutex<RunTable>,
    changed: Condvar,
}

impl Inner {
    fn table(&self) -> MutexGuard<'_, RunTable> {
        lock(&self.table)
    }
}

impl Runtime {
    pub fn new(setup: RuntimeSetup, slots: SlotLimits) -> Self {
        let table = Mutex::new(RunTable::new(slots));
        Self { inner: Arc::new(Inner { config: setup.into(), table, changed: Condvar::new() }) }
    }

    pub fn data(&self) -> &DataFolder {
        &self.inner.config.tools.data
    }

    /// The defaults for requests.
    pub fn defaults(&self) -> &Options {
        &self.inner.config.defaults
    }

    /// Engines that the setting `consent` names.
    pub fn consent_setting(&self) -> &[String] {
        &self.inner.config.consents
    }

    /// The rules that are added to skills.
    pub fn layers(&self) -> &Layers {
        &self.inner.config.layers
    }

    /// The parts of a run's request that are not shown.
    pub fn hidden(&self, record: &RunRecord) -> Result<Hidden, RecordError> {
        let config = &self.inner.config;
        let path = config.tools.data.run(record.run_id).record();
        Hidden::of(record, &path, &config.engines, |name| config.variable(name))
    }

    pub fn log(&self) -> &Arc<FileLog> {
        &self.inner.config.tools.log
    }

    /// Accepts a request, and starts it as soon as there is a slot. When this returns, the run is on disk.
    pub fn submit(&self, new: NewRun) -> Result<RunId, AcceptError> {
        let run = self.make(new)?;
        let id = run.id;
        self.inner.enqueue(run);
        Ok(id)
    }

    /// Accepts a request under a key: the same key creates no second run, whatever happens meanwhile. Requests are
    /// distinguished by their fingerprint; `make` is called only where there is no run yet.
    pub fn submit_once<E: From<SubmitError>>(
        &self,
        key: &RequestKey,
        fingerprint: blake3::Hash,
        make: impl FnOnce() -> Result<NewRun, E>,
    ) -> Result<Submitted, E> {
        let (submitted, made) = self.make_once(key, fingerprint, make)?;
        made.into_iter().for_each(|run| self.inner.enqueue(run));
        Ok(submitted)
    }

    /// The same, and leaves the run to another owner.
    pub fn accept_once<E: From<SubmitError>>(
        &self,
        key: &RequestKey,
        fingerprint: blake3::Hash,
        make: impl FnOnce() -> Result<NewRun, E>,
    ) -> Result<Submitted, E> {
        self.make_once(key, fingerprint, make).map(|(submitted, _)| submitted)
    }

    fn make_once<E: From<SubmitError>>(
        &self,
        key: &RequestKey,
        fingerprint: blake3::Hash,
        make: impl FnOnce() -> Result<NewRun, E>,
    ) -> Result<(Submitted, Option<Run>), E> {
        let mut entry =
            match request_entries::find(self.data(), self.log(), key, fingerprint).map_err(SubmitError::from)? {
                RequestEntry::Before(run) => return Ok((Submitted { run, was_new: WasNew::Before }, None)),
                RequestEntry::Free(entry) => entry,
            };
        self.room().map_err(SubmitError::from)?;
        let new = NewRun { request_id: Some(key.as_str().to_owned()), ..make()? };
        let run = self.make_named(new, &mut entry, fingerprint).map_err(SubmitError::from)?;
        drop(entry);
        Ok((Submitted { run: run.id, was_new: WasNew::New }, Some(run)))
    }

    /// Accepts a request and leaves it to another owner.
    pub fn accept(&self, new: NewRun) -> Result<RunId, AcceptError> {
        self.make(new).map(|run| run.id)
    }

    /// The run that had the same request before and succeeded, if its result may be used again.
    pub fn cached(&self, new: &NewRun) -> Result<Option<RunId>, AcceptError> {
        accept::check(&self.inner.config, new.clone())?.cached(&self.inner.config)
    }

    fn make(&self, new: NewRun) -> Result<Run, AcceptError> {
        self.room()?;
        let checked = accept::check(&self.inner.config, new)?;
        self.make_checked(checked)
    }

    /// Makes a run and names it in the entry of its key.
    fn make_named(&self, new: NewRun, entry: &mut Entry, fingerprint: blake3::Hash) -> Result<Run, AcceptError> {
        let checked = accept::check(&self.inner.config, new)?;
        entry.name(checked.record.run_id, fingerprint)?;
        self.make_checked(checked)
    }

    fn make_checked(&self, checked: Checked) -> Result<Run, AcceptError> {
        let made = accept::make(&self.inner.config, checked)?;
        self.inner.config.tools.counters.accepted();
        Ok(made)
    }

    fn room(&self) -> Result<(), AcceptError> {
        self.inner.table().queue.room().map_err(|full| AcceptError::QueueFull { queued: full.queued })
    }

    /// Why a run is stuck, if it is.
    pub fn trouble(&self, run: RunId) -> Option<String> {
        self.inner.table().problem(run).map(|trouble| trouble.words.clone())
    }

    /// The same for a run that is over: what kept this process from working on it no longer matters.
    pub fn trouble_after_end(&self, run: RunId) -> Option<String> {
        let mut table = self.inner.table();
        if table.problem(run).is_some_and(|trouble| trouble.passes == Passes::WithRun) {
            table.set_problem(run, None);
        }
        table.problem(run).map(|trouble| trouble.words.clone())
    }

    /// Whether this process has the variables that an attempt of a run needs. Nothing is written.
    pub fn check_variables(&self, run: RunId) -> Result<(), RuntimeError> {
        let tools = &self.inner.config.tools;
        check_variables(run, &tools.data.run(run), &tools.variables)
    }

    /// From here on, the variables of this process are those of the run. Where another process owns the run at this
    /// moment, nothing is changed: that process decides which variables it uses.
    pub fn use_own_variables(&self, run: RunId) -> Result<(), RuntimeError> {
        match self.inner.open(run) {
            Ok(run) => run.use_own_variables(&self.inner.config.tools.variables),
            Err(RuntimeError::Log(LogError { kind: LogErrorKind::Held { .. }, .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether this process works on a run, or will without another request.
    pub fn has(&self, run: RunId) -> bool {
        self.inner.table().has(run)
    }

    /// Waits until nothing is left to do for a run here: it is over, waits for the user without a deadline, or was
    /// released.
    pub fn wait_for(&self, run: RunId, timeout: Duration) -> bool {
        self.inner.wait_until(timeout, |table| !table.has(run))
    }

    /// As [`Self::wait_for`], for a run whose Log has its end. Another process may have answered its question, and then
    /// the deadline that was set here no longer matters.
    pub fn wait_after_end(&self, run: RunId, timeout: Duration) -> bool {
        self.inner.table().disarm(run);
        self.wait_for(run, timeout)
    }

    /// Waits until nothing is left to do at all.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        self.inner.wait_until(timeout, RunTable::is_idle)
    }

    /// Releases a run; its host continues. When this returns, no work is done for it here: the caller that asked for
    /// it hands the run over, and [`Self::leave`] does not return it once more.
    pub fn let_go(&self, run: RunId) {
        self.inner.let_go(run);
        self.inner.wait_until(RELEASE_TIMEOUT, |table| table.mailbox(run).is_none());
    }

    /// Releases all runs, waits until no work is done for them here, and returns those that still need work: they are
    /// without an owner now. The list is only known afterwards: a worker may have finished meanwhile.
    pub fn leave(&self) -> Vec<RunId> {
        let runs = {
            let mut table = self.inner.table();
            table.is_leaving = true;
            table.active().collect::<Vec<_>>()
        };
        runs.into_iter().for_each(|run| self.inner.let_go(run));
        self.inner.changed.notify_all();
        self.inner.wait_until(RELEASE_TIMEOUT, |table| table.active().next().is_none());
        self.inner.table().unfinished()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Inner {
    fn wait_until(&self, timeout: Duration, is_so: impl Fn(&RunTable) -> bool) -> bool {
        let deadline = Instant::now().checked_add(timeout);
        wait_while(&self.changed, self.table(), deadline, |table| !is_so(table)).is_some()
    }

    /// Becomes the owner of a run for a moment.
    fn open(&self, run: RunId) -> Result<Run, RuntimeError> {
        Run::open(&self.config.tools, run)
    }
}
