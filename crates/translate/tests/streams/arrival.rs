//! How bytes arrive changes nothing but moments: reads of any size, and any order of the two streams in which lines end
//! in the same order. The facts, and the events of each stream taken alone, do not depend on that order either.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use skillrun_model::rasp::Event;
use skillrun_model::{ProfileId, Stream};

use crate::lines::{self, Output};
use crate::run::{Arrival, ReadAttempt, range, read, read_whole};

const BOTH: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

fn two_streams() -> impl Strategy<Value = (ProfileId, Output, Output)> {
    lines::profile().prop_flat_map(|profile| (Just(profile), lines::stream(profile, 12), lines::damaged(profile, 6)))
}

/// Two streams in transit, in the order in which their lines end.
struct Merge<'a> {
    streams: [&'a [u8]; 2],
    position: [usize; 2],
    /// Where the current line ends, without its last byte if it has an end.
    held: [usize; 2],
    arrivals: Vec<Arrival<'a>>,
}

impl<'a> Merge<'a> {
    fn new(stdout: &'a [u8], stderr: &'a [u8]) -> Self {
        let mut merge = Self { streams: [stdout, stderr], position: [0; 2], held: [0; 2], arrivals: Vec::new() };
        merge.hold(0);
        merge.hold(1);
        merge
    }

    /// Finds how far a stream may advance without ending its next line.
    fn hold(&mut self, at: usize) {
        let rest = &self.streams[at][self.position[at]..];
        let line = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        self.held[at] = self.position[at] + line;
    }

    fn go_to(&mut self, at: usize, to: usize) {
        let from = std::mem::replace(&mut self.position[at], to);
        if from < to {
            self.arrivals.push(Arrival::Bytes(BOTH[at], &self.streams[at][from..to]));
        }
    }

    /// Some bytes of the current line, not its end.
    fn part(&mut self, at: usize, much: Index) {
        let left = self.held[at] - self.position[at];
        self.go_to(at, self.position[at] + much.index(left + 1));
    }

    /// The rest of the current line.
    fn line(&mut self, at: usize) {
        self.go_to(at, (self.held[at] + 1).min(self.streams[at].len()));
        self.hold(at);
    }

    fn finish(mut self) -> Vec<Arrival<'a>> {
        for at in 0..2 {
            self.go_to(at, self.streams[at].len());
        }
        self.arrivals.extend(BOTH.map(Arrival::End));
        self.arrivals
    }
}

/// Which stream's line ends next, for as many lines as there are.
fn order(stdout: &[u8], stderr: &[u8], mut picks: Vec<bool>) -> Vec<usize> {
    let mut left = [lines::split(stdout).len(), lines::split(stderr).len()];
    let mut order = Vec::new();
    while left != [0, 0] {
        let pick = usize::from(picks.pop().unwrap_or(false));
        let at = if left[pick] > 0 { pick } else { 1 - pick };
        left[at] -= 1;
        order.push(at);
    }
    order
}

/// Facts as they would be if the host had done nothing.
fn without_acts(mut told: ReadAttempt) -> ReadAttempt {
    told.facts.acts.clear();
    told
}

/// The events of one stream; their place in the Log, which is made of both, is left out.
fn of_stream(told: &ReadAttempt, stream: Stream) -> Vec<Event> {
    let is_of = |event: &&Event| range(event).is_some_and(|(of, _, _)| of == stream);
    let mut events: Vec<Event> = told.events.iter().filter(is_of).cloned().collect();
    events.iter_mut().for_each(|event| event.seq = 0);
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reads_of_any_size_give_the_same(
        (profile, stdout, stderr) in two_streams(),
        sizes in vec(1usize..40, 1..8),
    ) {
        let whole = read_whole(profile, &stdout, &stderr);
        for sizes in [&[1][..], &sizes] {
            let mut size = sizes.iter().cycle();
            let mut arrivals = Vec::new();
            for (stream, mut rest) in [(Stream::Stdout, &stdout[..]), (Stream::Stderr, &stderr[..])] {
                while !rest.is_empty() {
                    let (read, later) = rest.split_at(rest.len().min(*size.next().unwrap_or(&1)));
                    arrivals.push(Arrival::Bytes(stream, read));
                    rest = later;
                }
            }
            arrivals.extend(BOTH.map(Arrival::End));
            prop_assert_eq!(&read(profile, &arrivals), &whole);
        }
    }

    /// An event stands where it became certain, and that is at the end of a line.
    #[test]
    fn lines_that_end_in_the_same_order_give_the_same(
        (profile, stdout, stderr) in two_streams(),
        picks in vec(any::<bool>(), 0..40),
        parts in vec((any::<bool>(), any::<Index>()), 0..80),
    ) {
        let order = order(&stdout, &stderr, picks);
        let mut by_line = Merge::new(&stdout, &stderr);
        order.iter().for_each(|at| by_line.line(*at));
        let mut in_parts = Merge::new(&stdout, &stderr);
        let mut parts = parts.into_iter();
        for at in order {
            for (which, much) in parts.by_ref().take(3) {
                in_parts.part(usize::from(which), much);
            }
            in_parts.line(at);
        }
        prop_assert_eq!(read(profile, &in_parts.finish()), read(profile, &by_line.finish()));
    }

    /// The result of a stream does not depend on the content and timing of the other one; neither does the gate's.
    #[test]
    fn nothing_depends_on_the_order_of_the_streams(
        (profile, stdout, stderr) in two_streams(),
        picks in vec(any::<bool>(), 0..40),
        is_stderr_first in any::<bool>(),
    ) {
        let mut arrivals: Vec<Arrival<'_>> = Vec::new();
        let mut merge = Merge::new(&stdout, &stderr);
        order(&stdout, &stderr, picks).into_iter().for_each(|at| merge.line(at));
        arrivals.extend(merge.finish());
        if is_stderr_first {
            let last = arrivals.len() - 1;
            arrivals.swap(last - 1, last);
        }
        let mixed = without_acts(read(profile, &arrivals));
        let whole = without_acts(read_whole(profile, &stdout, &stderr));
        prop_assert_eq!(&mixed.facts, &whole.facts);
        for stream in BOTH {
            prop_assert_eq!(of_stream(&mixed, stream), of_stream(&whole, stream));
        }
    }
}
