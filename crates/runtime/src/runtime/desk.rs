//! What is going on at this moment.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use skillrun_model::{InteractionId, RunId, Timestamp};

use crate::limits::SlotLimits;
use crate::mailbox::Mailbox;
use crate::queue::Queue;

#[derive(Debug)]
pub(super) struct Desk {
    pub(super) queue: Queue,
    active: HashMap<RunId, Arc<Mailbox>>,
    /// Questions whose time will be up, by moment.
    timers: BTreeMap<(Timestamp, u64), (RunId, InteractionId)>,
    armed: u64,
    pub(super) troubles: HashMap<RunId, Trouble>,
    pub(super) is_leaving: bool,
    pub(super) has_clockwork: bool,
}

/// Something went wrong with a run that may go right later, such as a full disk.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) words: String,
    pub(super) tries: u32,
    /// When it is tried again; none when it is given up.
    pub(super) again: Option<Instant>,
}

impl Desk {
    pub(super) fn new(slots: SlotLimits) -> Self {
        Self {
            queue: Queue::new(slots),
            active: HashMap::new(),
            timers: BTreeMap::new(),
            armed: 0,
            troubles: HashMap::new(),
            is_leaving: false,
            has_clockwork: false,
        }
    }

    pub(super) fn mailbox(&self, run: RunId) -> Option<Arc<Mailbox>> {
        self.active.get(&run).cloned()
    }

    pub(super) fn active_runs(&self) -> Vec<RunId> {
        self.active.keys().copied().collect()
    }

    pub(super) fn begin(&mut self, run: RunId, mailbox: Arc<Mailbox>) {
        self.active.insert(run, mailbox);
    }

    pub(super) fn end(&mut self, run: RunId) {
        self.active.remove(&run);
    }

    pub(super) fn is_active(&self, run: RunId) -> bool {
        self.active.contains_key(&run)
    }

    pub(super) fn arm(&mut self, at: Timestamp, run: RunId, interaction_id: InteractionId) {
        self.disarm(run);
        self.armed += 1;
        self.timers.insert((at, self.armed), (run, interaction_id));
    }

    pub(super) fn disarm(&mut self, run: RunId) {
        self.timers.retain(|_, (waiting, _)| *waiting != run);
    }

    /// The first that is due, taken out.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<(RunId, InteractionId)> {
        let first = *self.timers.first_key_value().filter(|((at, _), _)| *at <= now)?.0;
        self.timers.remove(&first)
    }

    pub(super) fn next_timer(&self) -> Option<Timestamp> {
        self.timers.first_key_value().map(|((at, _), _)| *at)
    }

    /// A run that is tried again now.
    pub(super) fn take_retry(&mut self, now: Instant) -> Option<RunId> {
        let due = |trouble: &Trouble| trouble.again.is_some_and(|at| at <= now);
        let run = self.troubles.iter().find(|(_, trouble)| due(trouble)).map(|(run, _)| *run)?;
        if let Some(trouble) = self.troubles.get_mut(&run) {
            trouble.again = None;
        }
        Some(run)
    }

    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.troubles.values().filter_map(|trouble| trouble.again).min()
    }

    /// Something will be done for it without anybody asking.
    pub(super) fn has(&self, run: RunId) -> bool {
        self.is_active(run)
            || self.queue.has(run)
            || self.timers.values().any(|(waiting, _)| *waiting == run)
            || self.troubles.get(&run).is_some_and(|trouble| trouble.again.is_some())
    }

    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty() && self.queue.len() == 0 && self.timers.is_empty() && self.next_retry().is_none()
    }
}
