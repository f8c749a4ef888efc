//! Unresponsive hosts: stopped, or blocked by a file system. While a turn has time left the worker waits for them,
//! since they may continue. When the process should be gone by now, the host is terminated with it, and the attempt
//! counts as lost.

use std::time::Duration;

use skillrun_model::IgnoredError;
use skillrun_runs::record::seconds;

use super::Worker;
use super::host::SLACK;
use super::outside::AttachedHost;

impl Worker<'_> {
    /// Whether its process should be gone by now. Then an unresponsive host is not waited for.
    pub(super) fn is_overdue(&self) -> bool {
        let state = &self.run.state;
        if state.canceling.is_some() || state.failing.is_some() || state.interrupting.is_some() {
            return true;
        }
        let time = seconds(self.run.record.request.timeouts.hard_sec);
        let until = match (&state.question, &state.started) {
            (Some(question), _) => question.deadline,
            (None, Some(started)) => Some(started.started_at.plus_nanos(nanos(time))),
            (None, None) => None,
        };
        until.is_some_and(|until| until.plus_nanos(nanos(SLACK)) <= self.run.now())
    }

    /// An unresponsive host whose process should be gone by now is terminated with it.
    pub(super) fn check_host_responsive(&mut self) {
        let Some(host) = self.host.as_mut().filter(|host| host.is_check_due()) else { return };
        if host.should_terminate(self.hosts.response()) {
            // If it cannot be terminated, it is checked again later.
            self.hosts.terminate(host.link.attempt()).ignored();
        }
    }

    /// The run is over, and the host has closed its connection. If it is gone, nothing that it started is left; if it
    /// is running, it is asked again to end its process.
    pub(super) fn is_still_there(&mut self) -> bool {
        let Some(attempt) = self.hosts.last_attempt() else { return false };
        match self.hosts.attach(attempt) {
            Ok(AttachedHost::Live(link)) => {
                let mut host = self.host_at(link);
                host.end_now();
                self.host = Some(host);
                true
            }
            Ok(AttachedHost::NotBegun | AttachedHost::Ended { .. } | AttachedHost::Lost) => false,
            // It is not needed any more.
            Err(_) => {
                self.hosts.terminate(attempt).ignored();
                false
            }
        }
    }
}

/// In the unit of the clocks.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
