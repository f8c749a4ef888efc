//! Starts an attempt. The host has claimed the attempt before anything is in the Log, `attempt.started` is on disk
//! before the host is asked to start the process, and a host that is never asked withdraws.

use std::time::Duration;

use skillrun_collect::CollectError;
use skillrun_collect::protocol::HostRequest;
use skillrun_lifecycle::run::{Input, ProcessLeft, RunStep, message_event};
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::data::AttemptStarted;
use skillrun_model::verdict::RunError;
use skillrun_model::{AttemptNumber, IgnoredError};

use super::Worker;
use super::host::Host;
use super::outside::{AttachedHost, HostLink, NoHost};
use crate::attempt::launch;
use crate::error::RuntimeError;

/// Hosts that are started for one attempt, where others are in the way or die before their greeting.
const TRIES: u32 = 5;

/// A host that is in the way has its claim after this, or is gone.
const PAUSE: Duration = Duration::from_millis(20);

impl Worker<'_> {
    pub(super) fn start(&mut self, attempt: AttemptNumber) -> Result<RunStep, RuntimeError> {
        // An owner died between its first event and its second: the host was asked to start, or is asked now.
        let is_restarted = self.run.state.attempt_is_open && self.run.state.attempt == attempt;
        let host = match self.host(attempt, is_restarted)? {
            Ok(host) => host,
            Err(_) if is_restarted => {
                // No process can have it any more, so the files that its host left show how it ended.
                self.hosts.take_back(attempt).ignored();
                let reading = self.reading(attempt)?;
                return self.settle(reading, ProcessLeft::Gone);
            }
            Err(error) => {
                self.give_back_login();
                let effects = self.run.apply(Input::CannotStart(error))?;
                return self.carry_out(effects);
            }
        };
        let pid = host.link.host_pid();
        tracing::debug!(pid, attempt = attempt.0, "the host process has the attempt");
        self.host = Some(host);
        if is_restarted {
            self.note_missing_message()?;
        } else {
            let message = match self.files.message(&self.run, &self.rules) {
                Ok(message) => message,
                // Its files were changed after its host was started.
                Err(error) => {
                    if let Some(host) = &mut self.host {
                        host.end_now();
                    }
                    let effects = self.run.apply(Input::CannotStart(error))?;
                    return self.carry_out(effects);
                }
            };
            let engine = &self.run.record.engine;
            let started = AttemptStarted {
                profile: engine.profile,
                profile_version: engine.profile.version(),
                engine_version: engine.version.clone(),
                host_pid: Some(pid),
                started_at: self.run.now(),
                confinement: self.run.record.confinement.clone().map(Box::new),
            };
            // If this does not fit on the disk, nothing has begun, and nothing is sent to the host either: a request
            // that it receives while it waits is carried out once it starts. It waits for the request of the next try,
            // or withdraws.
            planted!(StartsBeforeWriting => { self.ask_to_start(); });
            let ready = self.run.apply(Input::HostReady { started, message });
            planted!(EndsHeldHost => { if ready.is_err() && let Some(host) = &mut self.host { host.end_now(); } });
            ready?;
            self.begun = Some(attempt);
        }
        if self.run.state.interrupting.is_some() {
            // The earlier owner had not asked the host to start. It records the interrupt instead, and starts nothing.
            self.interrupt_turn();
        }
        self.ask_to_start();
        Ok(RunStep::Follow)
    }

    /// Writes the message of the open attempt, where an earlier owner died before it was in the Log.
    pub(super) fn note_missing_message(&mut self) -> Result<(), RuntimeError> {
        // A question inside the turn was answered: the turn is under way, and an older version has begun it.
        let is_under_way = self.run.state.reply.as_ref().is_some_and(|reply| reply.scope == Scope::Call);
        if self.run.state.has_user_message || is_under_way {
            return Ok(());
        }
        planted!(ForgetsTheMessage => { return Ok(()); });
        // Without it the process has certainly received nothing; what is missing here is missing for the plan too.
        let Ok(message) = self.files.message(&self.run, &self.rules) else { return Ok(()) };
        self.run.record(message_event(message, self.run.state.reply.as_ref()))
    }

    pub(super) fn ask_to_start(&mut self) {
        if let Some(host) = &mut self.host {
            host.send(&HostRequest::Start);
        }
    }

    /// A host that has claimed the attempt and waits for the request to start.
    fn host(&mut self, attempt: AttemptNumber, is_restarted: bool) -> Result<Result<Host, RunError>, RuntimeError> {
        self.hosts.prepare()?;
        self.run.store().keep_reserve(self.run.id);
        planted!(StartsAgain => {
            return Ok(match self.start_host(attempt)? {
                Ok(link) => Ok(self.host_at(link)),
                Err(NoHost::InTheWay(error) | NoHost::Never(error)) => Err(error),
            });
        });
        let mut tries = 0;
        loop {
            match self.hosts.attach(attempt) {
                Ok(AttachedHost::NotBegun) => {}
                // An earlier owner started it, and died before it could log that.
                Ok(AttachedHost::Live(link)) => return Ok(Ok(self.host_at(link))),
                Ok(AttachedHost::Ended { .. } | AttachedHost::Lost) => {
                    if let Err(error) = self.free(attempt) {
                        return Ok(Err(no_host(&error)));
                    }
                }
                // The Log has nothing of it, so that it was never asked to start, and nothing is lost with it.
                Err(CollectError::Silent(_)) if !is_restarted && tries < TRIES => {
                    tries += 1;
                    self.hosts.terminate(attempt)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            tries += 1;
            match self.start_host(attempt)? {
                Ok(link) => return Ok(Ok(self.host_at(link))),
                // A host of an earlier owner had no claim yet when it was checked, and has it now; or this host was
                // killed.
                Err(NoHost::InTheWay(_)) if tries < TRIES => self.run.clock().sleep(PAUSE),
                Err(NoHost::InTheWay(error) | NoHost::Never(error)) => {
                    // If this host had claimed it, nothing came of that.
                    self.hosts.withdraw(attempt).ignored();
                    return Ok(Err(error));
                }
            }
        }
    }

    /// The Log has nothing of an attempt that a host had, so it never began, and can be claimed again.
    fn free(&self, attempt: AttemptNumber) -> Result<(), CollectError> {
        // A process that ended while it waited had opened it, and another one continues.
        let was_waiting = self.run.state.process_ended;
        if was_waiting {
            return self.hosts.put_aside(attempt);
        }
        self.hosts.withdraw(attempt)
    }

    fn start_host(&mut self, attempt: AttemptNumber) -> Result<Result<Box<dyn HostLink>, NoHost>, RuntimeError> {
        // An owner that found the run by itself may have different variables; the run is left as it is, for an owner
        // that has them.
        self.run.check_variables()?;
        // A login that an earlier attempt has refreshed is given back to the user before it is copied again.
        self.give_back_login();
        self.hosts.start(&self.run, &self.rules, attempt)
    }
}

pub(super) fn no_host(error: &CollectError) -> RunError {
    launch::error(ErrorCategory::Host, Code::HostError, error.to_string())
}
