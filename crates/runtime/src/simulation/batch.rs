//! Many stories, in two threads.

use std::ops::Range;

use super::faults::Fault;
use super::shrink::shrink;
use super::story::{Failure, play, transcript};
use super::tally::Tally;
use super::tape::Tape;

const THREADS: u64 = 2;

/// The first seed whose story broke a law.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) seed: u64,
    pub(crate) failure: Failure,
}

/// Plays the stories of `count` seeds. Each thread stops at the first that breaks a law.
pub(crate) fn play_all(first: u64, count: u64, fault: Option<Fault>) -> (Tally, Option<Found>) {
    let share = count.div_ceil(THREADS);
    let ranges = (0..THREADS).map(|thread| (thread * share)..((thread + 1) * share).min(count));
    std::thread::scope(|scope| {
        let threads: Vec<_> = ranges.map(|range| scope.spawn(move || play_some(first, range, fault))).collect();
        let mut tally = Tally::default();
        let mut found: Option<Found> = None;
        for thread in threads {
            let (its_tally, its_found) = thread.join().expect("a thread that plays stories");
            tally.add(&its_tally);
            found = found.or(its_found);
        }
        (tally, found)
    })
}

fn play_some(first: u64, range: Range<u64>, fault: Option<Fault>) -> (Tally, Option<Found>) {
    let mut tally = Tally::default();
    for number in range {
        let seed = first.wrapping_add(number);
        if let Err(failure) = play(Tape::seeded(seed), fault, &mut tally) {
            return (tally, Some(Found { seed, failure }));
        }
    }
    (tally, None)
}

/// The report about a seed that failed: its story, shortened as far as possible.
pub(crate) fn report(found: Found, fault: Option<Fault>) -> (Failure, String) {
    let seed = found.seed;
    let short = shrink(found.failure, fault);
    let words =
        format!("seed {seed} breaks a law; shrunk to {} steps:\n{}", short.steps, transcript(&short.numbers, fault));
    (short, words)
}
