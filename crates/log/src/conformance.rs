//! One suite over the trait, run against every implementation: [`suite!`] makes a test of each case.
//!
//! A case gets an empty folder of Logs.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use skillrun_model::rasp::data::RawText;
use skillrun_model::rasp::{Correlation, Data, Event, EvidenceData, Level, RawRef, Source, SourceStream};
use skillrun_model::{AttemptNumber, EngineName, ProfileId, RunId, Timestamp};

use crate::*;

pub(crate) const MANY: Limits = Limits { events: usize::MAX, bytes: usize::MAX };
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) fn run_id(number: u8) -> RunId {
    RunId::new(1_700_000_000_000, [number; 10])
}

pub(crate) fn moment(millis: u64) -> Timestamp {
    Timestamp::EPOCH.plus_nanos(millis * 1_000_000)
}

pub(crate) fn event(run: RunId, seq: u64, millis: u64) -> Event {
    text_event(run, seq, millis, format!("line {seq} \u{2028} of {millis}"))
}

pub(crate) fn text_event(run: RunId, seq: u64, millis: u64, text: String) -> Event {
    let (stream, parser) = (SourceStream::Stdout, Some(ProfileId::PlainText));
    let source = Source { engine: EngineName::new("scripted"), stream, parser, confidence: 0.3 };
    Event {
        run_id: run,
        seq,
        ts: moment(millis),
        attempt_number: AttemptNumber(1),
        source,
        level: Level::Info,
        data: Data::Evidence(EvidenceData::RawStdout(RawText::new(text))),
        correlation: Correlation::default(),
        raw_ref: RawRef { stdout_from: seq, stdout_to: seq + 1, ..RawRef::default() },
    }
}

/// Events `from..to`, ten milliseconds apart.
pub(crate) fn events(run: RunId, from: u64, to: u64) -> Vec<Event> {
    (from..to).map(|seq| event(run, seq, 1_000 + seq * 10)).collect()
}

pub(crate) fn page(answer: LogRead) -> Page {
    match answer {
        LogRead::Page(page) => page,
        LogRead::Reset(head) => panic!("a reset to {head:?}"),
    }
}

pub(crate) fn tailed(tailed: Tailed) -> Page {
    match tailed {
        Tailed::Page(page) => page,
        other @ (Tailed::Reset(_) | Tailed::TimedOut) => panic!("{other:?}"),
    }
}

/// All events, in pages of the given size.
pub(crate) fn read_all(log: &(impl EventLog + ?Sized), run: RunId, limits: Limits) -> Vec<Event> {
    let mut all = Vec::new();
    let read = log.for_each(run, Cursor::BEGINNING, limits, |line| {
        all.push(line.event()?);
        Ok::<_, LogError>(ControlFlow::Continue(()))
    });
    assert!(matches!(read, Ok(ReadEnd::At(_))), "{read:?}");
    all
}

fn seqs(page: &Page) -> Vec<u64> {
    page.lines().map(|line| line.seq.0).collect()
}

macro_rules! suite {
    ($($case:ident)+) => {
        macro_rules! conform {
            ($make:expr) => {
                $(#[test] fn $case() {
                    let (log, _keep) = $make();
                    $crate::conformance::$case(&log);
                })+

                #[test]
                fn any_sequence_keeps_the_laws() {
                    $crate::conformance::any_sequence_keeps_the_laws($make);
                }
            };
        }
        pub(crate) use conform;
    };
}

suite! {
    what_is_appended_is_read
    a_stale_writer_is_told_the_next_seq
    each_line_carries_the_hash_of_the_line_before
    a_batch_with_another_seq_or_run_is_refused_whole
    a_batch_that_is_too_large_is_refused_whole
    pages_keep_their_limits_and_always_get_on
    a_wrong_cursor_is_answered_with_a_reset
    by_time_is_the_first_in_order_of_seq
    there_is_one_writer
    what_never_was_is_not_found_and_what_was_removed_is_gone
    a_tail_waits_and_sees_everything
    a_tail_that_nobody_feeds_times_out
    a_slow_tail_loses_nothing
    a_tail_outlives_its_writer
    a_waiting_tail_is_told_when_the_log_is_removed
    a_dropped_subscription_is_silent
    of_writers_that_race_one_wins_each_seq
}

