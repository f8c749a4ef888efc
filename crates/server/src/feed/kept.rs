//! Conversations that are kept although nobody reads them, for readers that come again at once.
//!
//! Each holds a file open, and with it the room on the disk of a run that may be removed meanwhile. So there are only so
//! many, and none stays for long.

use std::sync::Arc;

use skillrun_model::RunId;

/// So many at the same time; the one that was wanted longest ago goes first.
const MOST: usize = 32;

/// One that nobody had at so many looks in a row goes. Looks are seconds apart.
const LOOKS: u32 = 12;

#[derive(Debug)]
pub(super) struct Kept<T> {
    /// The one that was wanted last is at the end.
    entries: Vec<Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    run: RunId,
    what: Arc<T>,
    /// Looks since somebody had it.
    unused: u32,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> Kept<T> {
    /// It is the caller's now, who puts it back if it is still good.
    pub(super) fn take(&mut self, run: RunId) -> Option<Arc<T>> {
        let at = self.entries.iter().position(|entry| entry.run == run)?;
        Some(self.entries.remove(at).what)
    }

    /// Keeps one, and gives it back; where somebody else was quicker, theirs.
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

    /// A look: gives those that nobody wants any more, to be dropped.
    pub(super) fn let_go(&mut self) -> Vec<Arc<T>> {
        for entry in &mut self.entries {
            entry.unused = if Arc::strong_count(&entry.what) > 1 { 0 } else { entry.unused + 1 };
        }
        let is_old = |entry: &mut Entry<T>| entry.unused >= LOOKS;
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

    /// Found by `make soak`: descriptors of runs that were removed long ago, and the room they took.
    #[test]
    fn what_nobody_wants_goes_and_what_is_read_stays() {
        let mut kept = Kept::default();
        let read = kept.put(run(1), Arc::new(1));
        kept.put(run(2), Arc::new(2));
        let looks = |kept: &mut Kept<i32>, times: u32| (0..times).flat_map(|_| kept.let_go()).collect::<Vec<_>>();
        assert_eq!(looks(&mut kept, LOOKS - 1), []);
        let wanted = kept.take(run(2)).expect("kept");
        drop(kept.put(run(2), wanted));
        assert_eq!(looks(&mut kept, LOOKS - 1), [], "it was wanted in between");
        assert_eq!(looks(&mut kept, 1), [Arc::new(2)]);
        assert_eq!(looks(&mut kept, LOOKS), []);
        drop(read);
        assert_eq!(looks(&mut kept, LOOKS), [Arc::new(1)]);
        assert_eq!(kept.entries.len(), 0);
    }
}
