//! Starts an attempt. The host has the attempt before anything is in the Log, `attempt.started` is on disk before the
//! host is told to start the process, and a host that is never told withdraws.

use skillrun_collect::protocol::Request;
use skillrun_collect::{Attached, CollectError, attach, put_aside, start, withdraw};
use skillrun_lifecycle::run::Input;
use skillrun_model::AttemptNumber;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::rasp::data::AttemptStarted;
use skillrun_model::verdict::RunError;

use super::host::Host;
use super::{Next, Worker};
use crate::attempt::launch;
use crate::error::RuntimeError;

impl Worker<'_> {
    pub(super) fn start(&mut self, attempt: AttemptNumber) -> Result<Next, RuntimeError> {
        // An owner died between its first event and its second: the host was told to start or will be now.
        let is_restarted = self.run.state.attempt_is_open && self.run.state.attempt == attempt;
        let host = match self.host(attempt)? {
            Ok(host) => host,
            Err(_) if is_restarted => return Ok(Next::Settle),
            Err(error) => {
                self.give_back_login();
                let effects = self.run.happens(Input::CannotStart(error))?;
                return self.carry_out(effects);
            }
        };
        let pid = host.owner.host_pid();
        self.host = Some(host);
        if !is_restarted {
            let engine = &self.run.record.engine;
            let started = AttemptStarted {
                profile: engine.profile,
                profile_version: engine.profile.version(),
                engine_version: engine.version.clone(),
                host_pid: Some(pid),
                started_at: self.run.now(),
            };
            match self.run.happens(Input::HostReady(started)) {
                Ok(_) => {}
                Err(error) => {
                    // Nothing has begun.
                    self.end_process();
                    return Err(error);
                }
            }
            self.begun = Some(attempt);
        }
        if let Some(host) = &mut self.host {
            host.send(&Request::Start);
        }
        Ok(Next::Follow)
    }

    /// A host that has the attempt and waits to be told.
    fn host(&mut self, attempt: AttemptNumber) -> Result<Result<Host, RunError>, RuntimeError> {
        let audit = start::prepare_folder(self.run.folder.root())?;
        match attach(&audit, attempt)? {
            Attached::NotBegun => {}
            // An owner before us started it, and died before it could say so.
            Attached::Live(owner) => return Ok(Ok(Host::new(owner, None))),
            // The Log has nothing of it, so it never began.
            Attached::Ended(_) | Attached::Lost { .. } => {
                // A process that ended while it waited had opened it, and another one goes on.
                let was_waiting = self.run.state.process_ended;
                let freed = if was_waiting { put_aside(&audit, attempt) } else { withdraw(&audit, attempt) };
                if let Err(error) = freed {
                    return Ok(Err(no_host(&error)));
                }
            }
        }
        // Whatever an attempt before has refreshed is the user's before it is copied again.
        self.give_back_login();
        let plan = match launch::plan(self.surroundings, &self.run, &self.rules, attempt) {
            Ok(plan) => plan,
            Err(error) => return Ok(Err(error)),
        };
        let child = match start::start((self.surroundings.host_command)(), &plan) {
            Ok(child) => child,
            Err(error) => return Ok(Err(no_host(&error))),
        };
        match attach(&audit, attempt)? {
            Attached::Live(owner) => Ok(Ok(Host::new(owner, Some(child)))),
            Attached::NotBegun | Attached::Ended(_) | Attached::Lost { .. } => {
                Ok(Err(no_host(&CollectError::HostGone)))
            }
        }
    }
}

fn no_host(error: &CollectError) -> RunError {
    launch::error(ErrorCategory::Host, Code::HostError, error.to_string())
}