/// The Log of a new run.
fn created(log: &impl EventLog) -> RunId {
    log.create(run_id(1)).expect("a Log");
    run_id(1)
}

pub(crate) fn what_is_appended_is_read(log: &impl EventLog) {
    let run = run_id(1);
    assert_eq!(log.create(run).expect("a Log"), Head { epoch: Epoch::FIRST, next_seq: Seq(1) });
    assert_eq!(log.create(run).expect_err("there is one").to_string(), format!("the Log of run {run}: exists already"));
    assert_eq!(log.append(run, Seq(1), &events(run, 1, 4), Durability::Derived).expect("appended"), Seq(4));
    assert_eq!(log.append(run, Seq(4), &[], Durability::Derived).expect("nothing"), Seq(4));
    assert_eq!(log.append(run, Seq(4), &[], Durability::Synced).expect("synced"), Seq(4));
    assert_eq!(log.append(run, Seq(4), &events(run, 4, 6), Durability::Synced).expect("appended"), Seq(6));
    assert_eq!(log.next_seq(run).expect("a head"), Seq(6));
    assert_eq!(read_all(log, run, Limits::default()), events(run, 1, 6));
    let all = page(log.read(run, Cursor::BEGINNING, MANY).expect("a page"));
    let line = all.lines().nth(1).expect("a line").json().to_vec();
    assert!(line.starts_with(br#"{"protocol_version":"rasp/1.0","run_id":""#), "as the model writes it");
    assert!(!line.contains(&b'\n') && String::from_utf8(line).expect("text").contains("\\u2028"));
    // Another run is not affected by this one.
    log.create(run_id(2)).expect("a Log");
    assert_eq!(log.next_seq(run_id(2)).expect("a head"), Seq(1));
}

/// Whatever the batches are, and whichever thread appends them.
pub(crate) fn each_line_carries_the_hash_of_the_line_before(log: &impl EventLog) {
    let run = created(log);
    assert_eq!(log.chain_head(run).expect("a head"), None);
    log.append(run, Seq(1), &events(run, 1, 4), Durability::Derived).expect("appended");
    log.append(run, Seq(4), &events(run, 4, 5), Durability::Synced).expect("appended");
    log.release(run);
    log.open(run).expect("opened");
    log.append(run, Seq(5), &events(run, 5, 9), Durability::Derived).expect("appended");
    let all = page(log.read(run, Cursor::BEGINNING, MANY).expect("a page"));
    let mut before = LineHash::before_first(run);
    for line in all.lines() {
        assert_eq!(line.prev(), Some(before), "seq {}", line.seq);
        let event = line.event().expect("an event").to_json();
        assert!(chain::is_event(line.json(), event.as_bytes()));
        before = line.hash();
    }
    let head = log.chain_head(run).expect("a head").expect("it is chained");
    assert_eq!((head.seq, head.hash), (8, before.to_string()));
}

pub(crate) fn a_stale_writer_is_told_the_next_seq(log: &impl EventLog) {
    let run = created(log);
    log.append(run, Seq(1), &events(run, 1, 4), Durability::Derived).expect("appended");
    for expected in [0, 1, 3, 5, u64::MAX] {
        let batch = if expected < 10 { events(run, expected, expected + 1) } else { vec![] };
        let error = log.append(run, Seq(expected), &batch, Durability::Synced).expect_err("stale");
        let LogErrorKind::Stale { expected: told, actual } = error.kind else { panic!("{error}") };
        assert_eq!((told, actual), (Seq(expected), Seq(4)));
    }
    assert_eq!(read_all(log, run, MANY), events(run, 1, 4));
}

pub(crate) fn a_batch_with_another_seq_or_run_is_refused_whole(log: &impl EventLog) {
    let run = created(log);
    let refused = |batch: &[Event]| log.append(run, Seq(1), batch, Durability::Derived).expect_err("refused").kind;
    let gap = [event(run, 1, 0), event(run, 3, 0)];
    assert!(matches!(refused(&gap), LogErrorKind::WrongSeq { found: Seq(3), wanted: Seq(2) }));
    let repeat = [event(run, 1, 0), event(run, 1, 0)];
    assert!(matches!(refused(&repeat), LogErrorKind::WrongSeq { found: Seq(1), wanted: Seq(2) }));
    assert!(matches!(refused(&events(run, 2, 4)), LogErrorKind::WrongSeq { found: Seq(2), wanted: Seq(1) }));
    let foreign = [event(run, 1, 0), event(run_id(2), 2, 0)];
    assert!(matches!(refused(&foreign), LogErrorKind::WrongRun { found } if found == run_id(2)));
    assert_eq!(log.next_seq(run).expect("a head"), Seq(1));
    assert!(read_all(log, run, MANY).is_empty());
}

pub(crate) fn a_batch_that_is_too_large_is_refused_whole(log: &impl EventLog) {
    let run = created(log);
    let batch = [event(run, 1, 0), text_event(run, 2, 0, "x".repeat(MAX_BATCH))];
    let error = log.append(run, Seq(1), &batch, Durability::Derived).expect_err("refused");
    assert!(matches!(error.kind, LogErrorKind::BatchTooLarge { limit: MAX_BATCH }), "{error}");
    assert_eq!(log.next_seq(run).expect("a head"), Seq(1));
}

pub(crate) fn pages_keep_their_limits_and_always_get_on(log: &impl EventLog) {
    let run = created(log);
    let mut all = events(run, 1, 200);
    all.push(text_event(run, 200, 0, "long ".repeat(50_000)));
    all.extend(events(run, 201, 400));
    log.append(run, Seq(1), &all, Durability::Derived).expect("appended");
    let read = |after, limits| page(log.read(run, Cursor::new(Epoch::FIRST, Seq(after)), limits).expect("a page"));
    assert_eq!(seqs(&read(10, Limits { events: 3, bytes: usize::MAX })), [11, 12, 13]);
    let line = read(0, Limits { events: 1, bytes: 1 }).lines().next().expect("a line").json().len() + 1;
    assert_eq!(seqs(&read(0, Limits { events: 9, bytes: line * 3 })), [1, 2, 3]);
    assert_eq!(seqs(&read(0, Limits { events: 9, bytes: line * 3 - 1 })), [1, 2]);
    assert_eq!(seqs(&read(0, Limits { events: 0, bytes: 0 })), [1], "one at least");
    assert_eq!(seqs(&read(199, Limits { events: 9, bytes: 10 })), [200], "however long it is");
    assert_eq!(seqs(&read(399, MANY)), [0; 0]);
    for limits in [Limits { events: 7, bytes: usize::MAX }, Limits { events: usize::MAX, bytes: 1_000 }, MANY] {
        assert_eq!(read_all(log, run, limits), all);
    }
}

pub(crate) fn a_wrong_cursor_is_answered_with_a_reset(log: &impl EventLog) {
    let run = created(log);
    let head = log.head(run).expect("a head");
    let ask = |cursor| log.read(run, cursor, MANY).expect("an answer");
    assert_eq!(ask(Cursor::new(head.epoch, Seq(1))), LogRead::Reset(head), "nothing was appended yet");
    assert!(page(ask(Cursor::BEGINNING)).is_empty());
    log.append(run, Seq(1), &events(run, 1, 4), Durability::Derived).expect("appended");
    for is_open in [true, false] {
        if !is_open {
            log.release(run);
        }
        let head = log.head(run).expect("a head");
        assert_eq!(head.next_seq, Seq(4));
        assert!(page(ask(Cursor::new(head.epoch, Seq(3)))).is_empty(), "has everything");
        assert!(page(ask(Cursor { epoch: None, after: Seq(3) })).is_empty());
        for after in [4, 5, 1_000, u64::MAX] {
            assert_eq!(ask(Cursor::new(head.epoch, Seq(after))), LogRead::Reset(head), "beyond the end");
            assert_eq!(ask(Cursor { epoch: None, after: Seq(after) }), LogRead::Reset(head));
        }
        assert_eq!(ask(Cursor::new(head.epoch.next(), Seq(2))), LogRead::Reset(head), "of another epoch");
        let all = page(ask(Cursor::new(head.epoch.next(), Seq(0))));
        assert_eq!(seqs(&all), [1, 2, 3], "a reader without events has no wrong ones");
        assert_eq!(all.cursor(), Cursor::new(head.epoch, Seq(3)));
    }
    let mut tail = Tail::new(log, run, Cursor::new(head.epoch, Seq(9))).expect("a tail");
    assert_eq!(tail.next(MANY, LONG).expect("told"), Tailed::Reset(log.head(run).expect("a head")));
    assert_eq!(seqs(&tailed(tail.next(MANY, LONG).expect("read"))), [1, 2, 3], "and restarts from the beginning");
}

pub(crate) fn by_time_is_the_first_in_order_of_seq(log: &impl EventLog) {
    let run = created(log);
    assert_eq!(log.first_at(run, moment(0)).expect("an answer"), None);
    // Saw teeth: times go back again and again, and a far future stands early.
    let time = |seq: u64| if seq == 700 { 900_000 } else { 10_000 + seq * 7 - (seq % 50) * 100 };
    let all: Vec<Event> = (1..2_000).map(|seq| event(run, seq, time(seq))).collect();
    for batch in all.chunks(130) {
        log.append(run, Seq(batch[0].seq), batch, Durability::Derived).expect("appended");
    }
    let expect = |at: Timestamp| all.iter().find(|event| event.ts >= at).map(|event| Seq(event.seq));
    for is_open in [true, false] {
        if !is_open {
            log.release(run);
        }
        for at in (0..1_000_000).step_by(1_373).chain([9_907, 9_908, 900_000, 900_001]) {
            assert_eq!(log.first_at(run, moment(at)).expect("an answer"), expect(moment(at)), "at {at}");
        }
        // Lines have microseconds: a finer fraction does not hide an event from a search for its own time.
        assert_eq!(log.first_at(run, moment(900_000).plus_nanos(999)).expect("an answer"), Some(Seq(700)));
        assert_eq!(log.first_at(run, moment(900_000).plus_nanos(1_000)).expect("an answer"), None);
    }
}

pub(crate) fn there_is_one_writer(log: &impl EventLog) {
    let run = created(log);
    let held = log.open(run).expect_err("it has a writer");
    assert!(matches!(held.kind, LogErrorKind::Held { pid: Some(pid) } if pid == std::process::id()), "{held}");
    log.append(run, Seq(1), &events(run, 1, 3), Durability::Derived).expect("appended");
    log.release(run);
    log.release(run);
    let error = log.append(run, Seq(3), &events(run, 3, 4), Durability::Derived).expect_err("not open");
    assert!(matches!(error.kind, LogErrorKind::NotOpen), "{error}");
    assert_eq!(read_all(log, run, MANY), events(run, 1, 3), "readers need no writer");
    let recovered = log.open(run).expect("opened");
    assert_eq!(recovered.head, Head { epoch: Epoch::FIRST, next_seq: Seq(3) });
    assert_eq!((recovered.torn, recovered.damage, recovered.is_new_epoch), (None, None, false));
    log.append(run, Seq(3), &events(run, 3, 4), Durability::Derived).expect("appended");
    assert_eq!(read_all(log, run, MANY), events(run, 1, 4));
}

pub(crate) fn what_never_was_is_not_found_and_what_was_removed_is_gone(log: &impl EventLog) {
    let errors = |run| {
        log.release(run);
        let error = |result: Result<(), LogError>| result.expect_err("there is none").kind;
        [
            error(log.open(run).map(drop)),
            error(log.append(run, Seq(1), &[], Durability::Derived).map(drop)),
            error(log.head(run).map(drop)),
            error(log.read(run, Cursor::BEGINNING, MANY).map(drop)),
            error(log.first_at(run, moment(0)).map(drop)),
            error(log.subscribe(run, Arc::new(|| ())).map(drop)),
            error(log.remove(run, moment(0))),
        ]
    };
    for run in [run_id(7), run_id(8)] {
        for kind in errors(run) {
            assert!(matches!(kind, LogErrorKind::NotFound), "{kind}");
        }
    }
    for run in [run_id(1), run_id(2)] {
        log.create(run).expect("a Log");
        log.append(run, Seq(1), &events(run, 1, 3), Durability::Synced).expect("appended");
    }
    log.remove(run_id(1), moment(5)).expect("removed");
    for kind in errors(run_id(1)) {
        assert!(matches!(kind, LogErrorKind::Gone), "{kind}");
    }
    assert!(matches!(log.create(run_id(1)).expect_err("never again").kind, LogErrorKind::Gone));
    assert_eq!(read_all(log, run_id(2), MANY), events(run_id(2), 1, 3), "others stay");
    assert!(matches!(log.head(run_id(9)).expect_err("never was").kind, LogErrorKind::NotFound));
}

pub(crate) fn a_tail_waits_and_sees_everything(log: &impl EventLog) {
    let run = created(log);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..4)
            .map(|after| {
                scope.spawn(move || {
                    let mut tail = Tail::new(log, run, Cursor::BEGINNING).expect("a tail");
                    let mut seen = Vec::new();
                    while seen.len() < 500 {
                        let limits = Limits { events: 1 + after * 40, bytes: usize::MAX };
                        seen.extend(seqs(&tailed(tail.next(limits, LONG).expect("more"))));
                    }
                    seen
                })
            })
            .collect();
        let mut next = 1;
        while next <= 500 {
            let to = (next + 1 + next % 7).min(501);
            let durability = if next % 97 == 0 { Durability::Synced } else { Durability::Derived };
            log.append(run, Seq(next), &events(run, next, to), durability).expect("appended");
            next = to;
            if next % 5 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
        for reader in readers {
            assert_eq!(reader.join().expect("a reader"), (1..=500).collect::<Vec<_>>());
        }
    });
}

