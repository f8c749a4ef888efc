//! Threads: one per run with a process, and one that waits for moments.

use std::collections::HashMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use skillrun_base::sync::wait_timeout;
use skillrun_base::wait;
use skillrun_log::{LogError, LogErrorKind};
use skillrun_model::status::Continuation;
use skillrun_model::{AttemptNumber, RunId, RunStatus};
use skillrun_model::{IgnoredError, delegation::ParentLink};
use skillrun_runs::record::RunRecord;

use super::table::{Passes, RunProblem, RunTable, Wanted};
use super::{Inner, TakenUp};
use crate::clock::until_moment;
use crate::delegation::token;
use crate::error::RuntimeError;
use crate::mailbox::Mailbox;
use crate::queue::{Demand, Slot, SlotKind};
use crate::run::Run;
use crate::views;
use crate::worker::machine::Machine;
use crate::worker::{Alarm, Worker, WorkerExit};

/// The pauses before a run that is stuck is retried.
const TRY_AGAIN: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(15),
    Duration::from_secs(60),
];

/// The pause before views that could not be written are retried.
const VIEWS_PAUSE: Duration = Duration::from_secs(5);

/// How often it is checked whether another process releases a run that was to be worked on here.
const HELD_TRIES: u32 = 10;
const HELD_PAUSE: Duration = Duration::from_secs(1);

/// How long another thread of this process may hold a run.
const OWN_THREAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest wait of the timer thread, so that a changed clock and answers from other processes are noticed.
const TIMER_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// The number of questions with a deadline that are checked for an answer from another process.
const ARMED_CHECKED_MAX: usize = 100;

pub(super) fn demand(record: &RunRecord) -> Demand {
    let kind = match (record.workflow(), record.engine.continuation) {
        (Some(_), _) => SlotKind::Conductor,
        (None, Continuation::Sticky) => SlotKind::Sticky,
        (None, Continuation::Resumable | Continuation::None) => SlotKind::Turn,
    };
    let (priority, not_before) = (record.request.priority, record.not_before());
    Demand { engine: record.engine.name.clone(), kind, priority, not_before }
}

impl Inner {
    /// A run waits for a slot, or gets one at once and keeps its owner.
    pub(super) fn enqueue(self: &Arc<Self>, run: Run) {
        let mut demand = demand(&run.record);
        if run.state.attempt != AttemptNumber(0) {
            // It has begun before. A clock that was set back must not delay an answer.
            demand.not_before = None;
        }
        let is_for_later = demand.not_before.is_some();
        self.table().queue.push(run.id, demand);
        self.dispatch(Some(run));
        if is_for_later {
            self.ensure_timer_thread();
            self.changed.notify_all();
        }
    }

    /// Gives free slots to waiting runs. `at_hand` need not be opened again if it is one of them.
    pub(super) fn dispatch(self: &Arc<Self>, mut at_hand: Option<Run>) {
        loop {
            let Some(mailbox) = self.mailbox() else { return };
            // Moved from the queue to active in one step: it must never be seen in neither.
            let now = self.config.tools.clock.now();
            let (id, slot) = {
                let mut table = self.table();
                if table.is_leaving {
                    return;
                }
                let Some((id, slot)) = table.queue.next(now) else { return };
                if !table.begins(id, &mailbox) {
                    table.queue.give_back(slot);
                    continue;
                }
                (id, slot)
            };
            let run = at_hand.take_if(|run| run.id == id);
            self.spawn(id, slot, run, mailbox);
        }
    }

    /// Works on a run whose process is already running, whatever the limits say.
    pub(super) fn work_at_once(self: &Arc<Self>, run: Run) {
        let id = run.id;
        let Some(mailbox) = self.mailbox() else {
            return self.is_in_trouble(&mut self.table(), id, "the limit of open files is reached".to_owned());
        };
        let slot = {
            let mut table = self.table();
            if !table.begins(id, &mailbox) {
                return;
            }
            table.queue.take(demand(&run.record))
        };
        self.spawn(id, slot, Some(run), mailbox);
    }

