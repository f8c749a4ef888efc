//! Runs that another owner has left: found, and resumed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use skillrun_catalog::{Catalog, Query, Resting};
use skillrun_collect::protocol::HostRequest;
use skillrun_collect::{Attached, CollectError, attach_within, end_host, start};
use skillrun_lifecycle::run::{HostState, ProcessLeft, SessionLeft};
use skillrun_log::{LogError, LogErrorKind};
use skillrun_model::{IgnoredError, RunId, RunStatus, Timestamp};
use skillrun_runs::{login, owner_sockets};

use super::{Inner, Runtime};
use crate::clock::{time_left, until_moment};
use crate::error::RuntimeError;

use crate::run::Run;
use crate::views;
use crate::worker::Alarm;

/// How long an unresponsive host of a run that is over is waited for.
const HOST_REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// This many of the newest runs that are over, and of those that wait, are checked for missing views.
const VIEWS_CHECKED_MAX: usize = 1000;

fn over() -> Vec<RunStatus> {
    vec![RunStatus::Succeeded, RunStatus::Closed, RunStatus::Failed, RunStatus::Canceled]
}

/// The result of taking up a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenUp {
    /// It is worked on, or waits for a slot.
    Working,
    /// For the user; nothing is done until a reply or the deadline.
    Waiting,
    Over,
    /// It is over, and the run that replaces it was created.
    TriedAgain(RunId),
    /// It is over, and the run that replaces it cannot be created yet. That is retried; [`Runtime::trouble`] returns
    /// the reason.
    Stuck,
    /// Another process is its owner.
    OwnedElsewhere,
}

/// What was found at the start.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Recovered {
    pub working: Vec<RunId>,
    pub waiting: usize,
    /// Another process owns them.
    pub owned_elsewhere: Vec<RunId>,
    /// Runs whose retry cannot be created yet, and why. That is retried for as long as this process runs.
    pub stuck: Vec<(RunId, String)>,
    /// Runs that cannot be resumed, and why.
    pub broken: Vec<(RunId, String)>,
}

impl Runtime {
    /// Resumes a run that no process owns.
    pub fn take_up(&self, run: RunId) -> Result<TakenUp, RuntimeError> {
        self.inner.take_up(run)
    }

    /// Resumes every run that is not over and that no process owns. The catalog must be fresh.
    pub fn recover(&self, catalog: &mut Catalog) -> Result<Recovered, RuntimeError> {
        let mut recovered = Recovered::default();
        // Questions without a waiting process need at most a timer, and their Logs need not be read for that.
        let clock = &self.inner.config.tools.clock;
        let (now, running) = (clock.now(), clock.running());
        let unfinished = catalog.unfinished(now)?;
        {
            let mut table = self.inner.table();
            for question in &unfinished.resting {
                let Resting { run_id, interaction_id, deadline, asked_at } = *question;
                if let Some(deadline) = deadline.filter(|_| !table.is_armed(run_id, interaction_id)) {
                    // For the time before this process there is only the wall clock.
                    let whole = asked_at.map_or(Duration::MAX, |asked_at| until_moment(asked_at, deadline));
                    let at = running.saturating_add(time_left(now, deadline, whole));
                    table.arm(at, run_id, Alarm::Question(interaction_id));
                }
            }
        }
        recovered.waiting = unfinished.resting.len();
        for question in unfinished.resting.iter().rev().take(VIEWS_CHECKED_MAX) {
            // An owner died between the two, or an older version wrote no views of a waiting run.
            if views::may_lag(&self.data().run(question.run_id)) {
                self.inner.write_views(question.run_id);
            }
        }
        for run in unfinished.restless.into_iter().chain(unfinished.unretried) {
            match self.inner.take_up(run) {
                Ok(TakenUp::Working) => recovered.working.push(run),
                Ok(TakenUp::Waiting) => recovered.waiting += 1,
                Ok(TakenUp::Over) => {}
                Ok(TakenUp::TriedAgain(made)) => recovered.working.push(made),
                Ok(TakenUp::Stuck) => recovered.stuck.push((run, self.trouble(run).unwrap_or_default())),
                Ok(TakenUp::OwnedElsewhere) => recovered.owned_elsewhere.push(run),
                Err(error) => recovered.broken.push((run, error.to_string())),
            }
        }
        for row in catalog.list(&Query { statuses: over(), limit: Some(VIEWS_CHECKED_MAX), ..Query::default() })? {
            // A disk that was full when they ended may have room by now.
            if !views::are_there(&self.data().run(row.run_id)) {
                self.inner.write_views(row.run_id);
            }
        }
        self.inner.ensure_timer_thread();
        Ok(recovered)
    }

    /// The same, and forgets owners that have died, once all their runs have another owner.
    pub fn recover_from_dead(&self, catalog: &mut Catalog) -> Result<Recovered, RuntimeError> {
        let dead = owner_sockets::crashed(self.data());
        let recovered = self.recover(catalog)?;
        if !recovered.broken.is_empty() {
            // Where a run could not be opened, the next owner tries once more.
            return Ok(recovered);
        }
        // An owner that closes its socket before it releases its runs has not died; the next check finds them free.
        let holders: HashSet<u32> =
            recovered.owned_elsewhere.iter().filter_map(|run| self.log().last_writer(*run)).collect();
        for socket in dead {
            let holds = owner_sockets::pid_of(&socket).is_some_and(|pid| holders.contains(&pid));
            if !holds {
                // A socket that remains is found again next time.
                std::fs::remove_file(socket).ignored();
            }
        }
        Ok(recovered)
    }
}

