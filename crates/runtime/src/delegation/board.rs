//! What the worker of a parent knows of its children, for the threads that answer requests of its process.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use skillrun_base::sync::{lock, wait_timeout};
use skillrun_lifecycle::run::{ChildRun, State};
use skillrun_model::AttemptNumber;

/// The part of the state of a parent that matters for its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) attempt: AttemptNumber,
    /// Requests of the process are carried out.
    pub(crate) turn_is_open: bool,
    pub(crate) children: Vec<ChildRun>,
}

impl Posted {
    pub(crate) fn of(state: &State) -> Self {
        let turn_is_open = state.attempt_is_open && !state.is_ending() && state.interrupting.is_none();
        Self { attempt: state.attempt, turn_is_open, children: state.children.clone() }
    }
}

#[derive(Debug)]
pub(crate) struct ChildBoard {
    posted: Mutex<BoardContent>,
    changed: Condvar,
}

#[derive(Debug)]
struct BoardContent {
    posted: Posted,
    /// Grows with each change, and each time that a child may have a question.
    version: u64,
}

impl ChildBoard {
    pub(crate) fn new(posted: Posted) -> Self {
        Self { posted: Mutex::new(BoardContent { posted, version: 0 }), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, BoardContent> {
        lock(&self.posted)
    }

    pub(crate) fn post(&self, posted: Posted) {
        let mut content = self.lock();
        if content.posted != posted {
            content.posted = posted;
            content.version += 1;
            self.changed.notify_all();
        }
    }

    /// No worker works on the parent here any more: waits end, and requests are refused.
    pub(crate) fn close(&self) {
        let mut content = self.lock();
        content.posted.turn_is_open = false;
        content.version += 1;
        self.changed.notify_all();
    }

    /// A child may have a question.
    pub(crate) fn look_again(&self) {
        self.lock().version += 1;
        self.changed.notify_all();
    }

    pub(crate) fn read(&self) -> (Posted, u64) {
        let content = self.lock();
        (content.posted.clone(), content.version)
    }

    /// Waits until something has changed since `version`, for at most this long.
    pub(crate) fn wait(&self, version: u64, time: Duration) {
        let until = Instant::now() + time;
        let mut content = self.lock();
        while content.version == version {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            content = wait_timeout(&self.changed, content, left);
        }
    }
}
