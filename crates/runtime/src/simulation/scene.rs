//! The options that a run was accepted with, drawn from the tape.

use std::time::Duration;

use skillrun_lifecycle::run::{QuotaWait, RunOptions, SessionLeft};
use skillrun_model::ExecutionMode;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::status::Continuation;

use crate::tape::Tape;

/// How the Log is kept. As text it is parsed again from its text, as a new owner does; that is slow, so it is rare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paper {
    Events,
    Text,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) options: RunOptions,
    pub(crate) mode: ExecutionMode,
    /// Whether the session of a process that is gone can be loaded.
    pub(crate) session: SessionLeft,
    pub(crate) max_attempt: Option<u32>,
    pub(crate) policy: Option<DecisionPolicy>,
    pub(crate) paper: Paper,
}

/// In milliseconds, as all times of a story.
pub(crate) const SESSION_TIMEOUT: u64 = 20_000;

impl Scene {
    pub(crate) fn draw(tape: &mut Tape) -> Self {
        let (continuation, session) = [
            (Continuation::Resumable, SessionLeft::Lost),
            (Continuation::Sticky, SessionLeft::Lost),
            (Continuation::Sticky, SessionLeft::Loadable),
            (Continuation::Resumable, SessionLeft::Lost),
            (Continuation::Sticky, SessionLeft::Lost),
            (Continuation::None, SessionLeft::Lost),
        ][tape.pick(6)];
        let auto = tape.pick(5) == 4 || continuation == Continuation::None;
        let require_user_reply = tape.pick(2) == 0;
        let auto_decision_limit = [2, 0, 1][tape.pick(3)];
        let policies = [None, None, Some(DecisionPolicy::Abort), Some(DecisionPolicy::SafeDefault)];
        let policy = policies[tape.pick(4)];
        let quota_wait = (tape.pick(3) == 2).then_some(QuotaWait { made: 0, max: 2, random: [7; 10] });
        let max_attempt = (tape.pick(5) == 4).then_some(2);
        let paper = if tape.pick(24) == 23 { Paper::Text } else { Paper::Events };
        let session_timeout = Duration::from_millis(SESSION_TIMEOUT);
        Self {
            options: RunOptions { continuation, require_user_reply, session_timeout, auto_decision_limit, quota_wait },
            mode: if auto { ExecutionMode::Auto } else { ExecutionMode::Interactive },
            session,
            max_attempt,
            policy,
            paper,
        }
    }

    /// A process of this run can wait between two turns.
    pub(crate) fn goes_on(&self) -> bool {
        self.options.continuation == Continuation::Sticky && self.mode == ExecutionMode::Interactive
    }
}
