//! Shortens a story that broke a law, as long as it breaks the same one: removes pieces of its tape, and lowers its
//! numbers.

use super::faults::Fault;
use super::story::{Failure, play};
use super::tally::Tally;
use super::tape::Tape;

/// Most stories that are played for this.
const TRIES: u32 = 1_500;

/// Every number below this is tried: there are no more choices than that at once.
const SMALL: u16 = 16;

struct Shrinking {
    best: Failure,
    fault: Option<Fault>,
    tries: u32,
}

pub(crate) fn shrink(failure: Failure, fault: Option<Fault>) -> Failure {
    let mut shrinking = Shrinking { best: failure, fault, tries: 0 };
    while shrinking.tries < TRIES && (shrinking.takes_out() | shrinking.lowers()) {}
    shrinking.best
}

impl Shrinking {
    /// Whether another tape breaks the same law with less.
    fn is_better(&mut self, numbers: Vec<u16>) -> bool {
        self.tries += 1;
        if self.tries > TRIES {
            return false;
        }
        let length = numbers.len();
        let Err(mut other) = play(Tape::given(numbers), self.fault, &mut Tally::default()) else { return false };
        other.numbers.truncate(length);
        let weight = |failure: &Failure| {
            let sum: u64 = failure.numbers.iter().map(|number| u64::from(*number)).sum();
            (failure.steps, failure.numbers.len(), sum)
        };
        let is_better = other.broken.law == self.best.broken.law && weight(&other) < weight(&self.best);
        if is_better {
            self.best = other;
        }
        is_better
    }

    /// Pieces of every length, at every position; long ones first.
    fn takes_out(&mut self) -> bool {
        let mut any = false;
        let mut size = self.best.numbers.len();
        while size > 0 {
            let mut at = 0;
            while at + size <= self.best.numbers.len() && self.tries < TRIES {
                let mut numbers = self.best.numbers.clone();
                numbers.drain(at..at + size);
                if self.is_better(numbers) { any = true } else { at += 1 }
            }
            // A long tape is cut coarsely first.
            size -= (size / 16).max(1);
        }
        any
    }

    fn lowers(&mut self) -> bool {
        let mut any = false;
        for at in 0..self.best.numbers.len() {
            let from = self.best.numbers.get(at).copied().unwrap_or(0);
            for number in (0..from.min(SMALL)).chain([from / 2, from.saturating_sub(1)]) {
                let now = self.best.numbers.get(at).copied().unwrap_or(0);
                if number < now {
                    let mut numbers = self.best.numbers.clone();
                    numbers[at] = number;
                    if self.is_better(numbers) {
                        any = true;
                        break;
                    }
                }
            }
        }
        any
    }
}
