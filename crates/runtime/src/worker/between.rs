//! Waits with a process that has ended its turn and needs an answer for the next.

use std::time::Duration;

use skillrun_collect::protocol::Request;
use skillrun_lifecycle::run::{Found, Input, SessionLeft};

use super::{Next, Worker, next};
use crate::attempt::opening;
use crate::error::RuntimeError;

impl Worker<'_> {
    pub(super) fn wait_between(&mut self) -> Result<Next, RuntimeError> {
        let attempt = next(self.run.state.attempt);
        let deadline: Option<Duration> = self.timer.map(|timer| timer.left(self.run.running()));
        if let Some(host) = &mut self.host {
            host.send(&Request::Wait { deadline });
        }
        loop {
            let Some(host) = &mut self.host else { return Ok(self.next()) };
            if host.hear(attempt)?.is_gone {
                self.bury_host();
                return match self.look_at(attempt)? {
                    Found::Alive => self.recover(Found::Alive, SessionLeft::Lost),
                    Found::NoClaim | Found::Ended | Found::Lost => self.process_gone(),
                };
            }
            while let Some(next) = self.heed()? {
                if !matches!(next, Next::Between) {
                    self.begun = Some(attempt);
                    return Ok(next);
                }
            }
            if let Some(due) = self.is_due() {
                let next = self.expire(due)?;
                if !matches!(next, Next::Between) {
                    self.begun = Some(attempt);
                    return Ok(next);
                }
            }
            self.wait(None)?;
        }
    }

    /// The process that should have waited for the answer is gone.
    pub(super) fn process_gone(&mut self) -> Result<Next, RuntimeError> {
        self.give_back_login();
        let session = opening::session_left(&self.run);
        match self.run.happens(Input::ProcessGone { session }) {
            Ok(effects) => self.carry_out(effects),
            Err(RuntimeError::Refused { .. }) => Ok(self.next()),
            Err(error) => Err(error),
        }
    }
}
