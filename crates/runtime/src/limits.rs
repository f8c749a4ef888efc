//! How much may run at once, and how long finished runs are kept.

use std::collections::BTreeMap;
use std::time::Duration;

/// Engine processes at the same time, and runs that wait for their turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotLimits {
    pub total: usize,
    /// For engines that `by_engine` does not name.
    pub per_engine: usize,
    pub by_engine: BTreeMap<String, usize>,
    /// Processes that stay alive between turns have slots of their own.
    pub sticky: usize,
    /// Runs that may wait for a slot; more are refused.
    pub queued: usize,
}

impl Default for SlotLimits {
    fn default() -> Self {
        Self { total: 4, per_engine: 4, by_engine: BTreeMap::new(), sticky: 4, queued: 1_000 }
    }
}

/// What may be removed. Runs that are not over are always kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    pub succeeded: Keep,
    /// Kept at least as long as succeeded ones.
    pub failed: Keep,
    pub canceled: Keep,
    /// For all runs together; the oldest are removed first.
    pub max_bytes: Option<u64>,
    /// The age at which evidence is removed; the rest of the run stays as long as the other limits say.
    pub evidence_age: Option<Duration>,
}

/// None: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keep {
    pub age: Option<Duration>,
    pub count: Option<usize>,
}
