//! How much may run at once.

use std::collections::BTreeMap;

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
