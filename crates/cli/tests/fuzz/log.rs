//! A Log whose end, middle or index was damaged, opened by the next writer.
//!
//! Laws: opening never fails by panic; every whole line before the damage can be read as it was written; the seq that
//! comes next is one after a line that is there; what is appended then can be read; the index decides nothing.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use skillrun_log::{Cursor, Durability, EventLog, FileLog, Limits, LogError, LogErrorKind, ReadEnd, Seq};
use skillrun_model::rasp::data::RawText;
use skillrun_model::rasp::{Correlation, Data, Event, EvidenceData, Level, RawRef, Source, SourceStream};
use skillrun_model::{AttemptNumber, EngineName, ProfileId, RunId, Timestamp};

use crate::drive::{Input, fuzz};
use crate::mutate::{self, Bytes, Change, Material};
use crate::tree::assert_sentence;
use crate::words;

#[derive(Debug, Clone)]
struct Damaged {
    /// How long the text of each event is.
    texts: Vec<usize>,
    /// Of the bytes from here on.
    from: Index,
    changes: Vec<Change>,
    index: Option<Bytes>,
    index_changes: Vec<Change>,
    epoch: Option<Bytes>,
}

impl Input for Damaged {
    fn bytes(&self) -> Vec<u8> {
        format!("{self:?}").into_bytes()
    }
}

fn damaged() -> impl Strategy<Value = Damaged> {
    let text = prop_oneof![6 => 0..200usize, 1 => 200..30_000usize];
    let epochs = Material::new(vec![b"1".to_vec(), b"7".to_vec(), b"4294967295".to_vec()], words::LINES);
    let index = prop_oneof![4 => Just(None), 1 => vec(any::<u8>(), 0..200).prop_map(|bytes| Some(Bytes(bytes)))];
    (
        vec(text, 0..24),
        any::<Index>(),
        mutate::changes(),
        index,
        prop_oneof![Just(Vec::new()), mutate::changes()],
        proptest::option::weighted(0.1, mutate::bytes(&epochs)),
    )
        .prop_map(|(texts, from, changes, index, index_changes, epoch)| Damaged {
            texts,
            from,
            changes,
            index,
            index_changes,
            epoch,
        })
}

fn run() -> RunId {
    RunId::new(1_700_000_000_000, [5; 10])
}

fn event(seq: u64, text: usize) -> Event {
    Event {
        run_id: run(),
        seq,
        ts: Timestamp::EPOCH.plus_nanos(seq * 1_000_000),
        attempt_number: AttemptNumber(1),
        source: Source {
            engine: EngineName::new("scripted"),
            stream: SourceStream::Stdout,
            parser: Some(ProfileId::PlainText),
            confidence: 0.3,
        },
        level: Level::Info,
        data: Data::Evidence(EvidenceData::RawStdout(RawText::new("x".repeat(text)))),
        correlation: Correlation::default(),
        raw_ref: RawRef::default(),
    }
}

fn append(log: &FileLog, seq: u64, text: usize) {
    log.append(run(), Seq(seq), &[event(seq, text)], Durability::Derived).expect("appended");
}

/// The lines a reader gets before the Log ends or is damaged.
fn read(log: &FileLog) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let read = log.for_each(run(), Cursor::BEGINNING, Limits { events: 7, bytes: 1 << 20 }, |line| {
        lines.push(line.json().to_vec());
        assert_eq!(line.seq.0, lines.len() as u64, "a gap");
        Ok::<_, LogError>(ControlFlow::Continue(()))
    });
    match read {
        Ok(ReadEnd::At(_)) => {}
        Ok(ReadEnd::Reset(head)) => panic!("a reset to {head:?} in the middle"),
        Err(error) => {
            assert_sentence(&error.to_string());
            assert!(matches!(error.kind, LogErrorKind::Damaged(_)), "{error}");
        }
    }
    lines
}

/// The seq of a line, read without the Log's own reader.
fn seq_of(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<serde_json::Value>(line).ok()?.get("seq")?.as_u64()
}

fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n")).collect()
}

