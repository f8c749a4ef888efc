//! Works on one run: starts its attempts, follows their hosts, settles them, and carries out the decisions, until the
//! run is over or waits for the user and no process waits with it.
//!
//! A worker begins the same way whether the run is new, continues after an answer, or was left by an owner that died:
//! it inspects the state on disk, and asks the reducer. `turn` follows a running attempt, `calls` puts the questions
//! inside it, `between` waits with a process between two. `outside` is what a worker needs besides the Log and the
//! clock, and `machine` provides it. `host` is the conversation with the host, `unresponsive_host` handles an
//! unresponsive host, `send` sends messages to the process, `undelivered` handles an answer that never reached it,
//! `children` makes and ends the runs that the turn asks for, `checks` runs commands after it, `conduct` carries out a
//! workflow. `found` warns of what is in the workspace.

mod between;
mod calls;
mod checks;
mod children;
mod conduct;
mod found;
mod host;
pub(crate) mod machine;
pub(crate) mod outside;
mod send;
mod settle;
mod start;
mod turn;
mod undelivered;
mod unresponsive_host;

use std::sync::Arc;
use std::time::Duration;

use skillrun_collect::CollectError;
use skillrun_collect::protocol::HostRequest;
use skillrun_lifecycle::run::{Effect, HostState, Input, ProcessLeft, RunStep, SessionLeft, next_step};
use skillrun_model::status::Continuation;
use skillrun_model::{AttemptNumber, IgnoredError, InteractionId, RunStatus, Timestamp};
use skillrun_runs::judge::Rules;

use host::Host;
use outside::{AttachedHost, AttemptFiles, Checks, Children, HostLink, Hosts, Steps};

use crate::error::RuntimeError;
use crate::mailbox::{Mail, RunCommand};
use crate::run::Run;

/// A host that an owner has left may take a moment to notice.
const HOST_RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a worker left a run.
#[derive(Debug)]
pub(crate) enum WorkerExit {
    Over,
    /// For the user.
    Waiting {
        timer: Option<Timer>,
    },
    /// It was asked to.
    LetGo,
}

/// A moment at which something is done without the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timer {
    /// In running time, so that setting the wall clock does not move it.
    pub(crate) at: Duration,
    pub(crate) alarm: Alarm,
}

/// What is done at the moment of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// The deadline of a question has passed.
    Question(InteractionId),
    /// The conductor of a workflow looks again.
    Conductor,
}

impl Timer {
    /// How long the question still waits.
    fn left(self, running: Duration) -> Duration {
        self.at.saturating_sub(running)
    }
}

