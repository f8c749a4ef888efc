//! The messages that are due, and the threads that send them.
//!
//! One thread reads Logs, records messages and starts tries. Each try has its own thread, which records the outcome; a
//! few run at a time, so that a slow receiver delays only messages to itself. What is due is found by a search of the
//! records: those with nothing left to do are not here.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::fs::File;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_base::sync::lock;
use skillrun_log::{EventLog, FileLog, Limits, LogError, LogErrorKind, ReadEnd};
use skillrun_model::{IgnoredError, RunId, Timestamp};
use skillrun_runtime::Clock;

use super::address::receiver_of;
use super::outbox::Outbox;
use super::record::{Delivery, Position, Record};
use super::secret::{Random, Secret};
use super::send::{SendTimeouts, Sender, Tried};

/// The Log is read in pages of about this size.
const PAGE: Limits = Limits { events: 4_096, bytes: 1024 * 1024 };

/// Number of bytes of one Log that are read before other Logs have their turn.
const TURN_BYTES: usize = 4 * 1024 * 1024;

/// Minimum interval between two reads of a run that writes without a pause.
const LOG_READ_INTERVAL: Duration = Duration::from_millis(50);

/// Delay before a failed write of a record is retried.
const SAVE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The clock may be set, so it is checked from time to time.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Maximum wait that a receiver may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60 * 60);

/// When and how much is tried.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    /// Waits after the first try, the second, and so on; after the last of them the message is given up.
    pub(super) waits: Vec<Duration>,
    pub(super) timeouts: SendTimeouts,
    /// Maximum number of concurrent tries.
    pub(super) at_once: usize,
    /// Of these, to the same host and port: a receiver that never responds leaves room for others.
    pub(super) at_once_to_one: usize,
}

impl Default for Pace {
    fn default() -> Self {
        const MINUTE: u64 = 60;
        const HOUR: u64 = 60 * MINUTE;
        let seconds = [5, 30, 2 * MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR];
        let waits = seconds.map(Duration::from_secs).to_vec();
        Self { waits, timeouts: SendTimeouts::default(), at_once: 4, at_once_to_one: 2 }
    }
}

impl Pace {
    /// The wait after a number of failed tries, randomly up to a fifth longer, so that many messages do not arrive at
    /// once. None: give up. `asked` is what the receiver asked for.
    fn wait_after(&self, tries: u32, asked: Option<Duration>, random: u16) -> Option<Duration> {
        let wait = *self.waits.get(usize::try_from(tries).ok()?.checked_sub(1)?)?;
        let wait = asked.map_or(wait, |asked| wait.max(asked.min(LONGEST_ASKED)));
        Some(wait + wait.mul_f64(f64::from(random) / f64::from(u16::MAX) / 5.0))
    }
}

/// Counts since the start, and the number of pending messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WebhookCounts {
    pub delivered: u64,
    pub failed_tries: u64,
    pub given_up: u64,
    pub pending: u64,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    /// Set if it is not on the disk as it is here: when to write it again. Its messages are not sent until then.
    save_at: Option<Instant>,
}

/// A message that is tried.
#[derive(Debug, Clone)]
struct Try {
    run: RunId,
    index: usize,
    receiver: String,
    message: Delivery,
    body: String,
}

/// All runs with messages to send. Locked while a record is written.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: BTreeMap<RunId, Entry>,
    under_way: Vec<Try>,
    counts: WebhookCounts,
    pub(super) last_trouble: Option<String>,
    /// The lock of the files. None: another process may send messages by now.
    lock_file: Option<File>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) log: Arc<FileLog>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Random,
    pub(super) outbox: Outbox,
    pub(super) sender: Sender,
    pub(super) pace: Pace,
    pub(super) secret: OnceLock<Secret>,
    pub(super) queue: Mutex<Queue>,
    /// The watched runs, and whether each may have new events. Never locked for long: the writers of Logs wait for it.
    pub(super) inbox: Mutex<HashMap<RunId, bool>>,
    /// Wakes the thread. It has room for one ring.
    pub(super) bell: SyncSender<()>,
    /// No try is started any more; those under way are waited for until then.
    pub(super) stop: OnceLock<Instant>,
}