pub(crate) fn a_tail_that_nobody_feeds_times_out(log: &impl EventLog) {
    let run = created(log);
    for is_open in [true, false] {
        if !is_open {
            log.release(run);
        }
        let mut tail = Tail::new(log, run, Cursor::BEGINNING).expect("a tail");
        let start = Instant::now();
        assert_eq!(tail.next(MANY, Duration::from_millis(30)).expect("nothing"), Tailed::TimedOut);
        assert!(start.elapsed() >= Duration::from_millis(30));
        assert_eq!(tail.next(MANY, Duration::ZERO).expect("nothing"), Tailed::TimedOut);
    }
}

pub(crate) fn a_slow_tail_loses_nothing(log: &impl EventLog) {
    let run = created(log);
    let mut tail = Tail::new(log, run, Cursor::BEGINNING).expect("a tail");
    log.append(run, Seq(1), &events(run, 1, 2), Durability::Derived).expect("appended");
    assert_eq!(seqs(&tailed(tail.next(MANY, LONG).expect("more"))), [1]);
    for seq in 2..3_000 {
        log.append(run, Seq(seq), &events(run, seq, seq + 1), Durability::Derived).expect("appended");
    }
    let mut seen = Vec::new();
    while seen.len() < 2_998 {
        seen.extend(seqs(&tailed(tail.next(Limits { events: 100, bytes: 10_000 }, LONG).expect("more"))));
    }
    assert_eq!(seen, (2..3_000).collect::<Vec<_>>());
    assert_eq!(tail.next(MANY, Duration::ZERO).expect("nothing"), Tailed::TimedOut);
}