fn check(runs: &Path, material: &Material, case: &Damaged) {
    fs::remove_dir_all(runs).ok();
    let log = FileLog::new(runs);
    log.create(run()).expect("a Log");
    case.texts.iter().zip(1..).for_each(|(text, seq)| append(&log, seq, *text));
    log.release(run());
    drop(log);
    let folder = runs.join(run().to_string());
    let events = folder.join("events.jsonl");
    let before = fs::read(&events).expect("the Log");
    let after = spoil(case, &before, material);
    fs::write(&events, &after).expect("written");
    spoil_rest(case, &folder, material);

    let same = before.iter().zip(&after).take_while(|(before, after)| before == after).count();
    let whole = lines_of(&before[..same]);
    let log = FileLog::new(runs);
    let damage = log.check(run()).unwrap_or_else(|error| panic!("{error}"));
    let recovered = match log.open(run()) {
        Ok(recovered) => recovered,
        // A bad epoch is not the end of a Log, and must be reported.
        Err(error) => {
            assert!(case.epoch.is_some(), "{error}");
            return assert_sentence(&error.to_string());
        }
    };
    let lines = read(&log);
    assert!(lines.len() >= whole.len(), "{} of {} whole lines are left", lines.len(), whole.len());
    assert!(lines.iter().zip(&whole).all(|(line, whole)| line == whole), "a good line was changed");
    let last = recovered.head.next_seq.0 - 1;
    let count = lines_of(&after).len() as u64;
    assert!(last <= count, "{last} events in {count} lines");
    assert!(last >= whole.len() as u64 || recovered.damage.is_some(), "seqs that were there come again");
    if let Some(torn) = &recovered.torn {
        let kept = fs::read(folder.join(&torn.kept_as)).expect("what was torn off");
        assert_eq!(kept, after[torn.offset as usize..], "what was torn off is kept");
    }
    go_on(&log, &events, last, recovered.damage.is_some(), damage.is_none());
    if damage.is_none() && recovered.damage.is_none() {
        assert_eq!(read(&log).len() as u64, last + 1, "all of it can be read");
    }
}

fn spoil(case: &Damaged, before: &[u8], material: &Material) -> Vec<u8> {
    let from = case.from.index(before.len() + 1);
    let mut tail = before[from..].to_vec();
    mutate::apply(&mut tail, &case.changes, material);
    [&before[..from], &tail].concat()
}

fn spoil_rest(case: &Damaged, folder: &Path, material: &Material) {
    let place = folder.join("events.idx");
    let mut index = fs::read(&place).unwrap_or_default();
    mutate::apply(&mut index, &case.index_changes, material);
    if let Some(bytes) = &case.index {
        index = bytes.0.clone();
    }
    if !index.is_empty() {
        fs::write(place, index).expect("written");
    }
    if let Some(epoch) = &case.epoch {
        fs::write(folder.join("epoch"), &epoch.0).expect("written");
    }
}

/// The next event comes right after what is there, or is refused.
fn go_on(log: &FileLog, events: &Path, last: u64, is_damaged: bool, is_whole: bool) {
    let appended = log.append(run(), Seq(last + 1), &[event(last + 1, 3)], Durability::Synced);
    match appended {
        Ok(next) => {
            assert!(!is_damaged, "a damaged Log was added to");
            assert_eq!(next, Seq(last + 2));
            let bytes = fs::read(events).expect("the Log");
            let lines = lines_of(&bytes);
            let seqs: Vec<_> = lines.iter().rev().take(2).map(|line| seq_of(line)).collect();
            assert_eq!(seqs[0], Some(last + 1), "it is not the last");
            // A damage before the last record of the index is found by a reader that reaches it.
            assert!(!is_whole || last == 0 || seqs[1] == Some(last), "it does not follow: {seqs:?}");
        }
        Err(error) => {
            assert!(is_damaged, "{error}");
            assert_sentence(&error.to_string());
        }
    }
}

#[test]
fn log() {
    let root = tempfile::tempdir().expect("a folder");
    let seed = [serde_json::to_vec(&event(1, 9)).expect("JSON"), b"\n".to_vec()].concat();
    let material = Material::new(vec![seed], words::LINES);
    fuzz("log", damaged(), |case| check(&root.path().join("runs"), &material, case));
}
