//! The messages that are due, and the threads that send them.
//!
//! One thread reads Logs, records messages and starts tries. Each try has its own thread, which records the outcome; a
//! few run at a time, so that a slow receiver delays only messages to itself.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_base::sync::lock;
use skillrun_log::{EventLog, FileLog, Limits, LogErrorKind, LogRead};
use skillrun_model::{IgnoredError, RunId, Timestamp};
use skillrun_runtime::Clock;

use super::address::{PrivateAddresses, Url};
use super::outbox::Outbox;
use super::record::{Delivery, Meaning, Position, Record};
use super::secret::{Random, Secret};
use super::send::{SendTimeouts, Sender, Tried};

/// The Log is read in pieces of about this size.
const PIECE: Limits = Limits { events: 4_096, bytes: 1024 * 1024 };

/// Number of pieces of one Log that are read before other Logs have their turn.
const PIECES: usize = 4;

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
    /// Whether it is on the disk as it is here. Messages of the run are sent only then.
    is_saved: bool,
}

/// One receiver, which is a host and a port.
#[derive(Debug, Default)]
struct Lane {
    /// Number of tries under way.
    busy: usize,
    /// Messages that are not under way, by the time of their next try, then in the order in which they were planned.
    due: BTreeMap<(Timestamp, u64), (RunId, usize)>,
}

/// A message that is tried.
#[derive(Debug, Clone)]
struct Try {
    run: RunId,
    index: usize,
    receiver: String,
    id: String,
    url: String,
    body: String,
}

/// All runs with messages to send. Locked while a record is written.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: HashMap<RunId, Entry>,
    lanes: HashMap<String, Lane>,
    planned: u64,
    next_save: Option<Instant>,
    counts: WebhookCounts,
    pub(super) last_trouble: Option<String>,
    /// The lock of the files. None: another process may send messages by now.
    lock_file: Option<File>,
}

/// Never locked for long: the writers of Logs wait for it.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    watched: HashSet<RunId>,
    /// Those of them that may have new events.
    news: HashSet<RunId>,
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
        self.entries.get(&run).map(|entry| &entry.record)
    }

    /// Adds a record that is on the disk, or replaces it by one with the same messages.
    pub(super) fn put(&mut self, record: Record) {
        if !self.entries.contains_key(&record.run_id) {
            record.pending().for_each(|(index, message)| self.plan(record.run_id, index, message));
        }
        self.entries.insert(record.run_id, Entry { record, is_saved: true });
    }

    fn plan(&mut self, run: RunId, index: usize, message: &Delivery) {
        let Some(at) = message.next_try_at else { return };
        let receiver = Url::parse(&message.url, PrivateAddresses::Allowed);
        let receiver = receiver.map_or_else(|_| message.url.clone(), |url| url.receiver().to_owned());
        self.planned += 1;
        self.lanes.entry(receiver).or_default().due.insert((at, self.planned), (run, index));
    }

    /// Removes messages that are no longer pending.
    fn prune(&mut self) {
        let Self { lanes, entries, .. } = self;
        let is_pending = |(run, index): &(RunId, usize)| {
            let message = entries.get(run).and_then(|entry| entry.record.messages.get(*index));
            message.is_some_and(|message| message.next_try_at.is_some())
        };
        lanes.values_mut().for_each(|lane| lane.due.retain(|_, place| is_pending(place)));
    }

    /// The message to try next, which counts as under way from now on.
    fn next_try(&mut self, now: Timestamp, pace: &Pace) -> Option<Try> {
        let Self { lanes, entries, .. } = self;
        let may_go = |(_, (run, index)): &(&(Timestamp, u64), &(RunId, usize))| {
            entries.get(run).is_some_and(|entry| entry.is_saved && entry.record.may_go(*index))
        };
        let of_lane = |lane: &Lane| lane.due.range(..=(now, u64::MAX)).find(may_go).map(|(key, _)| *key);
        let ready = lanes.iter().filter(|(_, lane)| lane.busy < pace.at_once_to_one);
        let (key, receiver) = ready.filter_map(|(name, lane)| Some((of_lane(lane)?, name.clone()))).min()?;
        let lane = lanes.get_mut(&receiver)?;
        let (run, index) = lane.due.remove(&key)?;
        lane.busy += 1;
        let record = &entries.get(&run)?.record;
        let message = record.messages.get(index)?;
        let body = record.body(message).unwrap_or("{}").to_owned();
        Some(Try { run, index, receiver, id: message.id.clone(), url: message.url.clone(), body })
    }

    fn under_way(&self) -> usize {
        self.lanes.values().map(|lane| lane.busy).sum()
    }

    /// How long no message becomes due. One that is due and has to wait for another one is not counted.
    fn idle_time(&self, now: Timestamp) -> Duration {
        let later = self.lanes.values().filter_map(|lane| lane.due.range((now, u64::MAX)..).next());
        let next = later.map(|((at, _), _)| at.millis_since(now).unwrap_or(0)).min();
        next.map_or(LONGEST_WAIT, |millis| LONGEST_WAIT.min(Duration::from_millis(millis + 1)))
    }

    pub(super) fn counts(&self) -> WebhookCounts {
        let pending = self.entries.values().map(|entry| entry.record.pending().count() as u64).sum();
        WebhookCounts { pending, ..self.counts }
    }
}