impl Queue {
    pub(super) fn new(lock_file: File) -> Self {
        Self { lock_file: Some(lock_file), ..Self::default() }
    }

    pub(super) fn record(&self, run: RunId) -> Option<&Record> {
        self.entries.get(&run).map(|entry| &entry.record)
    }

    /// Adds a record that is on the disk, or replaces it by one with the same messages.
    pub(super) fn put(&mut self, record: Record) {
        self.entries.insert(record.run_id, Entry { record, save_at: None });
    }

    /// The message that is due for the longest time and may be sent, or how long none becomes due.
    fn next_try(&self, now: Timestamp, pace: &Pace) -> Result<Try, Duration> {
        let (mut first, mut wait, mut receivers) = (None, LONGEST_WAIT, HashMap::new());
        for (run, Entry { record, save_at }) in &self.entries {
            if let Some(at) = save_at {
                wait = wait.min(at.saturating_duration_since(Instant::now()));
                continue;
            }
            for (index, at, message) in record.sendable() {
                if at > now {
                    wait = wait.min(Duration::from_millis(at.millis_since(now).unwrap_or(0) + 1));
                } else if self.under_way.len() < pace.at_once && first.as_ref().is_none_or(|(first, _)| at < *first) {
                    let receiver = receivers.entry(message.url.as_str()).or_insert_with(|| receiver_of(&message.url));
                    let busy = self.under_way.iter().filter(|one| one.receiver == *receiver).count();
                    let is_tried = self.under_way.iter().any(|one| (one.run, one.index) == (*run, index));
                    if busy < pace.at_once_to_one && !is_tried {
                        first = Some((at, (*run, index, receiver.clone(), record, message)));
                    }
                }
            }
        }
        let (_, (run, index, receiver, record, message)) = first.ok_or(wait)?;
        let body = record.body(message).unwrap_or("{}").to_owned();
        Ok(Try { run, index, receiver, message: message.clone(), body })
    }

    pub(super) fn counts(&self) -> WebhookCounts {
        let pending = self.entries.values().map(|entry| entry.record.pending().count() as u64).sum();
        WebhookCounts { pending, ..self.counts }
    }

    pub(super) fn note_trouble(&mut self, trouble: impl Display) {
        tracing::warn!(%trouble, "webhooks");
        self.last_trouble = Some(trouble.to_string());
    }
}

impl Shared {
    /// Wakes the thread.
    pub(super) fn ring(&self) {
        // It may be ringing already.
        let _is_new = self.bell.try_send(());
    }

    pub(super) fn watch(&self, run: RunId) {
        lock(&self.inbox).insert(run, true);
        self.ring();
    }

    /// Runs without webhooks ring too; they do not wake the thread.
    pub(super) fn check_log(&self, run: RunId) {
        if let Some(has_news) = lock(&self.inbox).get_mut(&run)
            && !std::mem::replace(has_news, true)
        {
            self.ring();
        }
    }