pub(crate) struct Worker<'a> {
    hosts: &'a dyn Hosts,
    files: &'a dyn AttemptFiles,
    children: &'a dyn Children,
    steps: &'a dyn Steps,
    checks: &'a dyn Checks,
    run: Run,
    rules: Arc<Rules>,
    host: Option<Host>,
    timer: Option<Timer>,
    /// The attempt that this worker began itself, so that nothing of it can be in the Log.
    begun: Option<AttemptNumber>,
    /// A child may have ended.
    has_child_news: bool,
    /// When the children are looked at without news.
    child_check_at: Duration,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(outside: &'a (impl Hosts + AttemptFiles + Children + Checks + Steps), run: Run) -> Self {
        Self {
            hosts: outside,
            files: outside,
            children: outside,
            steps: outside,
            checks: outside,
            rules: outside.rules(&run),
            run,
            host: None,
            timer: None,
            begun: None,
            has_child_news: true,
            child_check_at: Duration::ZERO,
        }
    }

    /// Works until there is nothing to do for now.
    pub(crate) fn work(mut self) -> Result<WorkerExit, RuntimeError> {
        let _run_span = tracing::info_span!("run", id = %self.run.id).entered();
        if self.run.record.workflow().is_some() {
            // It has no process.
            let next = self.recover(HostState::Ended, SessionLeft::Lost)?;
            return if matches!(next, RunStep::Over) { self.conduct_over() } else { self.conduct() };
        }
        let found = self.inspect_host()?;
        tracing::debug!(status = ?self.run.state.status, attempt = %self.run.state.attempt, host = ?found, "took up the run");
        let session = match found {
            // Not needed while there is a process.
            HostState::Alive => SessionLeft::Lost,
            HostState::NoClaim | HostState::Ended | HostState::Lost => self.files.session_left(&self.run),
        };
        let mut next = self.recover(found, session)?;
        loop {
            tracing::debug!(step = ?next, "next step of the worker");
            next = match next {
                RunStep::Start(attempt) => self.start(attempt)?,
                RunStep::Follow => self.follow()?,
                RunStep::Settle => self.settle_what_is_left()?,
                RunStep::Between => {
                    self.write_waiting_views();
                    self.wait_between()?
                }
                RunStep::Conduct => return self.conduct(),
                RunStep::EndChildren => self.end_children()?,
                RunStep::Check(number) => self.check(number)?,
                RunStep::End => {
                    let found = if self.host.is_some() { HostState::Alive } else { HostState::Ended };
                    self.recover(found, SessionLeft::Lost)?
                }
                RunStep::AwaitExit => self.await_exit()?,
                RunStep::Wait => {
                    self.write_waiting_views();
                    return Ok(WorkerExit::Waiting { timer: self.timer });
                }
                RunStep::Over => {
                    self.give_up_login();
                    self.run.finish_views();
                    self.files.write_views(self.run.id);
                    return Ok(WorkerExit::Over);
                }
                RunStep::LetGo => return Ok(WorkerExit::LetGo),
            };
        }
    }

    /// The run begins to wait, perhaps for days: until then its views are up to date.
    fn write_waiting_views(&mut self) {
        if !self.run.finish_views() {
            self.files.write_waiting_views(self.run.id);
        }
    }

    fn host_at(&self, link: Box<dyn HostLink>) -> Host {
        Host::new(link, self.run.clock().clone())
    }

    /// Finds out what is left of the last attempt.
    fn inspect_host(&mut self) -> Result<HostState, RuntimeError> {
        let state = &self.run.state;
        let (last, is_open) = (state.attempt, state.attempt_is_open);
        let waits_between = !is_open
            && !state.is_over()
            && last != AttemptNumber::BEFORE_FIRST
            && self.run.record.engine.continuation == Continuation::Sticky
            && state.status != Some(RunStatus::Queued);
        if is_open {
            self.find_host(last)
        } else if waits_between {
            // Its files were switched when its turn ended.
            self.find_host(next(last))
        } else {
            Ok(HostState::Ended)
        }
    }

    fn find_host(&mut self, attempt: AttemptNumber) -> Result<HostState, RuntimeError> {
        let until = self.run.clock().awake() + HOST_RELEASE_TIMEOUT;
        loop {
            match self.hosts.attach(attempt) {
                Ok(AttachedHost::Live(link)) => {
                    self.host = Some(self.host_at(link));
                    return Ok(HostState::Alive);
                }
                Ok(AttachedHost::Ended { process_continues }) => {
                    if process_continues {
                        // The earlier owner had requested the next attempt.
                        if let Ok(AttachedHost::Live(link)) = self.hosts.attach(next(attempt)) {
                            self.host = Some(self.host_at(link));
                        }
                    }
                    return Ok(HostState::Ended);
                }
                Ok(AttachedHost::Lost) => return Ok(HostState::Lost),
                Ok(AttachedHost::NotBegun) => return Ok(HostState::NoClaim),
                Err(CollectError::Owned) if self.run.clock().awake() < until => {
                    self.run.clock().sleep(Duration::from_millis(20));
                }
                Err(CollectError::Silent(_)) if self.is_overdue() => self.hosts.terminate(attempt)?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Applies an input to a run whose process may wait between two turns.
    fn apply_idle(&mut self, input: Input<'_>) -> Result<Vec<Effect>, RuntimeError> {
        let host = self.host.as_mut();
        self.run.apply_idle(input, || host.into_iter().for_each(Host::end_now))
    }

    /// Resumes the run of an earlier owner.
    fn recover(&mut self, found: HostState, session: SessionLeft) -> Result<RunStep, RuntimeError> {
        let host = self.host.as_mut();
        let effects = self.run.recover(found, session, || host.into_iter().for_each(Host::end_now))?;
        planted!(ForgetsTimers => {
            let others = effects.into_iter().filter(|effect| !matches!(effect, Effect::ArmTimer { .. }));
            return self.carry_out(others.collect());
        });
        planted!(DoesNotAnswerAgain => {
            let others = effects.into_iter().filter(|effect| !matches!(effect, Effect::WriteInput(_)));
            return self.carry_out(others.collect());
        });
        planted!(ForgetsChildren => {
            let others = effects.into_iter().filter(|effect| !matches!(effect, Effect::MakeChild { .. }));
            return self.carry_out(others.collect());
        });
        planted!(DoesNotInterruptAgain => {
            let others = effects.into_iter().filter(|effect| *effect != Effect::InterruptTurn);
            return self.carry_out(others.collect());
        });
        self.carry_out(effects)
    }

    /// Carries out effects; the remaining work follows from the state.
    fn carry_out(&mut self, effects: Vec<Effect>) -> Result<RunStep, RuntimeError> {
        let mut start = None;
        for effect in effects {
            match effect {
                Effect::Start { attempt } => start = Some(RunStep::Start(attempt)),
                Effect::WriteInput(reply) => self.send_answer(&reply)?,
                Effect::EndProcess => self.end_process(),
                Effect::InterruptTurn => self.interrupt_turn(),
                Effect::ArmTimer { interaction_id, at } => self.arm(interaction_id, at),
                Effect::DisarmTimer { .. } => self.timer = None,
                Effect::MakeChild { child } => self.make_child(child)?,
            }
        }
        Ok(start.unwrap_or_else(|| self.next()))
    }

    /// What follows from the state.
    fn next(&self) -> RunStep {
        next_step(&self.run.state, self.host.as_ref().map(|host| host.link.attempt()))
    }

    /// Waits until the host or the mailbox has a message, or until the given moment.
    fn wait(&self, until: Option<Duration>) {
        let Some(host) = &self.host else { return };
        let timer = self.timer.map(|timer| timer.left(self.run.running()));
        let nearest = [until, host.due()].into_iter().flatten().min();
        let nearest = nearest.map(|at| at.saturating_sub(self.run.clock().awake()));
        host.link.wait([timer, nearest].into_iter().flatten().min());
    }

    /// The timer, if it is due.
    fn is_due(&self) -> Option<InteractionId> {
        match self.timer.filter(|timer| timer.at <= self.run.running())?.alarm {
            Alarm::Question(interaction_id) => Some(interaction_id),
            Alarm::Conductor => None,
        }
    }

    /// A question that has its timer keeps it: the wall clock may have been set since.
    fn arm(&mut self, interaction_id: InteractionId, deadline: Timestamp) {
        let alarm = Alarm::Question(interaction_id);
        if self.timer.is_none_or(|timer| timer.alarm != alarm) {
            self.timer = Some(Timer { at: self.run.time_up_at(deadline), alarm });
        }
    }

    /// The deadline has passed without an answer. An answer may have come just now; then this does nothing.
    fn expire(&mut self, interaction_id: InteractionId) -> Result<RunStep, RuntimeError> {
        tracing::info!(interaction = interaction_id.0, "the time of the question is up");
        self.timer = None;
        match self.apply_idle(Input::Expired { interaction_id }) {
            Ok(effects) => self.carry_out(effects),
            Err(RuntimeError::Refused { .. }) => Ok(self.next()),
            Err(error) => Err(error),
        }
    }

    /// Carries out a message from the mailbox; none when there was no message.
    fn handle_mail(&mut self) -> Result<Option<RunStep>, RuntimeError> {
        let Some(Mail { command, answer }) = self.hosts.take_mail() else { return Ok(None) };
        if matches!(command, RunCommand::ChildNews) {
            self.has_child_news = true;
            self.children.look_again();
            answer.send(Ok(())).ignored();
            return Ok(Some(self.next()));
        }
        let Some(input) = command.input() else {
            if let Some(host) = &mut self.host {
                host.send(&HostRequest::Detach);
            }
            answer.send(Ok(())).ignored();
            return Ok(Some(RunStep::LetGo));
        };
        planted!(GivesBeforeWriting => {
            if let (Input::Reply { interaction_id, text, .. }, Some(host)) = (&input, &mut self.host) {
                host.send_line(interaction_id.0.to_string(), text.clone());
            }
        });
        planted!(InterruptsBeforeWriting => {
            if let (Input::Interrupt { .. }, Some(host)) = (&input, &mut self.host) {
                host.interrupt_now(self.run.state.attempt);
            }
        });
        planted!(MakesBeforeWriting => {
            if let Input::ChildRequested(asked) = &input {
                self.children.make(&self.run, &children::child_of(asked)).ok();
            }
        });
        planted!(SaysYesBeforeWriting => { answer.send(Ok(())).ignored(); });
        // The caller may have left.
        match self.apply_idle(input) {
            Ok(effects) => {
                // A request of the process that follows the answer must find what this one has changed.
                self.post_children();
                answer.send(Ok(())).ignored();
                self.carry_out(effects).map(Some)
            }
            Err(error) => {
                answer.send(Err(error)).ignored();
                Ok(Some(self.next()))
            }
        }
    }

    /// The host has closed its connection; its process is reaped.
    fn reap_host(&mut self) {
        if let Some(host) = self.host.take() {
            host.link.reap();
        }
    }

    /// The process is gone: its login is given back, and the Log records what could not be kept.
    fn give_back_login(&mut self) {
        for warning in self.files.give_back_login(self.run.id, ProcessLeft::Gone) {
            // On a full disk it is left out.
            self.run.note(warning).ignored();
        }
    }

    /// The run is over. If its process died while no owner was there, its login is still out.
    fn give_up_login(&self) {
        if self.hosts.are_gone() {
            self.files.give_back_login(self.run.id, ProcessLeft::Gone);
        }
    }

    /// No turn follows: waits for the process, which was asked to end.
    fn await_exit(&mut self) -> Result<RunStep, RuntimeError> {
        loop {
            let Some(host) = &mut self.host else { return Ok(self.next()) };
            host.expect_exit();
            let attempt = host.link.attempt();
            if host.poll_events(attempt)?.is_gone {
                self.reap_host();
                if self.is_still_there() {
                    continue;
                }
                // The Log has its last event. What was not kept was reported when the turn was settled; a login
                // refreshed during the exit is in the folder of logins that were not kept.
                self.files.give_back_login(self.run.id, ProcessLeft::Gone);
                return Ok(self.next());
            }
            if let Some(next @ RunStep::LetGo) = self.handle_mail()? {
                return Ok(next);
            }
            self.check_host_responsive();
            self.wait(None);
        }
    }
}

fn next(attempt: AttemptNumber) -> AttemptNumber {
    AttemptNumber(attempt.0 + 1)
}
