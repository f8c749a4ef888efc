//! Fair access to something that one thread uses at a time. A plain mutex goes to the quickest thread, which is the one
//! that has just released it; here a query waits only for the current user and for queries that came before it.

use std::sync::{Mutex, MutexGuard};

use skillrun_base::sync::lock;

#[derive(Debug)]
pub(super) struct Turns<T> {
    thing: Mutex<T>,
    /// Held by the thread that gets the value next.
    next: Mutex<()>,
    /// Held by one of the threads that read in pieces.
    again: Mutex<()>,
}

/// What a turn is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// One query.
    Ask,
    /// One piece of many.
    ReadOn,
}

/// The value, for one turn.
#[derive(Debug)]
pub(super) struct Taken<'a, T> {
    // Dropped in this order: the next piece is read after the queries that arrived meanwhile.
    pub(super) thing: MutexGuard<'a, T>,
    _again: Option<MutexGuard<'a, ()>>,
}

impl<T> Turns<T> {
    pub(super) fn new(thing: T) -> Self {
        Self { thing: Mutex::new(thing), next: Mutex::default(), again: Mutex::default() }
    }

    pub(super) fn take(&self, turn: Turn) -> Taken<'_, T> {
        let again = match turn {
            Turn::Ask => None,
            Turn::ReadOn => Some(lock(&self.again)),
        };
        let next = lock(&self.next);
        let thing = lock(&self.thing);
        drop(next);
        Taken { thing, _again: again }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_query_comes_before_the_next_piece() {
        let turns = Turns::new(0);
        thread::scope(|scope| {
            for round in 0..100 {
                let piece = turns.take(Turn::ReadOn);
                let asking = scope.spawn(|| *turns.take(Turn::Ask).thing += 1);
                let begin = Instant::now();
                while turns.next.try_lock().is_ok() {
                    assert!(begin.elapsed() < Duration::from_secs(60), "no query waits");
                    thread::yield_now();
                }
                drop(piece);
                assert_eq!(*turns.take(Turn::ReadOn).thing, round + 1, "the query was skipped");
                asking.join().expect("asked");
            }
        });
    }
}