pub(crate) fn a_tail_outlives_its_writer(log: &impl EventLog) {
    let run = created(log);
    let mut tail = Tail::new(log, run, Cursor::BEGINNING).expect("a tail");
    for seq in 1..6 {
        thread::scope(|scope| {
            let reader = scope.spawn(|| seqs(&tailed(tail.next(MANY, LONG).expect("more"))));
            thread::sleep(Duration::from_millis(5));
            log.release(run);
            thread::sleep(Duration::from_millis(5));
            log.open(run).expect("opened");
            log.append(run, Seq(seq), &events(run, seq, seq + 1), Durability::Derived).expect("appended");
            assert_eq!(reader.join().expect("a reader"), [seq]);
        });
    }
}

pub(crate) fn a_waiting_tail_is_told_when_the_log_is_removed(log: &impl EventLog) {
    for (run, is_open) in [(run_id(1), true), (run_id(2), false)] {
        log.create(run).expect("a Log");
        log.append(run, Seq(1), &events(run, 1, 3), Durability::Derived).expect("appended");
        if !is_open {
            log.release(run);
        }
        let mut tail = Tail::new(log, run, Cursor::new(Epoch::FIRST, Seq(2))).expect("a tail");
        thread::scope(|scope| {
            let reader = scope.spawn(|| tail.next(MANY, LONG));
            thread::sleep(Duration::from_millis(10));
            log.remove(run, moment(1)).expect("removed");
            let told = reader.join().expect("a reader").expect_err("it is gone");
            assert!(matches!(told.kind, LogErrorKind::Gone), "{told}");
        });
    }
}

