//! The index is a view: whatever is wrong with it, answers stay right.

use super::*;
use crate::conformance::moment;

const COUNT: u64 = 2_000;

/// All that the index serves.
fn assert_right(log: &FileLog, run: RunId, count: u64) {
    for after in [0, 1, 57, 999, count - 1, count] {
        let limits = Limits { events: 3, bytes: usize::MAX };
        let page = page(log.read(run, Cursor::new(Epoch::FIRST, Seq(after)), limits).expect("a page"));
        assert_eq!(page.events().expect("events"), events(run, after + 1, (after + 4).min(count + 1)));
    }
    for seq in [1, 57, 999, count] {
        assert_eq!(log.first_at(run, moment(1_000 + seq * 10)).expect("an answer"), Some(Seq(seq)));
    }
    assert_eq!(log.first_at(run, moment(1_001 + count * 10)).expect("an answer"), None);
    assert_eq!(log.next_seq(run).expect("a head"), Seq(count + 1));
}

#[test]
fn a_long_log_is_opened_and_read_without_reading_it_all() {
    let fixture = Fixture::new(COUNT);
    let run = fixture.run;
    let records = fs::metadata(fixture.path("events.idx")).expect("an index").len() / 32 - 1;
    assert!(records > 20, "{records} records");
    // A reader of the whole Log could not miss this.
    let mut bytes = fixture.bytes();
    let len = bytes.len();
    bytes[1_000..len / 2].fill(b'#');
    fixture.set_bytes(&bytes);
    let log = fixture.log();
    assert_eq!(log.next_seq(run).expect("a head"), Seq(COUNT + 1));
    let recovered = log.open(run).expect("opened");
    assert_eq!((recovered.damage, recovered.torn, recovered.index), (None, None, IndexState::Good));
    for log in [&log, &fixture.log()] {
        let limits = Limits { events: 2, bytes: usize::MAX };
        let page = page(log.read(run, Cursor::new(Epoch::FIRST, Seq(1_500)), limits).expect("a page"));
        assert_eq!(page.events().expect("events"), events(run, 1_501, 1_503));
        let seq = 1_700;
        assert_eq!(log.first_at(run, moment(1_000 + seq * 10)).expect("an answer"), Some(Seq(seq)));
    }
    assert!(log.check(run).expect("checked").is_some(), "who reads all of it finds it");
}

#[test]
fn an_index_that_is_missing_torn_stale_or_wrong_is_made_again() {
    let fixture = Fixture::new(COUNT);
    let run = fixture.run;
    let good = fs::read(fixture.path("events.idx")).expect("an index");
    // Of a Log with the same shape, of another run.
    let other = Fixture { folder: TempDir::new().expect("a folder"), run: run_id(2) };
    let log = other.log();
    log.create(other.run).expect("a Log");
    log.append(other.run, Seq(1), &events(other.run, 1, COUNT + 1), Durability::Derived).expect("appended");
    drop(log);
    let foreign = fs::read(other.path("events.idx")).expect("an index");
    assert_eq!(foreign.len(), good.len());
    let mut garbage = good.clone();
    for byte in &mut garbage[32..] {
        *byte = byte.wrapping_mul(31).wrapping_add(7);
    }
    let mut wrong_times = good.clone();
    for record in wrong_times[32..].chunks_mut(32) {
        record[16..24].copy_from_slice(&0_u64.to_le_bytes());
    }
    let mut zeros = good.clone();
    let half = good.len() / 2 / 32 * 32;
    zeros[half..].fill(0);
    for (what, bytes) in [
        ("missing", None),
        ("empty", Some(vec![])),
        ("a torn header", Some(good[..20].to_vec())),
        ("only a header", Some(good[..32].to_vec())),
        ("a torn record", Some(good[..32 * 7 + 13].to_vec())),
        ("stale", Some(good[..half].to_vec())),
        ("zeros at the end", Some(zeros)),
        ("of another run", Some(foreign)),
        ("garbage", Some(garbage)),
        ("wrong times", Some(wrong_times)),
        ("something else", Some(b"{\"seq\":1}\n".repeat(100))),
        ("good", Some(good.clone())),
    ] {
        match &bytes {
            Some(bytes) => fs::write(fixture.path("events.idx"), bytes).expect("written"),
            None => fs::remove_file(fixture.path("events.idx")).expect("removed"),
        }
        let log = fixture.log();
        assert_right(&log, run, COUNT);
        let recovered = log.open(run).expect("opened");
        assert_eq!((recovered.torn, recovered.damage, recovered.is_new_epoch), (None, None, false), "{what}");
        assert_eq!(recovered.index == IndexState::Good, bytes.as_ref() == Some(&good), "{what}");
        assert_right(&log, run, COUNT);
        log.release(run);
        let made = fs::read(fixture.path("events.idx")).expect("an index");
        assert!(made == good, "{what}: made again as it was");
    }
}

#[test]
fn an_index_of_a_longer_log_is_not_believed() {
    let fixture = Fixture::new(COUNT);
    let bytes = fixture.bytes();
    let end = memchr::memchr_iter(b'\n', &bytes).nth(1_199).expect("a line") + 1;
    fixture.set_bytes(&bytes[..end]);
    let log = fixture.log();
    assert_right(&log, fixture.run, 1_200);
    log.open(fixture.run).expect("opened");
    log.append(fixture.run, Seq(1_201), &events(fixture.run, 1_201, COUNT + 1), Durability::Derived).expect("appended");
    assert_right(&log, fixture.run, COUNT);
    assert_eq!(fixture.bytes(), bytes);
}

#[test]
fn long_lines_have_their_place_too() {
    let fixture = Fixture::new(0);
    let run = fixture.run;
    let log = fixture.log();
    log.open(run).expect("opened");
    let long: Vec<_> = (1..40)
        .map(|seq| text_event(run, seq, seq, "y".repeat(usize::try_from(seq * 5_000).expect("small"))))
        .collect();
    log.append(run, Seq(1), &long, Durability::Derived).expect("appended");
    for log in [&log, &fixture.log()] {
        for (after, event) in (0..).zip(&long) {
            let limits = Limits { events: 1, bytes: 1 };
            let page = page(log.read(run, Cursor::new(Epoch::FIRST, Seq(after)), limits).expect("a page"));
            assert_eq!(page.events().expect("events"), std::slice::from_ref(event));
        }
    }
}
