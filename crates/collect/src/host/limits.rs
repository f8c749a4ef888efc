//! Ends processes that use more than the run allows.

use std::time::Duration;

use skillrun_evidence::host_record::HostError;
use skillrun_model::limits::{LimitName, LimitReached};

use super::deadlines::Moment;
use super::run::{Host, Running};
use crate::plan::Rung;
use crate::signals::SignalName;

impl Host {
    /// Looks at what the processes use, if it is time.
    pub(super) fn look_at_limits(&mut self, running: &mut Running, now: Moment) {
        let Some(reached) = running.limit_reached(now) else { return };
        if running.ladder.is_some() {
            // It is being ended for another reason, and has no time left.
            running.is_at_top = true;
            return;
        }
        if running.exit.is_some() {
            // What the kernel has killed wrote this before.
            running.streams.drain(now);
        }
        let error = HostError { code: reached.name.code(), message: reached.sentence() };
        self.record.error.get_or_insert(error);
        self.record.limit = Some(reached);
        self.end(running, now, reached.name.ended_by(), &self.rungs(reached.name));
    }

    fn rungs(&self, name: LimitName) -> Vec<Rung> {
        match name {
            // In the time of a graceful end, it would take even more.
            LimitName::Memory | LimitName::Processes | LimitName::Disk => {
                vec![Rung { signal: SignalName::KILL, pause: Duration::ZERO }]
            }
            LimitName::Cpu => self.plan.ladder.clone(),
        }
    }
}

impl Running {
    fn limit_reached(&mut self, now: Moment) -> Option<LimitReached> {
        let has_finished = self.has_finished();
        let watch = self.watch.as_mut()?;
        match self.exit {
            // The kernel may have killed it, or one of its tools. What is left then is ended soon, and is not looked at.
            Some(_) if has_finished => watch.last_look(),
            Some(_) => watch.ended_by_kernel().or_else(|| watch.look(now)),
            None => watch.look(now),
        }
    }

    /// When to look again.
    pub(super) fn watch_at(&self) -> Option<Moment> {
        self.watch.as_ref().filter(|_| !self.has_finished() && !self.is_at_top).map(|watch| watch.next_at())
    }
}