    /// None when the system has no more descriptors; waiting runs are retried when a worker ends.
    fn mailbox(&self) -> Option<Arc<Mailbox>> {
        Mailbox::new().ok().map(Arc::new)
    }

    /// Works on a run in a thread of its own.
    fn spawn(self: &Arc<Self>, id: RunId, slot: Slot, run: Option<Run>, mailbox: Arc<Mailbox>) {
        let inner = self.clone();
        let name = format!("run {id}");
        let kept = slot.clone();
        let spawned = thread::Builder::new().name(name).spawn(move || inner.worker(id, slot, run, mailbox));
        if let Err(error) = spawned {
            let mut table = self.table();
            table.end(id);
            table.queue.give_back(kept);
            self.is_in_trouble(&mut table, id, error.to_string());
        }
    }

    /// Another thread of this process may hold it for a moment.
    pub(super) fn open_with_retry(&self, id: RunId) -> Result<Run, RuntimeError> {
        let is_held_here = |opened: &Result<Run, RuntimeError>| {
            matches!(opened, Err(RuntimeError::Log(LogError { kind: LogErrorKind::Held { pid }, .. }))
                if *pid == Some(std::process::id()))
        };
        wait::retry(OWN_THREAD_TIMEOUT, Duration::from_millis(1), || self.open(id), is_held_here)
    }

