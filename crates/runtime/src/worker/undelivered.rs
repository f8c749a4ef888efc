//! An answer that never reached its process. The user answered at the moment at which the process ended: the answer is
//! in the Log, the next attempt is open, and no process was there to begin it.
//!
//! Where the session can be loaded, another process gets the attempt and is started with the answer. Where it cannot, the
//! turn fails, and reports that the answer was not delivered. The Log already has the exact text of its message, so that
//! another session, which needs the replay before it, begins with the next prompt of a run at rest.

use std::time::Duration;

use skillrun_lifecycle::closing::{self, ControlEvent};
use skillrun_lifecycle::run::SessionLeft;
use skillrun_model::interaction::Scope;
use skillrun_model::status::Continuation;
use skillrun_model::{AttemptNumber, Code};

use super::Worker;

/// How long a host that has written its record may take to exit.
const LEAVING: Duration = Duration::from_secs(5);

impl Worker<'_> {
    /// Whether another process can have the attempt, whose own process is gone and never received anything. Its files
    /// are put aside then. Only once: the next one is started with the answer, which is in its opening.
    pub(super) fn is_free_for_another(&self, attempt: AttemptNumber) -> bool {
        let state = &self.run.state;
        let is_wanted = state.canceling.is_none() && state.failing.is_none() && state.interrupting.is_none();
        let is_free = is_wanted && self.received_nothing(attempt);
        if !is_free || self.files.session_left(&self.run) == SessionLeft::Lost {
            return false;
        }
        let clock = self.run.clock();
        let until = clock.awake() + LEAVING;
        loop {
            match self.hosts.put_aside(attempt) {
                Ok(()) => return true,
                Err(_) if clock.awake() >= until => return false,
                Err(_) => clock.sleep(Duration::from_millis(10)),
            }
        }
    }

    /// A warning that an answer was not delivered, if that is so.
    pub(super) fn undelivered_answer(&self, attempt: AttemptNumber) -> Option<ControlEvent> {
        let reply = self.run.state.reply.as_ref().filter(|_| self.received_nothing(attempt))?;
        let message =
            format!("the process had ended before it could take the answer to question {}", reply.interaction_id.0);
        Some(closing::warning(Code::SessionLost, message))
    }

    /// The process was to begin the attempt with an answer. It received nothing, and wrote nothing.
    fn received_nothing(&self, attempt: AttemptNumber) -> bool {
        let run = &self.run;
        let waits_for_it = run.record.engine.continuation == Continuation::Sticky
            && run.state.reply.as_ref().is_some_and(|reply| matches!(reply.scope, Scope::Turn | Scope::Prompt))
            && !self.files.has_opening(run, attempt);
        waits_for_it && self.hosts.received_nothing(attempt)
    }
}