pub(crate) fn a_dropped_subscription_is_silent(log: &impl EventLog) {
    let (run, other) = (run_id(1), run_id(2));
    log.create(run).expect("a Log");
    log.create(other).expect("a Log");
    let count = Arc::new(AtomicUsize::new(0));
    let rung = count.clone();
    let wake: Wake = Arc::new(move || {
        rung.fetch_add(1, Ordering::SeqCst);
    });
    let subscription = log.subscribe(run, wake).expect("subscribed");
    log.append(other, Seq(1), &events(other, 1, 2), Durability::Derived).expect("appended");
    assert_eq!(count.load(Ordering::SeqCst), 0, "another run's news");
    log.append(run, Seq(1), &events(run, 1, 2), Durability::Derived).expect("appended");
    assert!(count.load(Ordering::SeqCst) >= 1, "rung when the append has returned");
    drop(subscription);
    let before = count.load(Ordering::SeqCst);
    log.append(run, Seq(2), &events(run, 2, 3), Durability::Derived).expect("appended");
    assert_eq!(count.load(Ordering::SeqCst), before);
}

pub(crate) fn of_writers_that_race_one_wins_each_seq(log: &impl EventLog) {
    let run = created(log);
    // Each writer marks its events with its own time.
    let won: Vec<BTreeSet<u64>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4_u64)
            .map(|writer| {
                scope.spawn(move || {
                    let mut won = BTreeSet::new();
                    let mut next = Seq(1);
                    while next < Seq(200) {
                        match log.append(run, next, &[event(run, next.0, writer)], Durability::Derived) {
                            Ok(after) => {
                                won.insert(next.0);
                                next = after;
                            }
                            Err(error) => {
                                let LogErrorKind::Stale { actual, .. } = error.kind else { panic!("{error}") };
                                next = actual;
                            }
                        }
                    }
                    won
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("a writer")).collect()
    });
    let all = read_all(log, run, MANY);
    for event in &all {
        for (won, writer) in won.iter().zip(0..) {
            assert_eq!(won.contains(&event.seq), event.ts == moment(writer), "seq {}", event.seq);
        }
    }
    assert_eq!(all.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=all.len() as u64).collect::<Vec<_>>());
}

