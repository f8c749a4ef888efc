//! State that the webhook threads share: an inbox that is never locked for long, and the records.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_base::sync::{lock, wait_timeout};
use skillrun_log::FileLog;
use skillrun_model::RunId;
use skillrun_runtime::Clock;

use super::outbox::Outbox;
use super::record::Record;
use super::schedule::Schedule;
use super::secret_file::Random;
use super::send::{SendTimeouts, Sender, Tried};
use super::sign::Secret;

/// Limits on concurrency, and timeouts.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    pub(super) schedule: Schedule,
    pub(super) timeouts: SendTimeouts,
    /// Maximum number of concurrent tries.
    pub(super) at_once: usize,
    /// Of these, to the same host and port: a receiver that never responds leaves room for others.
    pub(super) at_once_to_one: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { schedule: Schedule::default(), timeouts: SendTimeouts::default(), at_once: 4, at_once_to_one: 2 }
    }
}

/// The outcome of one try.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) run: RunId,
    pub(super) index: usize,
    pub(super) id: String,
    pub(super) tried: Tried,
}

/// The inbox of the thread. Holds each run once and as many outcomes as there are tries under way.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pub(super) watched: HashSet<RunId>,
    pub(super) looks: HashSet<RunId>,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) stop: Option<Instant>,
    pub(super) thread: Thread,
}

/// Whether the thread is running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Thread {
    #[default]
    None,
    Running,
}

/// A record in memory.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) record: Record,
    pub(super) on_disk: OnDisk,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDisk {
    Same,
    /// It could not be written. No new message is sent before it is.
    Older,
}

/// Counts since the start, and the number of pending messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    pub delivered: u64,
    pub failed_tries: u64,
    pub given_up: u64,
    pub pending: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) delivered: AtomicU64,
    pub(super) failed_tries: AtomicU64,
    pub(super) given_up: AtomicU64,
}

pub(super) struct Shared {
    pub(super) log: Arc<FileLog>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Random,
    pub(super) outbox: Outbox,
    pub(super) sender: Sender,
    pub(super) pace: Pace,
    pub(super) secret: Mutex<Option<Secret>>,
    pub(super) records: Mutex<HashMap<RunId, Entry>>,
    pub(super) counters: Counters,
    pub(super) trouble: Mutex<Option<String>>,
    inbox: Mutex<Inbox>,
    bell: Condvar,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("outbox", &self.outbox).finish_non_exhaustive()
    }
}

/// What a [`Shared`] is created with, apart from empty boxes.
pub(super) struct Parts {
    pub(super) log: Arc<FileLog>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Random,
    pub(super) outbox: Outbox,
    pub(super) sender: Sender,
    pub(super) pace: Pace,
    pub(super) secret: Option<Secret>,
}

impl Shared {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            log: parts.log,
            clock: parts.clock,
            random: parts.random,
            outbox: parts.outbox,
            sender: parts.sender,
            pace: parts.pace,
            secret: Mutex::new(parts.secret),
            records: Mutex::default(),
            counters: Counters::default(),
            trouble: Mutex::default(),
            inbox: Mutex::default(),
            bell: Condvar::new(),
        }
    }

    /// Changes the inbox and wakes the thread that waits for it.
    pub(super) fn update_inbox(&self, change: impl FnOnce(&mut Inbox)) {
        change(&mut lock(&self.inbox));
        self.bell.notify_all();
    }

    /// Runs without webhooks ring too; they do not wake the thread.
    pub(super) fn check_log(&self, run: RunId) {
        let mut inbox = lock(&self.inbox);
        if inbox.watched.contains(&run) && inbox.looks.insert(run) {
            drop(inbox);
            self.bell.notify_all();
        }
    }

    /// Waits until `take` finds something, at most until the time that it returns.
    pub(super) fn wait<T>(&self, mut take: impl FnMut(&mut Inbox) -> Result<T, Instant>) -> T {
        let mut inbox = lock(&self.inbox);
        loop {
            let until = match take(&mut inbox) {
                Ok(taken) => return taken,
                Err(until) => until,
            };
            let wait = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            inbox = wait_timeout(&self.bell, inbox, wait);
        }
    }

    pub(super) fn note_trouble(&self, trouble: impl std::fmt::Display) {
        *lock(&self.trouble) = Some(trouble.to_string());
    }

    pub(super) fn counts(&self) -> Counts {
        let pending = lock(&self.records).values().map(|entry| entry.record.pending().count() as u64).sum();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            delivered: read(&self.counters.delivered),
            failed_tries: read(&self.counters.failed_tries),
            given_up: read(&self.counters.given_up),
            pending,
        }
    }
}
