//! A reader that waits for more. It neither delays events nor buffers them: whatever its speed, it reads from the Log.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use skillrun_base::sync::{lock, wait_while};
use skillrun_model::RunId;

use crate::bells::Subscription;
use crate::cursor::{Cursor, Head};
use crate::error::{LogError, LogErrorKind};
use crate::event_log::EventLog;
use crate::page::{Limits, LogRead, Page};

/// Follows the Log of one run.
pub struct Tail<'l, L: ?Sized> {
    log: &'l L,
    run: RunId,
    cursor: Cursor,
    bell: Arc<Bell>,
    _subscription: Subscription,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tailed {
    /// At least one event.
    Page(Page),
    /// See [`LogRead::Reset`]. The tail restarts from the beginning.
    Reset(Head),
    TimedOut,
}

/// Counts how often the bell rang.
#[derive(Default)]
struct Bell {
    rung: Mutex<u64>,
    news: Condvar,
}

impl<L: ?Sized> fmt::Debug for Tail<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tail").field("run", &self.run).field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

impl<'l, L: EventLog + ?Sized> Tail<'l, L> {
    pub fn new(log: &'l L, run: RunId, cursor: Cursor) -> Result<Self, LogError> {
        let bell = Arc::new(Bell::default());
        let rung = bell.clone();
        let subscription = log.subscribe(run, Arc::new(move || rung.ring()))?;
        Ok(Self { log, run, cursor, bell, _subscription: subscription })
    }

    /// Where the next page begins.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The events after the cursor, as soon as there are any.
    pub fn next(&mut self, limits: Limits, timeout: Duration) -> Result<Tailed, LogError> {
        let deadline = Instant::now().checked_add(timeout);
        loop {
            // Taken before the Log is read: what is appended after the read rings after this.
            let rung = self.bell.rung();
            match self.log.read(self.run, self.cursor, limits).map_err(lost)? {
                LogRead::Page(page) if page.is_empty() => {}
                LogRead::Page(page) => {
                    self.cursor = page.cursor();
                    return Ok(Tailed::Page(page));
                }
                LogRead::Reset(head) => {
                    self.cursor = Cursor::BEGINNING;
                    return Ok(Tailed::Reset(head));
                }
            }
            if !self.bell.wait(rung, deadline) {
                return Ok(Tailed::TimedOut);
            }
        }
    }
}

/// There was a Log when the tail began, so a missing one was removed.
fn lost(error: LogError) -> LogError {
    error.kind.or_if_not_found(|| LogErrorKind::Gone).of(error.run)
}

impl Bell {
    fn rung(&self) -> u64 {
        *lock(&self.rung)
    }

    fn ring(&self) {
        *lock(&self.rung) += 1;
        self.news.notify_all();
    }

    /// Whether the bell rang more than `seen` times before the deadline. Without a deadline it waits indefinitely.
    fn wait(&self, seen: u64, deadline: Option<Instant>) -> bool {
        wait_while(&self.news, lock(&self.rung), deadline, |rung| *rung == seen).is_some()
    }
}