impl Runtime {
    /// Runs that must not begin yet, and until when; the earliest first.
    pub fn later(&self) -> Vec<(RunId, Timestamp)> {
        self.inner.table().queue.later().collect()
    }

    /// Waits until nothing is left to do except for runs that must not begin yet, and for these.
    pub fn wait_only_later(&self, but: &[RunId], timeout: Duration) -> bool {
        self.inner.wait_until(timeout, |table| table.only_later_is_left(but))
    }
}

impl Inner {
    pub(super) fn take_up(self: &Arc<Self>, id: RunId) -> Result<TakenUp, RuntimeError> {
        match self.open(id) {
            Ok(run) => {
                if run.state.status == Some(RunStatus::Queued) {
                    // Its next step is to start an attempt.
                    run.check_variables()?;
                }
                let made = if run.state.is_over() { self.retry(&run) } else { Ok(None) };
                let taken_up = self.take_up_run(run);
                Ok(match made {
                    Ok(None) => taken_up,
                    Ok(Some(made)) => TakenUp::TriedAgain(made),
                    Err(error) => {
                        self.failed(&mut self.table(), id, &error);
                        self.ensure_timer_thread();
                        TakenUp::Stuck
                    }
                })
            }
            Err(RuntimeError::Log(LogError { kind: LogErrorKind::Held { .. }, .. })) => Ok(TakenUp::OwnedElsewhere),
            Err(error) => Err(error),
        }
    }

    pub(super) fn take_up_run(self: &Arc<Self>, mut run: Run) -> TakenUp {
        if run.state.last_seq == 0 {
            // A run that was accepted has a first event; this one has lost it.
            self.end_left_process(run.id);
            match run.end_without_log() {
                Ok(()) => views::write(&self.config.tools, run.id),
                Err(error) => {
                    self.failed(&mut self.table(), run.id, &error);
                    self.ensure_timer_thread();
                }
            }
            // Reported as one that was worked on: its status has changed.
            return TakenUp::Working;
        }
        if run.state.status.is_none()
            // Nothing was started, so there is no process.
            && let Err(error) = run.recover(HostState::NoClaim, SessionLeft::Lost, || {})
        {
            // The process that wrote its first event got no further, and neither does this one.
            self.failed(&mut self.table(), run.id, &error);
            self.ensure_timer_thread();
            return TakenUp::Working;
        }
        let (state, id) = (&run.state, run.id);
        if state.is_over() {
            // Another process may have ended it while it waited for a slot here.
            self.table().queue.remove(id);
            self.changed.notify_all();
            return TakenUp::Over;
        }
        let is_time_up = state.workflow_deadline().is_some_and(|deadline| deadline <= run.now());
        if state.rests() && !is_time_up {
            self.arm_resting(&run);
            if views::may_lag(&run.folder) {
                views::write_waiting(&self.config.tools, id);
            }
            drop(run);
            self.ensure_timer_thread();
            return TakenUp::Waiting;
        }
        if state.workflow.is_some()
            || (state.status == Some(RunStatus::Queued) && !state.is_unfinished && !state.lacks_end())
        {
            self.enqueue(run);
        } else {
            self.work_at_once(run);
        }
        TakenUp::Working
    }

    /// Arms the earliest moment at which a run that rests continues without the user.
    fn arm_resting(&self, run: &Run) {
        let question = run.state.question.as_ref();
        let question = question.and_then(|question| Some((question.interaction_id, question.deadline?)));
        let question = question.map(|(id, deadline)| (run.time_up_at(deadline), Alarm::Question(id)));
        let conductor = run.state.workflow_deadline().map(|deadline| (run.moment_at(deadline), Alarm::Conductor));
        let first = [question, conductor].into_iter().flatten().min_by_key(|(at, _)| *at);
        let mut table = self.table();
        match first {
            // A question that has its timer keeps it: the wall clock may have been set since.
            Some((_, Alarm::Question(id))) if table.is_armed(run.id, id) => {}
            Some((at, alarm)) => table.arm(at, run.id, alarm),
            None => {}
        }
    }

    /// A run is over, but a process that waited with it may still be running, or a host that was never asked to start
    /// one.
    pub(super) fn end_left_process(&self, id: RunId) {
        let folder = self.config.tools.data.run(id);
        let audit = folder.audit();
        // Nothing was started, and there is no folder.
        let Ok(last) = start::last_number(&audit) else { return };
        match attach_within(&audit, last, HOST_REPLY_TIMEOUT) {
            // The next run finds its login.
            Ok(Attached::Live(mut owner)) => {
                owner.send(&HostRequest::Cancel { ladder: None }).ignored();
                owner.send(&HostRequest::Detach).ignored();
            }
            // The run is over, so there is no Log to report what could not be kept.
            Ok(Attached::Ended(_) | Attached::Lost { .. } | Attached::NotBegun) => {
                login::give_back(&self.config.tools.data, id, ProcessLeft::Gone);
            }
            Err(CollectError::Silent(_)) => drop(end_host(&audit, last)),
            // Its owner ends it.
            Err(_) => {}
        }
    }
}