    /// One step of a thread. A panic is reported, and ends only the step: other messages are still sent.
    fn step<T>(&self, step: impl FnOnce() -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(step)).ok();
        if done.is_none() {
            lock(&self.queue).note_trouble("a step was aborted by a panic");
        }
        done
    }

    /// The thread that reads Logs and starts tries.
    pub(super) fn run(self: &Arc<Self>, bell: &Receiver<()>) {
        let mut next_read = Instant::now();
        let stop = loop {
            let wait = self.step(|| self.send_due()).unwrap_or(SAVE_RETRY_DELAY);
            if let Some(stop) = self.stop.get() {
                break *stop;
            }
            let has_news = lock(&self.inbox).values().any(|has_news| *has_news);
            let until_read = next_read.saturating_duration_since(Instant::now());
            let _is_rung = bell.recv_timeout(if has_news { wait.min(until_read) } else { wait });
            if Instant::now() >= next_read {
                let mut inbox = lock(&self.inbox);
                let news = inbox.iter_mut().filter_map(|(run, news)| std::mem::take(news).then_some(*run));
                let news: Vec<_> = news.collect();
                drop(inbox);
                if !news.is_empty() {
                    next_read = Instant::now() + LOG_READ_INTERVAL;
                }
                news.into_iter().for_each(|run| self.step(|| self.read(run)).unwrap_or_default());
            }
            self.step(|| self.save_again());
        };
        while !lock(&self.queue).under_way.is_empty()
            && let Some(left) = stop.checked_duration_since(Instant::now())
        {
            let _is_rung = bell.recv_timeout(left);
        }
        // Before the thread ends: a new service may be started at once.
        lock(&self.queue).lock_file = None;
    }

    fn read(&self, run: RunId) {
        let Some(from) = lock(&self.queue).record(run).map(|record| record.position.clone()) else { return };
        let (now, mut position, mut drafts, mut bytes) = (self.clock.now(), from.clone(), Vec::new(), 0);
        let read = self.log.for_each::<LogError>(run, from.cursor(), PAGE, |line| {
            drafts.extend(position.read(line));
            bytes += line.json().len();
            Ok(if bytes < TURN_BYTES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        let mut queue = lock(&self.queue);
        let is_reset = match read {
            Ok(ReadEnd::At(cursor)) => {
                position.set(cursor);
                false
            }
            // Seqs were lost. Messages already sent are not repeated: a message made again has the same id.
            Ok(ReadEnd::Reset(_)) => {
                (position, drafts) = (Position::default(), Vec::new());
                true
            }
            // A run that was not removed may not have a Log yet.
            Err(error) if matches!(error.kind, LogErrorKind::NotFound | LogErrorKind::Gone) => {
                if !self.outbox.has_run(run) {
                    self.forget(&mut queue, run);
                }
                return;
            }
            Err(error) => return queue.note_trouble(error),
        };
        let Some(entry) = queue.entries.get_mut(&run) else { return };
        // If an address was added meanwhile, its messages come from the beginning.
        let is_current = entry.record.position == from;
        let is_all = is_current && !is_reset && bytes < TURN_BYTES;
        if is_current {
            // A position alone is not worth a write: reading from an older one produces the same messages.
            let is_worth_a_write = !drafts.is_empty() || is_all && entry.record.is_done();
            // The position last: after a panic the same events are read again.
            let change = |record: &mut Record| {
                drafts.iter().for_each(|draft| record.add(draft, now));
                record.position = position;
            };
            if is_worth_a_write {
                self.save(&mut queue, run, change);
            } else {
                change(&mut entry.record);
            }
        }
        drop(queue);
        if !is_all {
            self.check_log(run);
        }
    }

    /// Changes the record of a run and writes it. It is forgotten here when there is nothing left to do.
    fn save(&self, queue: &mut Queue, run: RunId, change: impl FnOnce(&mut Record)) {
        let Queue { entries, counts, .. } = queue;
        let Some(entry) = entries.get_mut(&run) else { return };
        let before = entry.record.totals();
        change(&mut entry.record);
        let [tries, delivered, given_up] = entry.record.totals();
        let (tries, delivered) = (tries.saturating_sub(before[0]), delivered.saturating_sub(before[1]));
        counts.delivered += delivered;
        counts.failed_tries += tries.saturating_sub(delivered);
        counts.given_up += given_up.saturating_sub(before[2]);
        let saved = self.outbox.save(&entry.record);
        entry.save_at = saved.is_err().then(|| Instant::now() + SAVE_RETRY_DELAY);
        match saved {
            Ok(()) if entry.record.is_done() => self.drop_run(queue, run),
            Ok(()) => {}
            Err(error) => queue.note_trouble(error),
        }
    }

    fn save_again(&self) {
        let mut queue = lock(&self.queue);
        let is_due = |entry: &Entry| entry.save_at.is_some_and(|at| at <= Instant::now());
        let unsaved = queue.entries.iter().filter(|(_, entry)| is_due(entry)).map(|(run, _)| *run);
        unsaved.collect::<Vec<_>>().into_iter().for_each(|run| self.save(&mut queue, run, |_| ()));
    }

    /// The run was removed; no more messages are sent for it. A file that cannot be removed is tried again by the next
    /// server.
    fn forget(&self, queue: &mut Queue, run: RunId) {
        if let Err(error) = self.outbox.remove(run) {
            queue.note_trouble(error);
        }
        self.drop_run(queue, run);
    }

    fn drop_run(&self, queue: &mut Queue, run: RunId) {
        queue.entries.remove(&run);
        lock(&self.inbox).remove(&run);
    }

    /// Starts all tries that may start now. Returns how long nothing is due, if nothing else happens.
    fn send_due(self: &Arc<Self>) -> Duration {
        while self.stop.get().is_none() {
            let (now, mut queue) = (self.clock.now(), lock(&self.queue));
            let Some(secret) = self.secret.get().cloned() else { break };
            let attempt = match queue.next_try(now, &self.pace) {
                Ok(attempt) => attempt,
                Err(wait) => return wait,
            };
            if !self.outbox.has_run(attempt.run) {
                self.forget(&mut queue, attempt.run);
                continue;
            }
            queue.under_way.push(attempt.clone());
            drop(queue);
            let seconds = now.millis_since(Timestamp::EPOCH).unwrap_or(0) / 1000;
            let (shared, tried) = (self.clone(), attempt.clone());
            let started = thread::Builder::new().name("webhook".to_owned()).spawn(move || {
                let Try { message, body, .. } = &tried;
                let outcome = shared.step(|| shared.sender.send(&secret, &message.url, &message.id, seconds, body));
                let aborted = || Tried::Failed { error: "the try was aborted".to_owned() };
                shared.step(|| shared.settle(&tried, &outcome.unwrap_or_else(aborted)));
            });
            if let Err(error) = started {
                self.settle(&attempt, &Tried::Failed { error: error.to_string() });
            }
        }
        LONGEST_WAIT
    }

    /// Records the outcome of a try.
    fn settle(&self, attempt: &Try, outcome: &Tried) {
        let mut queue = lock(&self.queue);
        // First, because a slot that is not released would be lost for good.
        queue.under_way.retain(|one| (one.run, one.index) != (attempt.run, attempt.index));
        if queue.lock_file.is_some() {
            let mut chance = [0; 2];
            // Without random bytes the wait is the shortest one, which is harmless.
            (self.random)(&mut chance).ignored();
            let (now, random) = (self.clock.now(), u16::from_ne_bytes(chance));
            let wait = |tries, asked| self.pace.wait_after(tries, asked, random);
            self.save(&mut queue, attempt.run, |record| record.tried(attempt.index, now, outcome, wait));
        }
        self.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end_and_are_longer_by_chance_or_on_request() {
        let pace = Pace::default();
        let waits: Vec<_> = (1..).map_while(|tries| pace.wait_after(tries, None, 0)).map(|w| w.as_secs()).collect();
        assert_eq!(waits, [5, 30, 120, 600, 3_600, 10_800, 21_600, 43_200]);
        assert_eq!(pace.wait_after(0, None, 0), None);
        for (asked, random, seconds) in
            [(None, u16::MAX, 6), (Some(60), 0, 60), (Some(1), 0, 5), (Some(u64::MAX), 0, 3_600)]
        {
            let wait = pace.wait_after(1, asked.map(Duration::from_secs), random);
            assert_eq!(wait.map(|wait| wait.as_secs()), Some(seconds), "{asked:?} {random}");
        }
    }
}
