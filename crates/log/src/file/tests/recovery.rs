//! Torn ends, damages, power failures.

use super::*;

/// Where the lines of a Log begin, and its end.
fn starts(bytes: &[u8]) -> Vec<usize> {
    std::iter::once(0).chain(memchr::memchr_iter(b'\n', bytes).map(|end| end + 1)).collect()
}

#[test]
fn a_last_line_torn_at_any_byte_is_kept_aside() {
    let fixture = Fixture::new(5);
    let whole = fixture.bytes();
    let last = starts(&whole)[4];
    let mut torn_files = 0;
    for len in last..whole.len() {
        fixture.set_bytes(&whole[..len]);
        let log = fixture.log();
        assert_eq!(read_all(&log, fixture.run, MANY), events(fixture.run, 1, 5), "readers see whole lines only");
        assert_eq!(log.next_seq(fixture.run).expect("a head"), Seq(5));
        let recovered = log.open(fixture.run).expect("never fatal");
        assert_eq!(recovered.head, Head { epoch: Epoch::FIRST, next_seq: Seq(5) }, "no reader saw it");
        assert!(!recovered.is_new_epoch && recovered.damage.is_none());
        if len == last {
            assert_eq!(recovered.torn, None);
        } else {
            torn_files += 1;
            let kept_as = format!("events.torn.{torn_files}");
            assert_eq!(fs::read(fixture.path(&kept_as)).expect("kept"), &whole[last..len]);
            let bytes = (len - last) as u64;
            assert_eq!(recovered.torn, Some(Torn { kept_as, offset: last as u64, bytes }));
        }
        assert_eq!(fixture.bytes(), &whole[..last], "good lines are not touched");
        log.append(fixture.run, Seq(5), &events(fixture.run, 5, 6), Durability::Derived).expect("append continues");
        assert_eq!(fixture.bytes(), whole);
    }
    assert!(torn_files > 300);
}

#[test]
fn a_bad_last_line_is_kept_aside() {
    let other_run = Fixture::new(0);
    let other = |run, seq| {
        let batch =
            crate::lines::Batch::new(run, Seq(seq), crate::LineHash::before_first(run), &events(run, seq, seq + 1))
                .expect("a batch");
        batch.bytes
    };
    let run = other_run.run;
    for bad in [
        b"\n".to_vec(),
        b"{}\n".to_vec(),
        b"\0\0\0\0\n".to_vec(),
        b"{\"half\n{\"more\n".to_vec(),
        b"garbage\nand a rest".to_vec(),
        other(run, 5),
        other(run, 7),
        other(run_id(2), 6),
    ] {
        let fixture = Fixture::new(5);
        let good = fixture.bytes();
        fixture.set_bytes(&[&*good, &*bad].concat());
        let log = fixture.log();
        assert_eq!(read_all(&log, run, MANY), events(run, 1, 6), "readers end before it");
        assert_eq!(log.next_seq(run).expect("a head"), Seq(6));
        let told = log.check(run).expect("checked").expect("not silently");
        assert_eq!((told.seq, told.offset), (Seq(6), good.len() as u64));
        let recovered = log.open(run).expect("never fatal");
        let text = String::from_utf8_lossy(&bad);
        assert_eq!(recovered.torn.expect("torn").bytes, bad.len() as u64, "{text}");
        assert_eq!(recovered.head, Head { epoch: Epoch(2), next_seq: Seq(6) }, "it may have been good once: {text}");
        assert_eq!(fixture.bytes(), good);
        assert_eq!(fs::read(fixture.path("events.torn.1")).expect("kept"), bad);
        log.append(run, Seq(6), &events(run, 6, 7), Durability::Synced).expect("append continues");
        log.release(run);
        let again = log.open(run).expect("opened");
        assert_eq!((again.torn, again.head.epoch, again.is_new_epoch), (None, Epoch(2), false));
    }
}

