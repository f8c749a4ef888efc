//! Hosts that hear nobody: stopped, or held by a file system. While a turn has time left it is waited for them, since they
//! may go on. When the process should be gone by now, the host is ended with it, and the attempt is one that was lost.

use std::time::Duration;

use skillrun_collect::start::last_number;
use skillrun_collect::{Attached, attach_within, end_host, hears};

use super::host::{Host, SLACK};
use super::{ATTACH, Worker};
use crate::record::seconds;

impl Worker<'_> {
    /// Whether its process should be gone by now. Then a host that says nothing is not waited for.
    pub(super) fn is_overdue(&self) -> bool {
        let state = &self.run.state;
        if state.canceling.is_some() || state.failing.is_some() {
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

    /// A host whose process should be gone by now, and that hears nobody, is ended with it.
    pub(super) fn see_to_deaf_host(&mut self) {
        let Some(host) = self.host.as_mut().filter(|host| host.is_to_be_looked_at()) else { return };
        let audit = self.run.folder.audit();
        if host.is_given_up(hears(&audit)) {
            // What cannot be ended is looked at again.
            end_host(&audit, host.owner.attempt()).ok();
        }
    }

    /// The run is over, and the host has hung up. If it is gone, nothing that it started is left; if it lives, it is told
    /// again to end its process.
    pub(super) fn is_still_there(&mut self) -> bool {
        let audit = self.run.folder.audit();
        let Ok(attempt) = last_number(&audit) else { return false };
        match attach_within(&audit, attempt, ATTACH) {
            Ok(Attached::Live(owner)) => {
                let mut host = Host::new(owner, None);
                host.end_now();
                self.host = Some(host);
                true
            }
            Ok(Attached::NotBegun | Attached::Ended(_) | Attached::Lost { .. }) => false,
            // Nobody needs it any more.
            Err(_) => {
                end_host(&audit, attempt).ok();
                false
            }
        }
    }
}

/// As clocks count.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