impl Shared {
    /// Wakes the thread.
    pub(super) fn ring(&self) {
        // It may be ringing already.
        let _is_new = self.bell.try_send(());
    }

    pub(super) fn watch(&self, run: RunId) {
        lock(&self.inbox).watched.insert(run);
        self.check_log(run);
    }

    /// Runs without webhooks ring too; they do not wake the thread.
    pub(super) fn check_log(&self, run: RunId) {
        let mut inbox = lock(&self.inbox);
        if inbox.watched.contains(&run) && inbox.news.insert(run) {
            self.ring();
        }
    }

    pub(super) fn note_trouble(&self, queue: &mut Queue, trouble: impl std::fmt::Display) {
        tracing::warn!(%trouble, "webhooks");
        queue.last_trouble = Some(trouble.to_string());
    }

    /// The thread that reads Logs and starts tries.
    pub(super) fn run(self: &Arc<Self>, bell: &Receiver<()>) {
        let mut next_read = Instant::now();
        let stop = loop {
            let mut until = self.send_due();
            if let Some(stop) = self.stop.get() {
                break *stop;
            }
            if !lock(&self.inbox).news.is_empty() {
                until = until.min(next_read);
            }
            let _is_rung = bell.recv_timeout(until.saturating_duration_since(Instant::now()));
            if Instant::now() >= next_read {
                let news = std::mem::take(&mut lock(&self.inbox).news);
                if !news.is_empty() {
                    news.into_iter().for_each(|run| self.read(run));
                    next_read = Instant::now() + LOG_READ_INTERVAL;
                }
            }
            self.save_again();
        };
        while lock(&self.queue).under_way() > 0
            && let Some(left) = stop.checked_duration_since(Instant::now())
        {
            let _is_rung = bell.recv_timeout(left);
        }
        // Before the thread ends: a new service may be started at once.
        lock(&self.queue).lock_file = None;
    }

    fn read(&self, run: RunId) {
        for _ in 0..PIECES {
            let Some(from) = lock(&self.queue).record(run).map(|record| record.position.clone()) else { return };
            let (mut position, mut drafts, mut is_all) = (from.clone(), Vec::new(), false);
            match self.log.read(run, from.cursor(), PIECE) {
                Ok(LogRead::Page(page)) if page.is_empty() => is_all = true,
                Ok(LogRead::Page(page)) => drafts = position.read(&page),
                // Seqs were lost. Messages already sent are not repeated: a message made again has the same id.
                Ok(LogRead::Reset(_)) => position = Position::default(),
                Err(error) if matches!(error.kind, LogErrorKind::NotFound | LogErrorKind::Gone) => {
                    // A run that was not removed may not have a Log yet.
                    if !self.outbox.has_run(run) {
                        self.forget(run);
                    }
                    return;
                }
                Err(error) => return self.note_trouble(&mut lock(&self.queue), error),
            }
            let (mut queue, now) = (lock(&self.queue), self.clock.now());
            let Some(record) = queue.entries.get_mut(&run).map(|entry| &mut entry.record) else { return };
            // An address was added meanwhile; its messages come from the beginning.
            if record.position != from {
                continue;
            }
            let (before, given_up) = (record.messages.len(), record.given_up());
            drafts.iter().for_each(|draft| record.add(draft, now));
            record.position = position;
            let (added, given_up) = (record.messages[before..].to_vec(), record.given_up() - given_up);
            queue.counts.given_up += given_up;
            added.iter().enumerate().for_each(|(i, message)| queue.plan(run, before + i, message));
            // A position alone is not worth a write: reading from an older one produces the same messages.
            let is_done = is_all && queue.record(run).is_some_and(Record::is_done);
            if !drafts.is_empty() || is_done {
                self.save(&mut queue, run);
            }
            if is_all {
                return;
            }
        }
        self.check_log(run);
    }

    /// Writes the record of a run, which is forgotten here when there is nothing left to do.
    fn save(&self, queue: &mut Queue, run: RunId) {
        let Some(entry) = queue.entries.get_mut(&run) else { return };
        let saved = self.outbox.save(&entry.record);
        entry.is_saved = saved.is_ok();
        match saved {
            Ok(()) if entry.record.is_done() => self.drop_run(queue, run),
            Ok(()) => {}
            Err(error) => {
                queue.next_save = Some(Instant::now() + SAVE_RETRY_DELAY);
                self.note_trouble(queue, error);
            }
        }
    }

