//! Waits with a process that has ended its turn and needs an answer for the next.

use std::time::Duration;

use skillrun_collect::protocol::HostRequest;
use skillrun_lifecycle::run::{HostState, Input, RunStep, SessionLeft};

use skillrun_runs::record::seconds;

use super::{Worker, next};
use crate::error::RuntimeError;

impl Worker<'_> {
    pub(super) fn wait_between(&mut self) -> Result<RunStep, RuntimeError> {
        let attempt = next(self.run.state.attempt);
        let idle = seconds(self.run.record.request.idle_sec);
        let idle_until = self.run.state.is_at_rest().then(|| self.run.clock().awake().saturating_add(idle));
        let deadline: Option<Duration> = self.timer.map(|timer| timer.left(self.run.running()));
        if let Some(host) = &mut self.host {
            host.send(&HostRequest::Wait { deadline });
        }
        loop {
            let Some(host) = &mut self.host else { return Ok(self.next()) };
            if host.poll_events(attempt)?.is_gone {
                self.reap_host();
                return match self.find_host(attempt)? {
                    HostState::Alive => self.recover(HostState::Alive, SessionLeft::Lost),
                    HostState::NoClaim | HostState::Ended | HostState::Lost => self.process_gone(),
                };
            }
            while let Some(next) = self.handle_mail()? {
                if !matches!(next, RunStep::Between) {
                    self.begun = Some(attempt);
                    return Ok(next);
                }
            }
            if let Some(due) = self.is_due() {
                let next = self.expire(due)?;
                if !matches!(next, RunStep::Between) {
                    self.begun = Some(attempt);
                    return Ok(next);
                }
            }
            self.look_after_children()?;
            let child_check = self.next_child_check();
            planted!(WaitsForever => { self.wait(None); continue; });
            if idle_until.is_some_and(|until| self.run.clock().awake() >= until) {
                // The user may come back in days; another process loads the session then.
                if let Some(host) = self.host.as_mut().filter(|host| !host.is_ending()) {
                    tracing::info!("the process has waited long enough for the next prompt, and is ended");
                    host.stop_waiting();
                }
                self.check_host_responsive();
                self.wait(child_check);
            } else {
                self.wait([idle_until, child_check].into_iter().flatten().min());
            }
        }
    }

    /// The process that should have waited for the answer is gone.
    pub(super) fn process_gone(&mut self) -> Result<RunStep, RuntimeError> {
        self.give_back_login();
        let session = self.files.session_left(&self.run);
        match self.run.apply(Input::ProcessGone { session }) {
            Ok(effects) => self.carry_out(effects),
            Err(RuntimeError::Refused { .. }) => Ok(self.next()),
            Err(error) => Err(error),
        }
    }
}
