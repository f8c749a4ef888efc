use std::time::Instant;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use skillrun_log::{Durability, MemoryLog};
use skillrun_model::rasp::{Event, RawRef};

use super::*;
use crate::evidence_views::testing::{World, control, ended, event, moment, run_id};

const ONE: AttemptNumber = AttemptNumber(1);

fn out(from: u64, to: u64) -> RawRef {
    RawRef { stdout_from: from, stdout_to: to, ..RawRef::default() }
}

fn err(from: u64, to: u64) -> RawRef {
    RawRef { stderr_from: from, stderr_to: to, ..RawRef::default() }
}

fn span(stream: SourceStream, from: u64, to: u64) -> SpanRef {
    SpanRef { stream, from, to }
}

fn seqs(found: &EventsAt) -> Vec<u64> {
    let seq = |event: &RawValue| serde_json::from_str::<Value>(event.get()).expect("JSON")["seq"].as_u64();
    found.events.iter().filter_map(|event| seq(event)).collect()
}

/// A run of two attempts.
fn story() -> World {
    let world = World::new(&[]);
    let pieces =
        vec![span(SourceStream::Stdout, 10, 12), span(SourceStream::Stdout, 18, 20), span(SourceStream::Pty, 0, 99)];
    world.append(&[
        control(1, 0, moment(0), ended(None)),
        event(2, 1, out(0, 10), vec![]),
        event(3, 1, err(0, 15), vec![]),
        event(4, 1, out(12, 18), vec![]),
        event(5, 1, out(10, 20), pieces),
        control(6, 1, moment(9), ended(None)),
        event(7, 2, out(0, 10), vec![]),
        event(8, 2, out(5, 30), vec![]),
    ]);
    world
}

#[test]
fn events_of_a_byte_are_those_whose_range_or_piece_has_it() {
    let world = story();
    let at = |attempt, stream, offset| {
        let found = events_at(&world.log, run_id(), AttemptNumber(attempt), stream, offset, 100).expect("readable");
        assert_eq!(found.rest, EventsRest::Nothing);
        seqs(&found)
    };
    assert_eq!(at(1, Stream::Stdout, 0), [2]);
    assert_eq!(at(1, Stream::Stdout, 9), [2]);
    assert_eq!(at(1, Stream::Stdout, 10), [5]);
    assert_eq!(at(1, Stream::Stdout, 15), [4], "in the hull, and in no piece");
    assert_eq!(at(1, Stream::Stdout, 19), [5]);
    assert_eq!(at(1, Stream::Stdout, 20), [0; 0]);
    assert_eq!(at(1, Stream::Stderr, 14), [3]);
    assert_eq!(at(1, Stream::Pty, 50), [5]);
    assert_eq!(at(2, Stream::Stdout, 7), [7, 8]);
    assert_eq!(at(2, Stream::Stdout, 0), [7]);
    assert_eq!(at(0, Stream::Stdout, 0), [0; 0], "what has no range has no byte");
    assert_eq!(at(3, Stream::Stdout, 0), [0; 0]);
}

#[test]
fn events_are_as_they_stand_in_the_log() {
    let world = story();
    let found = events_at(&world.log, run_id(), ONE, Stream::Stderr, 0, 1).expect("readable");
    let (line, json) = (found.events[0].get(), event(3, 1, err(0, 15), vec![]).to_json());
    assert!(skillrun_log::chain::is_event(line.as_bytes(), json.as_bytes()), "{line}");
    assert!(line.contains("\"prev\":"), "with the hash of the line before");
}

#[test]
fn more_than_wanted_is_told() {
    let world = World::new(&[]);
    let events: Vec<Event> = (1..=5).map(|seq| event(seq, 1, out(0, 10), vec![])).collect();
    world.append(&events);
    for (limit, wanted, rest) in [(0, 0, EventsRest::CutOff), (4, 4, EventsRest::CutOff), (5, 5, EventsRest::Nothing)] {
        let found = events_at(&world.log, run_id(), ONE, Stream::Stdout, 3, limit).expect("readable");
        assert_eq!((found.events.len(), found.rest), (wanted, rest));
    }
}

#[test]
fn an_empty_log_has_no_events_and_a_missing_log_fails() {
    let world = World::new(&[]);
    assert!(events_at(&world.log, run_id(), ONE, Stream::Stdout, 0, 1).expect("readable").events.is_empty());
    let other = RunId::new(9, [9; 10]);
    assert!(events_at(&world.log, other, ONE, Stream::Stdout, 0, 1).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The result of checking every event.
    #[test]
    fn the_same_as_a_search_of_all_events(
        sizes in vec((0..40u64, 0..30u64), 1..120),
        steps in vec(0..2u32, 1..120),
        attempt in 0..6u32,
        offset in 0..60u64,
    ) {
        let log = MemoryLog::default();
        log.create(run_id()).expect("a Log");
        let mut number = 0;
        let events: Vec<Event> = (1..).zip(&sizes).zip(steps.iter().cycle()).map(|((seq, (from, len)), step)| {
            number += step / (1 + number % 2);
            event(seq, number, out(*from, from + len), vec![])
        }).collect();
        log.append(run_id(), Seq::FIRST, &events, Durability::Derived).expect("appended");
        let wanted: Vec<u64> = events.iter()
            .filter(|e| e.attempt_number.0 == attempt && (e.raw_ref.stdout_from..e.raw_ref.stdout_to).contains(&offset))
            .map(|e| e.seq).collect();
        let found = events_at(&log, run_id(), AttemptNumber(attempt), Stream::Stdout, offset, 1_000).expect("readable");
        prop_assert_eq!(seqs(&found), wanted);
    }
}

/// For `cargo test --release -- --ignored --nocapture`: a figure, not a promise.
#[test]
#[ignore = "slow; prints a time"]
fn a_million_events() {
    let world = World::new(&[]);
    for batch in 0..1_000 {
        let events: Vec<Event> = (1..=1_000)
            .map(|i| {
                let seq = batch * 1_000 + i;
                event(seq, 1, out(seq * 100, seq * 100 + 100), vec![])
            })
            .collect();
        world.append(&events);
    }
    let begin = Instant::now();
    let found = events_at(&world.log, run_id(), ONE, Stream::Stdout, 99_999_950, 10).expect("readable");
    eprintln!("{} event after {:?}", found.events.len(), begin.elapsed());
    assert_eq!(seqs(&found), [999_999]);
}