#[derive(Debug, Clone)]
enum Step {
    Append { events: u64, stale_by: i64, durability: Durability, text: usize },
    Read { after: u64, limits: Limits },
    Tail { which: usize, limits: Limits },
    ByTime { at: u64 },
    TakeOver,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let limits = || {
        (0..20_usize, prop_oneof![Just(usize::MAX), 0..5_000_usize])
            .prop_map(|(events, bytes)| Limits { events, bytes })
    };
    let durability = prop_oneof![4 => Just(Durability::Derived), 1 => Just(Durability::Synced)];
    // Long texts, so that the index is used.
    let text = prop_oneof![8 => 0..200_usize, 1 => 10_000..30_000_usize];
    let stale_by = prop_oneof![5 => Just(0), 1 => -3..4_i64];
    let step = prop_oneof![
        4 => (0..12_u64, stale_by, durability, text)
            .prop_map(|(events, stale_by, durability, text)| Step::Append { events, stale_by, durability, text }),
        3 => (0..100_u64, limits()).prop_map(|(after, limits)| Step::Read { after, limits }),
        3 => (0..3_usize, limits()).prop_map(|(which, limits)| Step::Tail { which, limits }),
        1 => (0..2_000_u64).prop_map(|at| Step::ByTime { at }),
        1 => Just(Step::TakeOver),
    ];
    prop::collection::vec(step, 1..60)
}