    fn save_again(&self) {
        let mut queue = lock(&self.queue);
        if queue.next_save.take_if(|at| *at <= Instant::now()).is_some() {
            let unsaved = queue.entries.iter().filter(|(_, entry)| !entry.is_saved).map(|(run, _)| *run);
            unsaved.collect::<Vec<_>>().into_iter().for_each(|run| self.save(&mut queue, run));
        }
    }

    /// The run was removed; no more messages are sent for it.
    fn forget(&self, run: RunId) {
        let mut queue = lock(&self.queue);
        match self.outbox.remove(run) {
            Ok(()) => {
                self.drop_run(&mut queue, run);
                queue.prune();
            }
            Err(error) => self.note_trouble(&mut queue, error),
        }
    }

    fn drop_run(&self, queue: &mut Queue, run: RunId) {
        queue.entries.remove(&run);
        let mut inbox = lock(&self.inbox);
        inbox.watched.remove(&run);
        inbox.news.remove(&run);
    }

    /// Starts all tries that may start now. Returns when to look again, if nothing else happens.
    fn send_due(self: &Arc<Self>) -> Instant {
        let now = self.clock.now();
        loop {
            let mut queue = lock(&self.queue);
            let has_room = queue.under_way() < self.pace.at_once;
            let may_start = has_room && self.stop.get().is_none();
            let secret = self.secret.get().filter(|_| may_start).cloned();
            let Some((secret, attempt)) = secret.and_then(|secret| Some((secret, queue.next_try(now, &self.pace)?)))
            else {
                let until = Instant::now() + if has_room { queue.idle_time(now) } else { LONGEST_WAIT };
                return queue.next_save.map_or(until, |save| until.min(save));
            };
            drop(queue);
            if !self.outbox.has_run(attempt.run) {
                self.forget(attempt.run);
                self.settle(&attempt, &Tried::Failed { error: "the run was removed".to_owned() });
                continue;
            }
            let seconds = now.millis_since(Timestamp::EPOCH).unwrap_or(0) / 1000;
            let (shared, tried) = (self.clone(), attempt.clone());
            let started = thread::Builder::new().name("webhook".to_owned()).spawn(move || {
                let Try { id, url, body, .. } = &tried;
                let send = || shared.sender.send(&secret, url, id, seconds, body);
                // A slot that is not released would be lost for good.
                let outcome = catch_unwind(AssertUnwindSafe(send));
                let aborted = |_| Tried::Failed { error: "the try was aborted".to_owned() };
                shared.settle(&tried, &outcome.unwrap_or_else(aborted));
            });
            if let Err(error) = started {
                self.settle(&attempt, &Tried::Failed { error: error.to_string() });
            }
        }
    }

    /// Records the outcome of a try.
    fn settle(&self, attempt: &Try, outcome: &Tried) {
        let Try { run, index, receiver, .. } = attempt;
        let mut queue = lock(&self.queue);
        if let Some(lane) = queue.lanes.get_mut(receiver) {
            lane.busy -= 1;
        }
        let is_ours = queue.lock_file.is_some();
        if let Some(entry) = queue.entries.get_mut(run).filter(|_| is_ours) {
            let mut chance = [0; 2];
            // Without random bytes the wait is the shortest one, which is harmless.
            (self.random)(&mut chance).ignored();
            let wait = |tries, asked| self.pace.wait_after(tries, asked, u16::from_ne_bytes(chance));
            let before = entry.record.given_up();
            let meaning = entry.record.tried(*index, self.clock.now(), outcome, wait);
            let given_up = entry.record.given_up().saturating_sub(before);
            let message = entry.record.messages[*index].clone();
            queue.counts.delivered += u64::from(meaning == Meaning::Delivered);
            queue.counts.failed_tries += u64::from(meaning == Meaning::Failed);
            queue.counts.given_up += given_up;
            queue.plan(*run, *index, &message);
            if given_up > 0 {
                queue.prune();
            }
            self.save(&mut queue, *run);
        }
        queue.lanes.retain(|_, lane| lane.busy > 0 || !lane.due.is_empty());
        self.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end() {
        let pace = Pace::default();
        let waits: Vec<_> = (1..).map_while(|tries| pace.wait_after(tries, None, 0)).map(|w| w.as_secs()).collect();
        assert_eq!(waits, [5, 30, 120, 600, 3_600, 10_800, 21_600, 43_200]);
        assert_eq!(pace.wait_after(0, None, 0), None);
    }

    #[test]
    fn chance_and_the_receiver_make_it_longer_within_bounds() {
        let pace = Pace::default();
        let seconds = |asked, random| pace.wait_after(1, asked, random).unwrap().as_secs();
        assert_eq!(seconds(None, u16::MAX), 6);
        assert_eq!(seconds(Some(Duration::from_secs(60)), 0), 60);
        assert_eq!(seconds(Some(Duration::from_secs(1)), 0), 5);
        assert_eq!(seconds(Some(Duration::from_secs(u64::MAX)), 0), 3_600);
    }
}
