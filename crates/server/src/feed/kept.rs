//! Conversations that are kept without a reader, for readers that reconnect at once.
//!
//! Each holds a file open, and with it the disk space of a run that may be removed meanwhile. So their number is
//! limited, and none stays for long.

use std::sync::Arc;

use skillrun_model::RunId;

/// Maximum number; the least recently used one is dropped first.
const MOST: usize = 32;

/// A conversation without a reader for this number of consecutive checks is dropped. Checks are seconds apart.
const IDLE_CHECKS_MAX: u32 = 12;

#[derive(Debug)]
pub(super) struct Kept<T> {
    /// The most recently used one is at the end.
    entries: Vec<Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    run: RunId,
    what: Arc<T>,
    /// Checks since it last had a reader.
    unused: u32,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> Kept<T> {
    /// Moves it to the caller, who puts it back if it is still valid.
    pub(super) fn take(&mut self, run: RunId) -> Option<Arc<T>> {
        let at = self.entries.iter().position(|entry| entry.run == run)?;
        Some(self.entries.remove(at).what)
    }

    /// Keeps a conversation and returns it; if another task was quicker, returns the other one.
    pub(super) fn put(&mut self, run: RunId, what: Arc<T>) -> Arc<T> {
        if let Some(other) = self.entries.iter().find(|entry| entry.run == run) {
            return other.what.clone();
        }
        self.entries.push(Entry { run, what: what.clone(), unused: 0 });
        if self.entries.len() > MOST {
            self.entries.remove(0);
        }
        what
    }

    /// One check: returns the conversations to be dropped.
    pub(super) fn let_go(&mut self) -> Vec<Arc<T>> {
        for entry in &mut self.entries {
            entry.unused = if Arc::strong_count(&entry.what) > 1 { 0 } else { entry.unused + 1 };
        }
        let is_old = |entry: &mut Entry<T>| entry.unused >= IDLE_CHECKS_MAX;
        self.entries.extract_if(.., is_old).map(|entry| entry.what).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: u64) -> RunId {
        RunId::new(n, [7; 10])
    }

    #[test]
    fn the_one_that_was_wanted_longest_ago_goes_first() {
        let mut kept = Kept::default();
        let most = MOST as u64;
        for n in 0..most {
            kept.put(run(n), Arc::new(n));
        }
        let wanted = kept.take(run(0)).expect("kept");
        kept.put(run(0), wanted);
        kept.put(run(most), Arc::new(most));
        assert_eq!((kept.take(run(1)), kept.entries.len()), (None, MOST));
        assert_eq!(kept.take(run(0)).as_deref(), Some(&0));
    }

    #[test]
    fn of_two_that_come_at_once_the_first_is_kept() {
        let mut kept = Kept::default();
        kept.put(run(1), Arc::new("first"));
        assert_eq!(*kept.put(run(1), Arc::new("second")), "first");
        assert_eq!(kept.entries.len(), 1);
    }

    /// Found by `make soak`: descriptors of runs that were removed long ago, and their disk space, were kept.
    #[test]
    fn unused_conversations_are_dropped_and_used_ones_stay() {
        let mut kept = Kept::default();
        let read = kept.put(run(1), Arc::new(1));
        kept.put(run(2), Arc::new(2));
        let looks = |kept: &mut Kept<i32>, times: u32| (0..times).flat_map(|_| kept.let_go()).collect::<Vec<_>>();
        assert_eq!(looks(&mut kept, IDLE_CHECKS_MAX - 1), []);
        let wanted = kept.take(run(2)).expect("kept");
        drop(kept.put(run(2), wanted));
        assert_eq!(looks(&mut kept, IDLE_CHECKS_MAX - 1), [], "it was wanted in between");
        assert_eq!(looks(&mut kept, 1), [Arc::new(2)]);
        assert_eq!(looks(&mut kept, IDLE_CHECKS_MAX), []);
        drop(read);
        assert_eq!(looks(&mut kept, IDLE_CHECKS_MAX), [Arc::new(1)]);
        assert_eq!(kept.entries.len(), 0);
    }
}