#[test]
fn a_damage_in_the_middle_is_reported_and_stops_appends() {
    let pristine = Fixture::new(20);
    let whole = pristine.bytes();
    let starts = starts(&whole);
    let line = |seq: usize| &whole[starts[seq - 1]..starts[seq]];
    let [before, after] = [&whole[..starts[9]], &whole[starts[10]..]];
    let cut_line = &line(10)[..100];
    let mut zeros = line(10).to_vec();
    zeros[50..200].fill(0);
    let too_long = [b"{".repeat(MAX_LINE), b"\n".to_vec()].concat();
    let seq = |found| DamageKind::WrongSeq { found: Seq(found) };
    for (bytes, kind) in [
        ([before, cut_line, b"\n", after].concat(), DamageKind::NotAnEvent),
        ([before, cut_line, after].concat(), DamageKind::NotAnEvent),
        ([before, &zeros, after].concat(), DamageKind::Zeros),
        ([before, &too_long, after].concat(), DamageKind::TooLong { limit: MAX_LINE }),
        ([before, after].concat(), seq(11)),
        ([before, line(9), line(10), after].concat(), seq(9)),
    ] {
        let fixture = Fixture::new(0);
        let run = fixture.run;
        fixture.set_bytes(&bytes);
        let log = fixture.log();
        let damage = Damage { seq: Seq(10), offset: starts[9] as u64, kind };
        let is_told = |error: LogError| matches!(error.kind, LogErrorKind::Damaged(told) if told == damage);
        for is_open in [false, true] {
            if is_open {
                let recovered = log.open(run).expect("opened for reading");
                assert_eq!((recovered.damage.as_ref(), recovered.torn), (Some(&damage), None));
                assert_eq!(recovered.head.next_seq, Seq(10));
            }
            assert_eq!(log.check(run).expect("checked").as_ref(), Some(&damage));
            let first = page(log.read(run, Cursor::BEGINNING, MANY).expect("a page"));
            assert_eq!(first.events().expect("events"), events(run, 1, 10));
            assert_eq!(log.next_seq(run).expect("a head"), Seq(10));
        }
        assert!(is_told(log.append(run, Seq(10), &events(run, 10, 11), Durability::Derived).expect_err("refused")));
        log.release(run);
        assert!(is_told(log.read(run, Cursor::new(Epoch::FIRST, Seq(9)), MANY).expect_err("told")));
        assert_eq!(fixture.bytes(), bytes, "nothing is repaired without a request");
        // At the request of a user.
        let cut = log.cut_at_damage(run).expect("cut");
        assert_eq!((cut.head, cut.damage), (Head { epoch: Epoch(2), next_seq: Seq(10) }, None));
        assert_eq!(fixture.bytes(), before);
        assert_eq!(fs::read(fixture.path("events.torn.1")).expect("kept"), &bytes[starts[9]..]);
        log.open(run).expect("opened");
        log.append(run, Seq(10), &events(run, 10, 11), Durability::Derived).expect("append continues");
        assert_eq!(read_all(&log, run, MANY), events(run, 1, 11));
    }
}

#[test]
fn the_words_for_a_damage_say_where_and_what_to_do() {
    let fixture = Fixture::new(3);
    let damage = Damage { seq: Seq(2), offset: 77, kind: DamageKind::WrongSeq { found: Seq(3) } };
    let words = LogErrorKind::Damaged(damage).of(fixture.run).to_string();
    assert!(words.contains("byte 77, where seq 2 belongs: the line has seq 3"), "{words}");
    assert!(words.contains("restore a good copy, or truncate it there"), "{words}");
}

/// A reader of the old epoch has seq 5; after the power failure another event gets that seq.
#[test]
fn a_power_failure_gives_a_new_epoch_and_readers_a_reset() {
    let fixture = Fixture::new(0);
    let run = fixture.run;
    let log = fixture.log_in_boot("a");
    log.open(run).expect("opened");
    log.append(run, Seq(1), &events(run, 1, 6), Durability::Derived).expect("appended");
    let cursor = page(log.read(run, Cursor::BEGINNING, MANY).expect("a page")).cursor();
    drop(log);
    // Three events never reached the disk, and nothing is torn.
    let bytes = fixture.bytes();
    fixture.set_bytes(&bytes[..starts(&bytes)[2]]);
    let log = fixture.log_in_boot("b");
    assert!(matches!(log.read(run, cursor, MANY).expect("an answer"), LogRead::Reset(_)), "beyond the end");
    let recovered = log.open(run).expect("opened");
    assert!(recovered.is_new_epoch);
    assert_eq!(recovered.head, Head { epoch: Epoch(2), next_seq: Seq(3) });
    log.append(run, Seq(3), &events(run, 3, 9), Durability::Derived).expect("appended");
    for log in [&log, &fixture.log()] {
        assert!(matches!(log.read(run, cursor, MANY).expect("an answer"), LogRead::Reset(_)), "of another epoch");
    }
    log.release(run);
    assert!(!log.open(run).expect("opened").is_new_epoch, "the same boot");
    drop(log);
    // A note that did not reach the disk is not trusted.
    fs::write(fixture.path("lock"), "{\"pid\":1,\"bo").expect("written");
    assert_eq!(fixture.log_in_boot("b").open(run).expect("opened").head.epoch, Epoch(3));
}

#[test]
fn an_empty_log_needs_no_new_epoch() {
    let fixture = Fixture::new(0);
    assert!(!fixture.log_in_boot("another").open(fixture.run).expect("opened").is_new_epoch);
}

#[test]
fn a_log_changed_by_another_process_is_not_appended_to() {
    let fixture = Fixture::new(3);
    let run = fixture.run;
    let log = fixture.log();
    log.open(run).expect("opened");
    log.append(run, Seq(4), &events(run, 4, 5), Durability::Derived).expect("appended");
    let changed = [fixture.bytes(), b"{}\n".to_vec()].concat();
    fixture.set_bytes(&changed);
    let error = log.append(run, Seq(5), &events(run, 5, 6), Durability::Derived).expect_err("refused");
    assert!(error.to_string().contains("changed by another process"), "{error}");
    let error = log.append(run, Seq(5), &events(run, 5, 6), Durability::Derived).expect_err("refused");
    assert!(matches!(error.kind, LogErrorKind::Failed), "{error}");
    assert_eq!(fixture.bytes(), changed);
    log.release(run);
    assert_eq!(log.open(run).expect("opened").torn.expect("torn").bytes, 3);
    log.append(run, Seq(5), &events(run, 5, 6), Durability::Derived).expect("append continues");
    // The folder of the run is removed without the lock.
    fs::remove_dir_all(fixture.path("")).expect("removed");
    let error = log.append(run, Seq(6), &events(run, 6, 7), Durability::Derived).expect_err("refused");
    assert!(matches!(error.kind, LogErrorKind::Gone), "{error}");
}

