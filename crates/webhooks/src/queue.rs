//! The messages that are due, and the threads that send them.
//!
//! One thread reads Logs, records messages and starts tries. Each try has its own thread, which records the outcome; a
//! few run at a time, so that a slow receiver delays only messages to itself. What is due is found in an index, which is
//! made from the records: a record that changes is indexed again, and after a panic all of them are.

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
use super::due::{DueIndex, DueMessage};
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
    records: BTreeMap<RunId, Record>,
    /// Records that are not on the disk as they are here, and when to write them again. Their messages are not sent
    /// until then.
    unsaved: BTreeMap<RunId, Instant>,
    /// The messages that may be sent and are not under way.
    due: DueIndex,
    /// A change of a record was aborted, so the index may not agree with it.
    is_index_doubtful: bool,
    under_way: Vec<Try>,
    counts: WebhookCounts,
    pub(super) last_trouble: Option<String>,
    /// The lock of the files. None: another process may send messages by now.
    lock_file: Option<File>,
}

/// The watched runs.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Whether each may have new events.
    watched: HashMap<RunId, bool>,
    /// Those that may.
    news: Vec<RunId>,
}

impl Inbox {
    pub(super) fn watch(&mut self, run: RunId) {
        self.watched.entry(run).or_default();
        self.note_news(run);
    }

    /// Returns whether this is news of a watched run.
    fn note_news(&mut self, run: RunId) -> bool {
        let is_new = self.watched.get_mut(&run).is_some_and(|has_news| !std::mem::replace(has_news, true));
        if is_new {
            self.news.push(run);
        }
        is_new
    }

