//! Events in the memory of the writer: the same pages as from the file.

use super::*;

/// Every page that a reader beside the writer gets is the one that a reader of the file gets, with the same events.
fn assert_same(log: &FileLog, fixture: &Fixture) {
    let (run, file) = (fixture.run, fixture.log());
    let Head { epoch, next_seq } = file.head(run).expect("a head");
    assert_eq!(log.head(run).expect("a head"), Head { epoch, next_seq });
    let sizes = [(1, 1), (3, usize::MAX), (usize::MAX, 900), (usize::MAX, usize::MAX)];
    for limits in sizes.map(|(events, bytes)| Limits { events, bytes }) {
        for after in (0..=next_seq.0 + 1).map(Seq) {
            for epoch in [None, Some(epoch), Some(epoch.next())] {
                let ask = |log: &FileLog| log.read(run, Cursor { epoch, after }, limits).expect("an answer");
                let (here, there) = (ask(log), ask(&file));
                assert_eq!(here, there, "after {after} in epoch {epoch:?}, {limits:?}");
                if let (LogRead::Page(here), LogRead::Page(there)) = (here, there) {
                    assert_eq!(here.events().expect("events"), there.events().expect("events"));
                }
            }
        }
    }
}

#[test]
fn pages_from_memory_are_those_of_the_file() {
    let fixture = Fixture::new(7);
    let log = fixture.log();
    log.open(fixture.run).expect("a Log");
    assert_same(&log, &fixture);
    for (from, to, durability) in
        [(8, 9, Durability::Derived), (9, 14, Durability::Derived), (14, 15, Durability::Synced)]
    {
        let batch = events(fixture.run, from, to);
        log.append(fixture.run, Seq(from), &batch, durability).expect("appended");
        assert_same(&log, &fixture);
    }
    // Nothing is appended, and nothing changes.
    log.append(fixture.run, Seq(15), &[], Durability::Synced).expect("synced");
    log.append(fixture.run, Seq(3), &[], Durability::Derived).expect_err("a wrong seq");
    assert_same(&log, &fixture);
    log.release(fixture.run);
    assert_same(&log, &fixture);
    log.open(fixture.run).expect("a Log");
    assert_same(&log, &fixture);
}

#[test]
fn a_reader_that_keeps_up_does_not_need_the_file() {
    let fixture = Fixture::new(3);
    let log = fixture.log();
    log.open(fixture.run).expect("a Log");
    log.append(fixture.run, Seq(4), &events(fixture.run, 4, 7), Durability::Derived).expect("appended");
    fs::rename(fixture.path("events.jsonl"), fixture.path("elsewhere")).expect("renamed");
    let read = |after| log.read(fixture.run, Cursor { epoch: None, after: Seq(after) }, MANY);
    assert_eq!(page(read(3).expect("a page")).events().expect("events"), events(fixture.run, 4, 7));
    assert_eq!(page(read(5).expect("a page")).len(), 1);
    assert!(page(read(6).expect("a page")).is_empty());
    read(2).expect_err("it lags, and there is no file");
}

#[test]
fn a_reader_that_lags_reads_the_file() {
    let fixture = Fixture::new(0);
    let log = fixture.log();
    log.open(fixture.run).expect("a Log");
    let event = |seq| text_event(fixture.run, seq, seq, "x".repeat(300_000));
    for seq in 1..=12 {
        log.append(fixture.run, Seq(seq), &[event(seq)], Durability::Derived).expect("appended");
    }
    assert_same(&log, &fixture);
    // Larger than everything that is kept.
    log.append(fixture.run, Seq(13), &[text_event(fixture.run, 13, 13, "x".repeat(3_000_000))], Durability::Derived)
        .expect("appended");
    log.append(fixture.run, Seq(14), &[event(14)], Durability::Derived).expect("appended");
    assert_same(&log, &fixture);
    fs::rename(fixture.path("events.jsonl"), fixture.path("elsewhere")).expect("renamed");
    let read = |after| log.read(fixture.run, Cursor { epoch: None, after: Seq(after) }, MANY);
    read(12).expect_err("too large to keep");
    assert_eq!(page(read(13).expect("a page")).len(), 1);
}

#[test]
fn an_event_in_memory_is_the_one_that_was_written() {
    use skillrun_model::rasp::data::{Foreign, ToolCallStarted};
    use skillrun_model::rasp::{Data, EvidenceData};
    let fixture = Fixture::new(0);
    let log = fixture.log();
    log.open(fixture.run).expect("a Log");
    // A time with nanoseconds, and JSON of several lines, are written in another form.
    let mut batch = events(fixture.run, 1, 4);
    batch[1].ts = batch[1].ts.plus_nanos(1);
    let input = serde_json::value::RawValue::from_string("{\n \"a\": 1\n}".to_owned()).expect("JSON");
    batch[2].data = Data::Evidence(EvidenceData::ToolCallStarted(ToolCallStarted {
        name: "t".to_owned(),
        input: Some(Foreign(input)),
        truncated: false,
    }));
    log.append(fixture.run, Seq(1), &batch, Durability::Derived).expect("appended");
    assert_same(&log, &fixture);
}

#[test]
fn after_a_new_epoch_the_pages_are_those_of_the_file() {
    let fixture = Fixture::new(5);
    let log = fixture.log_in_boot("another");
    assert!(log.open(fixture.run).expect("a Log").is_new_epoch);
    assert_same(&log, &fixture);
    log.append(fixture.run, Seq(6), &events(fixture.run, 6, 9), Durability::Derived).expect("appended");
    assert_same(&log, &fixture);
}
