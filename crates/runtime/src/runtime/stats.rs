//! Current activity, and totals since this process began: figures for monitoring.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use skillrun_base::sync::lock;
use skillrun_model::TurnState;
use skillrun_parse::types::TypeCounts;
use skillrun_translate::facts::ParseCounts;

use super::Runtime;
use crate::queue::Queue;

/// Number of engines that are counted separately; there are as many as there are files that describe them.
const ENGINES: usize = 256;

/// The name for all others.
const OTHERS: &str = "(others)";

/// Current activity, and what this process has done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    pub slots: Slots,
    /// Runs that wait for a slot.
    pub queued: Share,
    /// Runs that a thread of this process works on.
    pub active: usize,
    /// Runs that are stuck, see [`Runtime::trouble`].
    pub in_trouble: usize,
    /// Requests that became runs here.
    pub accepted: u64,
    /// Events appended here.
    pub events: u64,
    pub engines: BTreeMap<String, EngineStats>,
}

/// Slots for processes of engines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Slots {
    /// Of processes that end with their turn.
    pub turns: Share,
    /// Of processes that stay alive between turns.
    pub sticky: Share,
    /// Of engines that had one.
    pub engines: BTreeMap<String, Share>,
}

/// An amount and its limit. Processes that were already running count, so that the amount may exceed the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    pub used: usize,
    pub limit: usize,
}

/// What was settled here for one engine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EngineStats {
    /// Attempts.
    pub settled: BTreeMap<TurnState, u64>,
    pub parse: ParseTotals,
    /// Events of unknown type, by their type.
    pub unknown_types: TypeCounts,
}

/// How lines were read, over all attempts; see `parse` in `meta.N.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ParseTotals {
    pub matched: u64,
    pub inferred: u64,
    pub raw: u64,
    pub unknown: u64,
    /// Of all streams.
    pub bytes: u64,
}

/// Totals since the process began.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    accepted: AtomicU64,
    events: AtomicU64,
    engines: Mutex<BTreeMap<String, EngineStats>>,
}

impl Counters {
    pub(crate) fn accepted(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn appended(&self, events: usize) {
        self.events.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// An attempt was settled.
    pub(crate) fn settled(&self, engine: &str, turn: TurnState, parse: &ParseCounts, bytes: u64) {
        let mut engines = lock(&self.engines);
        let has_place = engines.contains_key(engine) || engines.len() < ENGINES;
        let engine = engines.entry(if has_place { engine } else { OTHERS }.to_owned()).or_default();
        *engine.settled.entry(turn).or_default() += 1;
        let ParseCounts { matched, inferred, raw, unknown, unknown_types, confidence: _ } = parse;
        engine.unknown_types.add_all(unknown_types);
        let total = &mut engine.parse;
        total.matched += matched;
        total.inferred += inferred;
        total.raw += raw;
        total.unknown += unknown;
        total.bytes += bytes;
    }

    fn engines(&self) -> BTreeMap<String, EngineStats> {
        lock(&self.engines).clone()
    }
}

impl Runtime {
    pub fn stats(&self) -> Stats {
        let counters = &self.inner.config.tools.counters;
        let engines = counters.engines();
        let table = self.inner.table();
        let (slots, queued) = shares(&table.queue);
        Stats {
            slots,
            queued,
            active: table.active().count(),
            in_trouble: table.problems(),
            accepted: counters.accepted.load(Ordering::Relaxed),
            events: counters.events.load(Ordering::Relaxed),
            engines,
        }
    }
}

fn shares(queue: &Queue) -> (Slots, Share) {
    let limits = queue.limits();
    let used = queue.used();
    let of_engine = |(name, used): (&String, &usize)| {
        let limit = limits.by_engine.get(name).copied().unwrap_or(limits.per_engine);
        (name.clone(), Share { used: *used, limit })
    };
    let slots = Slots {
        turns: Share { used: used.turns, limit: limits.total },
        sticky: Share { used: used.sticky, limit: limits.sticky },
        engines: used.by_engine.iter().map(of_engine).collect(),
    };
    (slots, Share { used: queue.waiting(), limit: limits.queued })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SlotLimits;
    use crate::queue::{Demand, SlotKind};

    #[test]
    fn engines_are_bounded_and_nothing_is_left_out() {
        let counters = Counters::default();
        let mut unknown_types = TypeCounts::default();
        unknown_types.add("new.thing", 4);
        let parse = ParseCounts { matched: 1, inferred: 2, raw: 3, unknown: 4, unknown_types, confidence: 0.5 };
        for number in 0..300 {
            counters.settled(&format!("engine {number}"), TurnState::Completed, &parse, 10);
        }
        counters.settled("engine 7", TurnState::Failed, &parse, 5);
        let engines = counters.engines();
        assert_eq!(engines.len(), ENGINES + 1);
        assert_eq!(engines[OTHERS].settled, BTreeMap::from([(TurnState::Completed, 44)]));
        let settled = BTreeMap::from([(TurnState::Completed, 1), (TurnState::Failed, 1)]);
        let totals = ParseTotals { matched: 2, inferred: 4, raw: 6, unknown: 8, bytes: 15 };
        let mut unknown_types = TypeCounts::default();
        unknown_types.add("new.thing", 8);
        assert_eq!(engines["engine 7"], EngineStats { settled, parse: totals, unknown_types });
        assert_eq!(engines[OTHERS].unknown_types.iter().collect::<Vec<_>>(), [("new.thing", 176)]);
        let all: u64 = engines.values().map(|engine| engine.parse.bytes).sum();
        assert_eq!(all, 3_005);
    }

    #[test]
    fn shares_are_those_of_the_queue() {
        let by_engine = BTreeMap::from([("a".to_owned(), 1)]);
        let mut queue = Queue::new(SlotLimits { total: 2, per_engine: 9, by_engine, sticky: 3, queued: 5 });
        let demand = |engine: &str, kind| Demand { engine: engine.to_owned(), kind, priority: 0, not_before: None };
        let run = |n: u8| skillrun_model::RunId::new(u64::from(n), [n; 10]);
        let slot = queue.take(demand("a", SlotKind::Sticky));
        queue.take(demand("b", SlotKind::Turn));
        queue.push(run(1), demand("a", SlotKind::Turn));
        let share = |used, limit| Share { used, limit };
        let (slots, queued) = shares(&queue);
        assert_eq!((slots.turns, slots.sticky, queued), (share(1, 2), share(1, 3), share(1, 5)));
        let engines = [("a".to_owned(), share(1, 1)), ("b".to_owned(), share(1, 9))];
        assert_eq!(slots.engines, BTreeMap::from(engines));
        queue.give_back(slot);
        assert_eq!(shares(&queue).0.sticky, share(0, 3));
    }
}