#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new(3);
    fixture.set_bytes(&[fixture.bytes(), b"x\n".to_vec()].concat());
    let log = fixture.log();
    log.open(fixture.run).expect("opened");
    log.remove(fixture.run, conformance::moment(0)).expect("removed");
    assert_eq!(fs::read_dir(fixture.path("")).expect("the folder").count(), 1, "the lock stays");
    let other = Fixture::new(3);
    other.set_bytes(&[other.bytes(), b"x\n".to_vec()].concat());
    other.log().open(other.run).expect("opened");
    let mut names = Vec::new();
    for entry in fs::read_dir(other.path("")).expect("the folder") {
        let entry = entry.expect("an entry");
        assert_eq!(entry.metadata().expect("metadata").permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
        names.push(entry.file_name().into_string().expect("a name"));
    }
    names.sort();
    assert_eq!(names, ["epoch", "events.jsonl", "events.torn.1", "lock"]);
    let removed = fs::read_to_string(fixture.runs().join("removed.jsonl")).expect("the list");
    let line = format!("{{\"run_id\":\"{}\",\"removed_at\":\"1970-01-01T00:00:00.000000Z\"}}\n", fixture.run);
    assert_eq!(removed, line);
}

/// The chain of a Log, from its first line on: no line may lack its link or have another.
fn assert_chained(fixture: &Fixture, first: u64) {
    let mut before = None;
    for (line, seq) in fixture.bytes().split_inclusive(|byte| *byte == b'\n').zip(1..) {
        let json = line.strip_suffix(b"\n").expect("a whole line");
        let wanted = before.unwrap_or_else(|| LineHash::before_first(fixture.run));
        assert_eq!(crate::chain::split(json).1, (seq >= first).then_some(wanted), "seq {seq}");
        before = Some(LineHash::of(json));
    }
}

#[test]
fn the_chain_continues_after_a_torn_end() {
    let fixture = Fixture::new(5);
    let whole = fixture.bytes();
    fixture.set_bytes(&whole[..whole.len() - 30]);
    let log = fixture.log();
    log.open(fixture.run).expect("opened");
    log.append(fixture.run, Seq(5), &events(fixture.run, 5, 8), Durability::Synced).expect("append continues");
    assert_chained(&fixture, 1);
    assert_eq!(log.hash_after(fixture.run, Seq(8), &[]).expect("a hash").to_string(), {
        let head = log.chain_head(fixture.run).expect("a head").expect("chained");
        head.hash
    });
}

/// The index verifies only the beginning of a line. If the rest of that line is torn, nothing valid comes after the
/// record, and the line before it is the last.
#[test]
fn the_chain_continues_if_the_last_indexed_line_is_torn() {
    let fixture = Fixture::new(0);
    let log = fixture.log();
    log.open(fixture.run).expect("opened");
    let large = |seq| text_event(fixture.run, seq, seq, "x".repeat(20_000));
    for seq in 1..5 {
        log.append(fixture.run, Seq(seq), &[large(seq)], Durability::Synced).expect("appended");
    }
    log.release(fixture.run);
    let whole = fixture.bytes();
    fixture.set_bytes(&whole[..whole.len() - 1_000]);
    let log = fixture.log();
    let recovered = log.open(fixture.run).expect("opened");
    assert_eq!(recovered.head.next_seq, Seq(4));
    log.append(fixture.run, Seq(4), &[large(4)], Durability::Synced).expect("append continues");
    assert_eq!(fixture.bytes(), whole, "the same line, with the same link");
    assert_chained(&fixture, 1);
}

/// A Log of a version before the chain is continued with the chain, and its existing lines are unchanged.
#[test]
fn a_log_without_a_chain_is_gone_on_with() {
    let fixture = Fixture::new(0);
    let old: String = events(fixture.run, 1, 4).iter().map(|event| event.to_json() + "\n").collect();
    fixture.set_bytes(old.as_bytes());
    let log = fixture.log();
    assert_eq!(log.chain_head(fixture.run).expect("readable"), None, "its last line vouches for nothing");
    log.open(fixture.run).expect("opened");
    log.append(fixture.run, Seq(4), &events(fixture.run, 4, 6), Durability::Synced).expect("append continues");
    assert!(fixture.bytes().starts_with(old.as_bytes()));
    assert_chained(&fixture, 4);
    assert_eq!(log.chain_head(fixture.run).expect("readable").expect("chained").seq, 5);
}