    fn take_news(&mut self) -> Vec<RunId> {
        let news = std::mem::take(&mut self.news);
        let of_watched = news.into_iter().filter(|run| self.watched.get_mut(run).is_some_and(std::mem::take));
        of_watched.collect()
    }
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
    /// Never locked for long: the writers of Logs wait for it.
    pub(super) inbox: Mutex<Inbox>,
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
        self.records.get(&run)
    }

    /// Adds a record that is on the disk, or replaces it by one with the same messages.
    pub(super) fn put(&mut self, record: Record) {
        let run = record.run_id;
        self.records.insert(run, record);
        self.unsaved.remove(&run);
        self.index(run);
    }

    /// Brings the index up to date with the record of a run.
    fn index(&mut self, run: RunId) {
        let Self { records, unsaved, due, under_way, .. } = self;
        let record = records.get(&run).filter(|_| !unsaved.contains_key(&run));
        let is_tried = |index: usize| under_way.iter().any(|one| (one.run, one.index) == (run, index));
        let messages = record.into_iter().flat_map(Record::sendable).filter(|(index, ..)| !is_tried(*index));
        let messages =
            messages.map(|(index, at, message)| DueMessage { at, index, receiver: receiver_of(&message.url) });
        let messages = messages.collect();
        due.set(run, messages);
    }

    fn drop_record(&mut self, run: RunId) {
        self.records.remove(&run);
        self.unsaved.remove(&run);
        self.index(run);
    }

    /// The message that is due for the longest time and may be sent, or how long none becomes due.
    fn next_try(&mut self, now: Timestamp, pace: &Pace) -> Result<Try, Duration> {
        if self.is_index_doubtful {
            self.due = DueIndex::default();
            self.records.keys().copied().collect::<Vec<_>>().into_iter().for_each(|run| self.index(run));
            self.is_index_doubtful = false;
        }
        let is_busy = |receiver: &str| {
            self.under_way.iter().filter(|one| one.receiver == receiver).count() >= pace.at_once_to_one
        };
        let has_room = self.under_way.len() < pace.at_once;
        let first = if has_room { self.due.first(now, is_busy) } else { None };
        let found = first.and_then(|(run, index)| {
            let record = self.records.get(&run)?;
            let message = record.messages.get(index)?.clone();
            let body = record.body(&message).unwrap_or("{}").to_owned();
            Some(Try { run, index, receiver: receiver_of(&message.url), message, body })
        });
        found.ok_or_else(|| {
            // A time less than a millisecond ahead has no whole milliseconds.
            let until_due = self.due.next_at(now).map(|at| at.millis_since(now).unwrap_or(0));
            let until_due = until_due.map(|millis| Duration::from_millis(millis + 1));
            let save_at = self.unsaved.values().min();
            let until_save = save_at.map(|at| at.saturating_duration_since(Instant::now()));
            [until_due, until_save].into_iter().flatten().fold(LONGEST_WAIT, Duration::min)
        })
    }

    pub(super) fn counts(&self) -> WebhookCounts {
        let pending = self.records.values().map(|record| record.pending().count() as u64).sum();
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
        lock(&self.inbox).watch(run);
        self.ring();
    }

    /// Runs without webhooks ring too; they do not wake the thread.
    pub(super) fn check_log(&self, run: RunId) {
        if lock(&self.inbox).note_news(run) {
            self.ring();
        }
    }

    /// One step of a thread. A panic is reported, and ends only the step: other messages are still sent.
    fn step<T>(&self, step: impl FnOnce() -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(step)).ok();
        if done.is_none() {
            let mut queue = lock(&self.queue);
            queue.is_index_doubtful = true;
            queue.note_trouble("a step was aborted by a panic");
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
            let has_news = !lock(&self.inbox).news.is_empty();
            let until_read = next_read.saturating_duration_since(Instant::now());
            let _is_rung = bell.recv_timeout(if has_news { wait.min(until_read) } else { wait });
            if Instant::now() >= next_read {
                let news = lock(&self.inbox).take_news();
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
        let Some(record) = queue.records.get_mut(&run) else { return };
        // If an address was added meanwhile, its messages come from the beginning.
        let is_current = record.position == from;
        let is_all = is_current && !is_reset && bytes < TURN_BYTES;
        if is_current {
            // A position alone is not worth a write: reading from an older one produces the same messages.
            let is_worth_a_write = !drafts.is_empty() || is_all && record.is_done();
            // The position last: after a panic the same events are read again.
            let change = |record: &mut Record| {
                drafts.iter().for_each(|draft| record.add(draft, now));
                record.position = position;
            };
            if is_worth_a_write {
                self.save(&mut queue, run, change);
            } else {
                change(record);
            }
        }
        drop(queue);
        if !is_all {
            self.check_log(run);
        }
    }

    /// Changes the record of a run and writes it. It is forgotten here when there is nothing left to do.
    fn save(&self, queue: &mut Queue, run: RunId, change: impl FnOnce(&mut Record)) {
        let Queue { records, counts, .. } = queue;
        let Some(record) = records.get_mut(&run) else { return };
        let before = record.totals();
        change(record);
        let [tries, delivered, given_up] = record.totals();
        let (tries, delivered) = (tries.saturating_sub(before[0]), delivered.saturating_sub(before[1]));
        counts.delivered += delivered;
        counts.failed_tries += tries.saturating_sub(delivered);
        counts.given_up += given_up.saturating_sub(before[2]);
        let (saved, is_done) = (self.outbox.save(record), record.is_done());
        match saved {
            Ok(()) if is_done => return self.drop_run(queue, run),
            Ok(()) => drop(queue.unsaved.remove(&run)),
            Err(error) => {
                queue.unsaved.insert(run, Instant::now() + SAVE_RETRY_DELAY);
                queue.note_trouble(error);
            }
        }
        queue.index(run);
    }

    fn save_again(&self) {
        let mut queue = lock(&self.queue);
        let due = queue.unsaved.iter().filter(|(_, at)| **at <= Instant::now()).map(|(run, _)| *run);
        due.collect::<Vec<_>>().into_iter().for_each(|run| self.save(&mut queue, run, |_| ()));
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
        queue.drop_record(run);
        lock(&self.inbox).watched.remove(&run);
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
            queue.index(attempt.run);
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