    fn worker(self: Arc<Self>, id: RunId, slot: Slot, run: Option<Run>, mailbox: Arc<Mailbox>) {
        // A fault in a parser must not take down the slot and the callers that wait for this run.
        let mut parent = None;
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let run = run.map_or_else(|| self.open_with_retry(id), Ok)?;
            parent.clone_from(&run.record.parent);
            let socket = self.delegation_socket(&run);
            let board = socket.as_ref().map(|socket| socket.board.clone());
            let machine = Machine::new(&self, mailbox.clone(), run.folder.clone(), board);
            let worked = Worker::new(&machine, run).work();
            let has_socket = socket.is_some();
            drop(socket);
            if has_socket && matches!(worked, Ok(WorkerExit::Over)) {
                token::remove_folder(&self.config.tools.data, id).ignored();
            }
            worked
        }));
        let outcome = worked.unwrap_or_else(|_| {
            let error = std::io::Error::other("an internal error in skillrun stopped the work on this run");
            Err(RuntimeError::file(self.config.tools.data.run(id).root(), "worked on")(error))
        });
        let has_news = mailbox.close();
        let mut unretried = None;
        // A conductor acts on ends alone. Woken by a child that only waits, it would take that child up again, and so on.
        let is_news = |parent: &ParentLink| match outcome {
            Ok(WorkerExit::Over) => true,
            Ok(WorkerExit::Waiting { .. }) => parent.step_id.is_none(),
            Ok(WorkerExit::LetGo) | Err(_) => false,
        };
        if let Some(parent) = parent.filter(is_news) {
            self.notify_parent(&parent, id);
        }
        if matches!(outcome, Ok(WorkerExit::Over)) {
            self.schedule_views(id);
            // What hindered this run does not affect the next.
            self.table().set_problem(id, None);
            // Before a waiting caller finds nothing left to do for the run.
            unretried = self.retry_if_planned(id).err();
        }
        let is_wanted = {
            let mut table = self.table();
            table.give_back(id, slot);
            if has_news && matches!(outcome, Ok(WorkerExit::Waiting { .. })) {
                table.want_again(id);
            }
            let is_wanted = table.end(id);
            match outcome {
                Ok(WorkerExit::Over) => {}
                Ok(WorkerExit::LetGo) => {
                    table.set_problem(id, None);
                    table.was_let_go(id);
                }
                Ok(WorkerExit::Waiting { timer }) => {
                    table.set_problem(id, None);
                    // Another request has advanced it meanwhile.
                    if let Some(timer) = timer.filter(|_| is_wanted == Wanted::No) {
                        table.arm(timer.at, id, timer.alarm);
                    }
                }
                Err(error) => self.failed(&mut table, id, &error),
            }
            if let Some(error) = unretried {
                self.failed(&mut table, id, &error);
            }
            is_wanted
        };
        if is_wanted == Wanted::Again {
            match self.take_up(id) {
                // The thread that advanced it is still about to release it.
                Ok(TakenUp::OwnedElsewhere) => self.is_held(&mut self.table(), id),
                Ok(TakenUp::Working | TakenUp::Waiting | TakenUp::Over | TakenUp::TriedAgain(_) | TakenUp::Stuck) => {}
                Err(error) => self.failed(&mut self.table(), id, &error),
            }
            self.table().handed_over(id);
        }
        self.ensure_timer_thread();
        self.changed.notify_all();
        self.dispatch(None);
    }

    pub(super) fn failed(&self, table: &mut RunTable, id: RunId, error: &RuntimeError) {
        match error {
            // It is removed, or over.
            RuntimeError::Log(LogError { kind: LogErrorKind::Gone, .. }) | RuntimeError::Refused { .. } => {}
            // The variables do not change while this process runs, so that it is not retried: another owner has them.
            RuntimeError::OtherVariables { .. } => {
                let trouble = RunProblem { words: error.to_string(), tries: 0, again: None, passes: Passes::WithRun };
                table.set_problem(id, Some(trouble));
                self.changed.notify_all();
            }
            // Another process has it, perhaps only for a moment.
            RuntimeError::Log(LogError { kind: LogErrorKind::Held { .. }, .. }) => self.is_held(table, id),
            RuntimeError::Log(_)
            | RuntimeError::Catalog(_)
            | RuntimeError::Record(_)
            | RuntimeError::Host(_)
            | RuntimeError::Evidence(_)
            | RuntimeError::Owner(_)
            | RuntimeError::OwnerSilent { .. }
            | RuntimeError::UnusableText { .. }
            | RuntimeError::File { .. } => self.is_in_trouble(table, id, error.to_string()),
        }
    }

    fn is_in_trouble(&self, table: &mut RunTable, id: RunId, words: String) {
        let tries = table.tries(id);
        // A disk may be full for a day; the run is never given up.
        let pause = TRY_AGAIN.get(tries as usize).or(TRY_AGAIN.last()).copied().unwrap_or(TIMER_CHECK_INTERVAL);
        let (again, passes) = (Some(Instant::now() + pause), Passes::WhenDone);
        table.set_problem(id, Some(RunProblem { words, tries: tries + 1, again, passes }));
        self.changed.notify_all();
    }

    /// Checks again whether the owner of a run releases it; a run that is worked on elsewhere is not this process's.
    pub(super) fn is_held(&self, table: &mut RunTable, id: RunId) {
        let tries = table.tries(id);
        if tries >= HELD_TRIES {
            table.set_problem(id, None);
        } else {
            let words = "another process has this run".to_owned();
            let (again, passes) = (Some(Instant::now() + HELD_PAUSE), Passes::WhenDone);
            table.set_problem(id, Some(RunProblem { words, tries: tries + 1, again, passes }));
        }
        self.changed.notify_all();
    }

    /// Where the disk was too full for the views of a run that is over, they are written later.
    pub(super) fn schedule_views(&self, id: RunId) {
        if !views::are_there(&self.config.tools.data.run(id)) {
            self.table().lacks_views(id, Instant::now() + VIEWS_PAUSE);
        }
    }

    /// Writes missing views. The owner of the run does so too; and a run that is removed needs none.
    pub(super) fn write_views(&self, id: RunId) {
        match self.open(id) {
            Ok(run) if run.state.is_over() => {
                views::write(&self.config.tools, id);
                drop(run);
                self.schedule_views(id);
            }
            Ok(run) => {
                if run.state.status == Some(RunStatus::WaitingUser) {
                    views::write_waiting(&self.config.tools, id);
                }
                drop(run);
            }
            Err(RuntimeError::Log(LogError { kind: LogErrorKind::Gone | LogErrorKind::Held { .. }, .. })) => {}
            Err(_) => self.schedule_views(id),
        }
    }

    /// Ensures that the timer thread is running.
    pub(super) fn ensure_timer_thread(self: &Arc<Self>) {
        let mut table = self.table();
        if table.has_moments() && !table.has_timer_thread && !table.is_leaving {
            table.has_timer_thread = true;
            let inner = self.clone();
            let spawned = thread::Builder::new().name("timer".to_owned()).spawn(move || inner.run_timer_thread());
            table.has_timer_thread = spawned.is_ok();
        }
    }

    /// Other processes answer questions too, and then the deadline no longer matters here. Only Logs whose size has
    /// changed are read.
    fn forget_answered(&self, sizes: &mut HashMap<RunId, u64>) {
        let armed = self.table().armed(ARMED_CHECKED_MAX);
        sizes.retain(|run, _| armed.iter().any(|(armed, _)| armed == run));
        for (id, interaction_id) in armed {
            let size = fs::metadata(self.config.tools.data.run(id).events()).map_or(0, |log| log.len());
            if sizes.insert(id, size) == Some(size) {
                continue;
            }
            let is_open = match self.open(id) {
                Ok(run) => run.state.question.as_ref().is_some_and(|open| open.interaction_id == interaction_id),
                Err(RuntimeError::Log(LogError { kind: LogErrorKind::Gone, .. })) => false,
                // The process that has it may leave the question open.
                Err(_) => {
                    sizes.remove(&id);
                    true
                }
            };
            if !is_open {
                self.table().disarm_question(id, interaction_id);
                self.changed.notify_all();
            }
        }
    }

    /// Waits for moments until there is none left.
    fn run_timer_thread(self: Arc<Self>) {
        let (mut looked, mut sizes) = (Instant::now(), HashMap::new());
        loop {
            let (now, running) = (self.config.tools.clock.now(), self.config.tools.clock.running());
            let mut table = self.table();
            if table.is_leaving || !table.has_moments() {
                table.has_timer_thread = false;
                return;
            }
            let due = table.take_due(running);
            let retry = if due.is_none() { table.take_retry(Instant::now()) } else { None };
            let lacking = table.take_late_views(Instant::now());
            let begins = table.queue.is_due(now);
            if due.is_none() && retry.is_none() && lacking.is_none() && !begins {
                let timer = table.next_timer().map_or(TIMER_CHECK_INTERVAL, |at| at.saturating_sub(running));
                let timer =
                    timer.min(table.queue.next_moment().map_or(TIMER_CHECK_INTERVAL, |at| until_moment(now, at)));
                let retry =
                    table.next_try().map_or(TIMER_CHECK_INTERVAL, |at| at.saturating_duration_since(Instant::now()));
                let wait = timer.min(retry).min(TIMER_CHECK_INTERVAL);
                drop(wait_timeout(&self.changed, table, wait));
                if looked.elapsed() >= TIMER_CHECK_INTERVAL {
                    looked = Instant::now();
                    self.forget_answered(&mut sizes);
                }
                continue;
            }
            // A run that is let in waits for a slot, and not for a moment.
            table.queue.let_in(now);
            drop(table);
            if begins {
                self.dispatch(None);
            }
            if let Some((run, alarm)) = due {
                match alarm {
                    Alarm::Question(interaction_id) => self.expire(run, interaction_id),
                    Alarm::Conductor => self.wake_conductor(run),
                }
                self.table().has_expired(run);
                self.changed.notify_all();
            }
            if let Some(run) = lacking {
                self.write_views(run);
            }
            if let Some(run) = retry {
                match self.take_up(run) {
                    Ok(TakenUp::OwnedElsewhere) => self.is_held(&mut self.table(), run),
                    Ok(TakenUp::Working | TakenUp::Stuck) => {}
                    Ok(TakenUp::Waiting | TakenUp::Over | TakenUp::TriedAgain(_)) => {
                        self.table().set_problem(run, None);
                    }
                    Err(error) => self.failed(&mut self.table(), run, &error),
                }
            }
            self.changed.notify_all();
        }
    }
}
