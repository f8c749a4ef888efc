//! The checks of a run: each is run under a host of its own, and its end is recorded.
//!
//! The folder of a check says how far it is, so an owner that takes the run up continues where the last one was: it
//! attaches to a host that is alive, uses the record of one that has ended, and runs the check again, as another
//! recording beside the incomplete one, if its host was lost.

use std::time::Duration;

use skillrun_collect::CollectError;
use skillrun_collect::owner::HostMessage;
use skillrun_collect::protocol::HostRequest;
use skillrun_lifecycle::run::{Input, RunStep};
use skillrun_model::checks::{CheckEnded, CheckStatus};
use skillrun_model::{AttemptNumber, IgnoredError};
use skillrun_runs::checks;
use skillrun_runs::record::{RunCheck, seconds};

use super::host::SLACK;
use super::outside::{CheckFound, HostLink, NoHost};
use super::{HOST_RELEASE_TIMEOUT, Worker};
use crate::error::RuntimeError;

/// Recordings of one check. A check whose host is lost again and again is not run for ever.
const RECORDINGS: u32 = 3;

/// Hosts that are started for one recording, where others are in the way.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// How long a host may take to end a canceled check, before it is terminated itself.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(30);

impl Worker<'_> {
    /// Runs the announced check, or ends it where the run is canceled.
    pub(super) fn check(&mut self, number: u32) -> Result<RunStep, RuntimeError> {
        if self.host.is_some() {
            // The process of the turn could still change the workspace.
            return self.await_exit();
        }
        self.post_children();
        let Some(check) = self.run.record.check(number).cloned() else {
            // The Log was written for another record.
            return Err(RuntimeError::file(self.run.folder.record(), "used")(std::io::ErrorKind::InvalidData.into()));
        };
        let is_canceled = self.run.state.canceling.is_some();
        let canceled = || checks::without_recording(&check, number, CheckStatus::Canceled, None);
        match self.find_check(number)? {
            CheckFound::Live(link) => self.follow_check(number, &check, link),
            CheckFound::NotBegun if is_canceled => self.end_check(canceled()),
            CheckFound::NotBegun => self.begin_check(number, &check, AttemptNumber(1)),
            CheckFound::Ended(record) => {
                let ended = self.checks.ended(&self.run, (number, &check), &record)?;
                self.end_check(ended)
            }
            CheckFound::Lost(recording) if is_canceled => {
                self.end_check(CheckEnded { recording: recording.0, ..canceled() })
            }
            CheckFound::Lost(recording) if recording.0 >= RECORDINGS => {
                let lost = self.checks.lost(&self.run, (number, &check), recording);
                self.end_check(lost)
            }
            CheckFound::Lost(recording) => self.begin_check(number, &check, AttemptNumber(recording.0 + 1)),
        }
    }

    fn find_check(&self, number: u32) -> Result<CheckFound, RuntimeError> {
        let until = self.run.clock().awake() + HOST_RELEASE_TIMEOUT;
        loop {
            match self.checks.find(number) {
                Err(CollectError::Owned) if self.run.clock().awake() < until => {
                    self.run.clock().sleep(PAUSE);
                }
                // It is stopped, or blocked by a file system. The check is run again.
                Err(CollectError::Silent(_)) => self.checks.terminate(number)?,
                found => return Ok(found?),
            }
        }
    }

    fn begin_check(
        &mut self,
        number: u32,
        check: &RunCheck,
        recording: AttemptNumber,
    ) -> Result<RunStep, RuntimeError> {
        let request = &self.run.record.request;
        if !request.env.is_empty() || !request.secrets.is_empty() {
            // An owner with other variables leaves it to an owner that has those of the caller.
            self.run.check_variables()?;
        }
        let mut tries = 0;
        let error = loop {
            tries += 1;
            match self.checks.start(&self.run, (number, check), recording)? {
                Ok(link) => return self.follow_check(number, check, link),
                Err(NoHost::InTheWay(_)) if tries < TRIES => self.run.clock().sleep(PAUSE),
                Err(NoHost::InTheWay(error) | NoHost::Never(error)) => break error,
            }
        };
        let status = CheckStatus::NotStarted;
        self.end_check(checks::without_recording(check, number, status, Some(error.message)))
    }

    /// Waits until the host is gone. Its record says how the check has ended.
    fn follow_check(
        &mut self,
        number: u32,
        check: &RunCheck,
        mut link: Box<dyn HostLink>,
    ) -> Result<RunStep, RuntimeError> {
        let clock = self.run.clock().clone();
        // The host ends it at its limit; this is for a host that cannot.
        let mut until = clock.awake() + seconds(check.timeout_sec) + SLACK;
        let mut is_told = false;
        loop {
            loop {
                match link.receive() {
                    Ok(HostMessage::Notice(_)) => {}
                    Ok(HostMessage::Nothing) => break,
                    Ok(HostMessage::Gone) | Err(CollectError::Silent(_)) => {
                        link.reap();
                        return Ok(self.next());
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            while let Some(next) = self.handle_mail()? {
                if matches!(next, RunStep::LetGo) {
                    link.send(&HostRequest::Detach).ignored();
                    return Ok(next);
                }
            }
            if self.run.state.canceling.is_some() && !is_told {
                is_told = true;
                until = clock.awake() + CANCEL_TIMEOUT;
                link.send(&HostRequest::Cancel { ladder: None }).ignored();
            }
            if clock.awake() >= until {
                // If it cannot be terminated, this is tried again.
                self.checks.terminate(number).ignored();
                until = clock.awake() + SLACK;
            }
            link.wait(Some(until.saturating_sub(clock.awake())));
        }
    }

    fn end_check(&mut self, ended: CheckEnded) -> Result<RunStep, RuntimeError> {
        tracing::debug!(check = ended.check, status = %ended.status, "the check has ended");
        let effects = self.run.apply(Input::CheckEnded(Box::new(ended)))?;
        self.carry_out(effects)
    }
}