/// Gap-free, nothing lost or doubled, a reader sees a prefix, a tail from any cursor yields exactly the rest.
pub(crate) fn any_sequence_keeps_the_laws<L: EventLog, K>(make: impl Fn() -> (L, K)) {
    let config = ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(steps in steps())| {
        let (log, _keep) = make();
        let run = run_id(1);
        let head = log.create(run).expect("a Log");
        let mut model: Vec<Event> = Vec::new();
        let mut tails: Vec<_> = (0..3).map(|_| Tail::new(&log, run, Cursor::BEGINNING).expect("a tail")).collect();
        let next = |model: &Vec<Event>| Seq(model.len() as u64 + 1);
        for step in steps {
            match step {
                Step::Append { events, stale_by, durability, text } => {
                    let expected = Seq(next(&model).0.saturating_add_signed(stale_by));
                    let batch: Vec<Event> = (0..events)
                        .map(|i| {
                            let seq = expected.0 + i;
                            text_event(run, seq, (seq * 7_919) % 2_000, "é".repeat(text))
                        })
                        .collect();
                    match log.append(run, expected, &batch, durability) {
                        Ok(after) => {
                            prop_assert_eq!(expected, next(&model));
                            model.extend(batch);
                            prop_assert_eq!(after, next(&model));
                        }
                        Err(error) => {
                            let is_told =
                                matches!(error.kind, LogErrorKind::Stale { actual, .. } if actual == next(&model));
                            prop_assert!(is_told && expected != next(&model), "{}", error);
                        }
                    }
                }
                Step::Read { after, limits } => {
                    let answer = log.read(run, Cursor::new(head.epoch, Seq(after)), limits).expect("an answer");
                    match answer {
                        LogRead::Page(page) => {
                            let rest = &model[usize::try_from(after).expect("small")..];
                            prop_assert!(page.is_empty() == rest.is_empty());
                            prop_assert!(page.len() <= limits.events.max(1));
                            prop_assert_eq!(page.events().expect("events"), &rest[..page.len()]);
                        }
                        LogRead::Reset(told) => {
                            prop_assert!(after > model.len() as u64);
                            prop_assert_eq!(told.next_seq, next(&model));
                        }
                    }
                }
                Step::Tail { which, limits } => {
                    let from = usize::try_from(tails[which].cursor().after.0).expect("small");
                    match tails[which].next(limits, Duration::ZERO).expect("an answer") {
                        Tailed::Page(page) => {
                            prop_assert_eq!(page.events().expect("events"), &model[from..from + page.len()]);
                        }
                        Tailed::TimedOut => prop_assert_eq!(from, model.len()),
                        Tailed::Reset(head) => prop_assert!(false, "a reset to {:?}", head),
                    }
                }
                Step::ByTime { at } => {
                    let expected = model.iter().find(|event| event.ts >= moment(at)).map(|event| Seq(event.seq));
                    prop_assert_eq!(log.first_at(run, moment(at)).expect("an answer"), expected);
                }
                Step::TakeOver => {
                    log.release(run);
                    prop_assert_eq!(log.next_seq(run).expect("a head"), next(&model));
                    let recovered = log.open(run).expect("opened");
                    let wanted = Head { epoch: head.epoch, next_seq: next(&model) };
                    prop_assert_eq!((recovered.head, recovered.torn), (wanted, None));
                }
            }
        }
        for tail in &mut tails {
            let from = usize::try_from(tail.cursor().after.0).expect("small");
            let mut rest = Vec::new();
            while let Tailed::Page(page) = tail.next(Limits::default(), Duration::ZERO).expect("an answer") {
                rest.extend(page.events().expect("events"));
            }
            prop_assert_eq!(&rest, &model[from..]);
        }
        prop_assert_eq!(read_all(&log, run, Limits::default()), model);
    });
}
