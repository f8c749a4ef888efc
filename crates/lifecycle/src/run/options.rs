//! The options that a run was accepted with. They never change, and are in `run.json`.

use std::time::Duration;

use skillrun_model::ExecutionMode;
use skillrun_model::interaction::OnDeadline;
use skillrun_model::status::Continuation;

use super::quota::QuotaWait;

/// The options that decide how questions are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOptions {
    pub mode: ExecutionMode,
    pub continuation: Continuation,
    /// A user must answer; no policy decides instead.
    pub require_user_reply: bool,
    pub session_timeout: Duration,
    pub auto_decision_limit: u32,
    /// None: a run that failed for lack of quota stays failed.
    pub quota_wait: Option<QuotaWait>,
    /// Children that may work at the same time. None: the run cannot delegate.
    pub max_children: Option<u32>,
    /// The number of commands that must pass before the run succeeds.
    pub checks: u32,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            mode: ExecutionMode::Interactive,
            continuation: Continuation::Resumable,
            require_user_reply: true,
            session_timeout: Duration::from_secs(1200),
            auto_decision_limit: 10,
            quota_wait: None,
            max_children: None,
            checks: 0,
        }
    }
}

/// Whether a process waits for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// No process waits: the session can be resumed at any time.
    NoProcess,
    Process,
}

impl RunOptions {
    /// The cell of the matrix: what happens when the deadline passes. A question without a deadline waits indefinitely.
    pub(crate) fn on_deadline(self, waits: Waits) -> OnDeadline {
        match (self.require_user_reply, waits) {
            (true, Waits::NoProcess) => OnDeadline::Wait,
            (true, Waits::Process) => OnDeadline::FailRun,
            (false, Waits::NoProcess | Waits::Process) => OnDeadline::AutoReply,
        }
    }

    /// What waits for the answer to a question that ended a turn.
    pub(crate) fn waits_after_turn(self) -> Waits {
        match self.continuation {
            Continuation::Sticky => Waits::Process,
            Continuation::Resumable | Continuation::None => Waits::NoProcess,
        }
    }
}
