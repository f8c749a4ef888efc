//! The delivery thread: it reads new events, records the messages for them, and starts a try for each message that is
//! due.
//!
//! A message is on the disk before it is sent, and sent again with the same id after a crash. Each try has its own
//! thread, a few at a time, so that a slow receiver delays only messages to itself.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use skillrun_base::sync::lock;
use skillrun_model::{IgnoredError, RunId, Timestamp};

use super::address::{PrivateAddresses, Url};
use super::follow::{self, FollowRest, Unread};
use super::outbox::Held;
use super::record::{Delivery, DeliveryState, Meaning};
use super::send::Tried;
use super::shared::{Entry, OnDisk, Outcome, Shared, Thread};

/// Minimum interval between two reads of a run that writes without a pause.
const LOG_READ_INTERVAL: Duration = Duration::from_millis(50);

/// Number of pieces of one Log that are read before other Logs have their turn.
const PIECES: usize = 4;

/// Delay before a failed write of a record is retried.
const SAVE_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The clock may be set, so it is checked from time to time.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A scheduled message. The earliest one is on top of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Timestamp,
    /// The order in which messages of the same time were scheduled.
    number: u64,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    run: RunId,
    index: usize,
}

/// Does not affect the order: numbers differ.
impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Place {}
impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Place {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

#[derive(Debug)]
pub(super) struct Deliverer {
    shared: Arc<Shared>,
    held_files: Held,
    heap: BinaryHeap<Reverse<Due>>,
    planned: u64,
    /// Ids of messages under way, and their receivers.
    under_way: HashMap<String, String>,
    /// Messages that are due while their receiver is busy. They return to the heap with the next outcome.
    held: Vec<Due>,
    next_look: Instant,
    next_save: Option<Instant>,
}

/// Why the thread was woken.
enum News {
    Work { looks: HashSet<RunId>, outcomes: Vec<Outcome> },
    Stop { outcomes: Vec<Outcome>, until: Instant },
}

impl Deliverer {
    pub(super) fn new(shared: Arc<Shared>, held_files: Held) -> Self {
        let mut deliverer = Self {
            shared,
            held_files,
            heap: BinaryHeap::new(),
            planned: 0,
            under_way: HashMap::new(),
            held: Vec::new(),
            next_look: Instant::now(),
            next_save: None,
        };
        let runs: Vec<RunId> = lock(&deliverer.shared.records).keys().copied().collect();
        runs.into_iter().for_each(|run| deliverer.plan(run));
        deliverer
    }

    pub(super) fn run(mut self) {
        loop {
            match self.wait() {
                News::Work { looks, outcomes } => {
                    outcomes.into_iter().for_each(|outcome| self.settle(outcome));
                    if !looks.is_empty() {
                        looks.into_iter().for_each(|run| self.read(run));
                        self.next_look = Instant::now() + LOG_READ_INTERVAL;
                    }
                    self.save_again();
                    self.send_due();
                }
                News::Stop { outcomes, until } => {
                    outcomes.into_iter().for_each(|outcome| self.settle(outcome));
                    if self.under_way.is_empty() || Instant::now() >= until {
                        break;
                    }
                }
            }
        }
        // Before the stop is signaled: the waiting thread may start a new service at once.
        drop(self.held_files);
        self.shared.update_inbox(|inbox| inbox.thread = Thread::None);
    }

    fn wait(&mut self) -> News {
        let now = Instant::now();
        let mut until = now + LONGEST_WAIT;
        if let Some(Reverse(due)) = self.heap.peek()
            && self.under_way.len() < self.shared.pace.at_once
        {
            let wait = due.at.millis_since(self.shared.clock.now()).map_or(0, |millis| millis + 1);
            until = until.min(now + Duration::from_millis(wait));
        }
        until = self.next_save.map_or(until, |save| until.min(save));
        let (next_look, has_tries) = (self.next_look, !self.under_way.is_empty());
        self.shared.wait(|inbox| {
            let now = Instant::now();
            if let Some(stop) = inbox.stop {
                let is_ready = !has_tries || !inbox.outcomes.is_empty() || now >= stop;
                if !is_ready {
                    return Err(stop);
                }
                return Ok(News::Stop { outcomes: std::mem::take(&mut inbox.outcomes), until: stop });
            }
            let is_look_time = !inbox.looks.is_empty() && now >= next_look;
            if is_look_time || !inbox.outcomes.is_empty() || now >= until {
                let looks = if is_look_time { std::mem::take(&mut inbox.looks) } else { HashSet::new() };
                return Ok(News::Work { looks, outcomes: std::mem::take(&mut inbox.outcomes) });
            }
            Err(if inbox.looks.is_empty() { until } else { until.min(next_look) })
        })
    }

    /// Puts the pending messages of a run on the heap. A message that is there twice is sent once.
    fn plan(&mut self, run: RunId) {
        let shared = self.shared.clone();
        let records = lock(&shared.records);
        let pending = records.get(&run).into_iter().flat_map(|entry| entry.record.pending());
        for (index, message) in pending {
            self.push(run, index, message);
        }
    }

    fn push(&mut self, run: RunId, index: usize, message: &Delivery) {
        let Some(at) = message.next_try_at else { return };
        self.planned += 1;
        self.heap.push(Reverse(Due { at, number: self.planned, place: Place { run, index } }));
    }

    fn read(&mut self, run: RunId) {
        let shared = self.shared.clone();
        for _ in 0..PIECES {
            let Some(from) = lock(&shared.records).get(&run).map(|entry| entry.record.position.clone()) else { return };
            let piece = match follow::read_on(shared.log.as_ref(), run, &from) {
                Ok(piece) => piece,
                Err(Unread::Missing) => {
                    // A run that was not removed may not have a Log yet.
                    if !shared.outbox.has_run(run) {
                        self.forget(run);
                    }
                    return;
                }
                Err(Unread::Failed(error)) => return shared.note_trouble(error),
            };
            let mut records = lock(&shared.records);
            let Some(entry) = records.get_mut(&run) else { return };
            // An address was added meanwhile; its messages come from the beginning.
            if entry.record.position != from {
                continue;
            }
            let (now, before) = (shared.clock.now(), entry.record.messages.len());
            piece.drafts.iter().for_each(|draft| entry.record.add(draft, now));
            entry.record.position = piece.position;
            let added = entry.record.messages[before..].to_vec();
            shared.counters.given_up.fetch_add(count_given_up(&added), Ordering::Relaxed);
            // A position alone is not worth a write: reading from an older one produces the same messages.
            if !piece.drafts.is_empty() {
                self.save(entry);
            }
            drop(records);
            added.iter().enumerate().for_each(|(i, message)| self.push(run, before + i, message));
            if piece.rest == FollowRest::Nothing {
                return self.finish(run);
            }
        }
        shared.check_log(run);
    }

    fn save(&mut self, entry: &mut Entry) {
        entry.on_disk = match self.shared.outbox.save(&entry.record) {
            Ok(()) => OnDisk::Same,
            Err(error) => {
                self.shared.note_trouble(error);
                self.next_save = Some(Instant::now() + SAVE_RETRY_DELAY);
                OnDisk::Older
            }
        };
    }

    fn save_again(&mut self) {
        if self.next_save.take_if(|at| *at <= Instant::now()).is_none() {
            return;
        }
        let shared = self.shared.clone();
        let mut runs = Vec::new();
        for (run, entry) in lock(&shared.records).iter_mut() {
            if entry.on_disk == OnDisk::Older {
                self.save(entry);
                runs.push(*run);
            }
        }
        for run in runs {
            self.plan(run);
            self.finish(run);
        }
    }

    /// Moves a record to its run when there is nothing left to do.
    fn finish(&mut self, run: RunId) {
        let shared = self.shared.clone();
        let mut records = lock(&shared.records);
        let Some(entry) = records.get_mut(&run).filter(|entry| entry.record.is_done()) else { return };
        match shared.outbox.archive(&entry.record) {
            Ok(()) => {
                records.remove(&run);
                shared.update_inbox(|inbox| {
                    inbox.watched.remove(&run);
                    inbox.looks.remove(&run);
                });
            }
            Err(error) => {
                shared.note_trouble(error);
                entry.on_disk = OnDisk::Older;
                self.next_save = Some(Instant::now() + SAVE_RETRY_DELAY);
            }
        }
    }

    /// The run was removed; no more messages are sent for it.
    fn forget(&mut self, run: RunId) {
        let mut records = lock(&self.shared.records);
        if let Err(error) = self.shared.outbox.remove(run) {
            return self.shared.note_trouble(error);
        }
        records.remove(&run);
        self.shared.update_inbox(|inbox| {
            inbox.watched.remove(&run);
            inbox.looks.remove(&run);
        });
    }

    fn send_due(&mut self) {
        let Some(secret) = lock(&self.shared.secret).clone() else { return };
        let now = self.shared.clock.now();
        while self.under_way.len() < self.shared.pace.at_once
            && let Some(Reverse(due)) = self.heap.peek().copied().filter(|Reverse(due)| due.at <= now)
        {
            self.heap.pop();
            let Place { run, index } = due.place;
            let shared = self.shared.clone();
            let records = lock(&shared.records);
            let Some(entry) = records.get(&run).filter(|entry| entry.on_disk == OnDisk::Same) else { continue };
            let Some(message) = entry.record.messages.get(index) else { continue };
            // An outdated entry, or one that must wait for another message; that one puts it back on the heap.
            let is_current = message.next_try_at == Some(due.at) && !self.under_way.contains_key(&message.id);
            if !is_current || !entry.record.may_go(index) {
                continue;
            }
            let receiver = Url::parse(&message.url, PrivateAddresses::Allowed);
            let receiver = receiver.map_or_else(|_| message.url.clone(), |url| url.receiver().to_owned());
            if self.under_way.values().filter(|busy| **busy == receiver).count() >= shared.pace.at_once_to_one {
                self.held.push(due);
                continue;
            }
            let body = entry.record.body(message).map(str::to_owned);
            let (id, url) = (message.id.clone(), message.url.clone());
            drop(records);
            if !shared.outbox.has_run(run) {
                self.forget(run);
                continue;
            }
            self.under_way.insert(id.clone(), receiver);
            let seconds = now.millis_since(Timestamp::EPOCH).unwrap_or(0) / 1000;
            let (secret, for_thread) = (secret.clone(), id.clone());
            let started = thread::Builder::new().name("webhook".to_owned()).spawn(move || {
                let send = || shared.sender.send(&secret, &url, &for_thread, seconds, body.as_deref().unwrap_or("{}"));
                // A slot that is not released would be lost for good.
                let tried = catch_unwind(AssertUnwindSafe(send));
                let tried = tried.unwrap_or_else(|_| Tried::Failed { error: "the try was aborted".to_owned() });
                shared.update_inbox(|inbox| inbox.outcomes.push(Outcome { run, index, id: for_thread, tried }));
            });
            if let Err(error) = started {
                self.settle(Outcome { run, index, id, tried: Tried::Failed { error: error.to_string() } });
            }
        }
    }

    fn settle(&mut self, outcome: Outcome) {
        let Outcome { run, index, id, tried } = outcome;
        self.under_way.remove(&id);
        self.heap.extend(self.held.drain(..).map(Reverse));
        let shared = self.shared.clone();
        let mut records = lock(&shared.records);
        let Some(entry) = records.get_mut(&run) else { return };
        let mut chance = [0; 2];
        // Without random bytes the wait is the shortest one, which is harmless.
        (shared.random)(&mut chance).ignored();
        let wait = |tries, asked| shared.pace.schedule.wait_after(tries, asked, u16::from_ne_bytes(chance));
        let (counters, before) = (&shared.counters, count_given_up(&entry.record.messages));
        match entry.record.tried(index, shared.clock.now(), &tried, wait) {
            Meaning::Delivered => counters.delivered.fetch_add(1, Ordering::Relaxed),
            Meaning::Again { .. } | Meaning::GivenUp => counters.failed_tries.fetch_add(1, Ordering::Relaxed),
            Meaning::Nothing => 0,
        };
        let given_up = count_given_up(&entry.record.messages).saturating_sub(before);
        counters.given_up.fetch_add(given_up, Ordering::Relaxed);
        self.save(entry);
        for next in [Some(index), entry.record.next_after(index)].into_iter().flatten() {
            let message = entry.record.messages[next].clone();
            self.push(run, next, &message);
        }
        drop(records);
        self.finish(run);
    }
}

fn count_given_up(messages: &[Delivery]) -> u64 {
    messages.iter().filter(|message| message.state == DeliveryState::GivenUp).count() as u64
}
