//! An outline agrees with the Log on every event.

use skillrun_log::{Durability, FileLog, MemoryLog, Seq};
use skillrun_model::EngineName;
use skillrun_model::rasp::data::{RawText, ToolCallCompleted};
use skillrun_model::rasp::{Correlation, Data, Event, EvidenceData, RawRef, Source, SourceStream};

use super::*;

fn run() -> RunId {
    RunId::new(1_700_000_000_000, [7; 10])
}

/// Texts, warnings, calls, questions and files in turn, with times that go back and forth.
fn event(seq: u64) -> Event {
    let text = RawText::new(format!("{{\"ts\":7}} \u{2028} {seq}"));
    let mut event = Event {
        run_id: run(),
        seq,
        ts: Timestamp::EPOCH.plus_nanos((1_000_000 + seq * 10 - seq % 3 * 15) * 1_000_000 + 999_000),
        attempt_number: AttemptNumber(u32::try_from(seq / 100).unwrap()),
        source: Source {
            engine: EngineName::new("scripted"),
            stream: SourceStream::Stdout,
            parser: None,
            confidence: 1.0,
        },
        level: Level::ALL[usize::try_from(seq % 3).unwrap()],
        data: Data::Evidence(EvidenceData::RawStdout(text)),
        correlation: Correlation { session_id: Some("s".into()), ..Correlation::default() },
        raw_ref: RawRef::default(),
    };
    match seq % 5 {
        0 => {
            event.data = Data::Evidence(EvidenceData::ToolCallCompleted(ToolCallCompleted {
                output: None,
                sanitized: false,
                truncated: false,
            }));
            event.correlation.tool_call_id = Some(format!("call \"{}\"", seq / 10));
            event.correlation.interaction_id = Some(InteractionId(1));
        }
        1 => event.correlation.interaction_id = Some(InteractionId(u32::try_from(seq).unwrap())),
        2 => event.correlation.artifact_id = Some("1".to_owned()),
        _ => {}
    }
    event
}

fn written(log: &impl EventLog, events: u64) -> Vec<Event> {
    let events: Vec<Event> = (1..=events).map(event).collect();
    log.create(run()).unwrap();
    log.append(run(), Seq(1), &events, Durability::Derived).unwrap();
    events
}

/// The same outline computed differently: from whole events, one by one.
fn says_the_same(outline: &Outline, events: &[Event]) {
    let count = events.len();
    let columns = [outline.types.len(), outline.levels.len(), outline.attempts.len(), outline.groups_of.len()];
    assert_eq!((outline.ts.len(), columns), (count, [count; 4]));
    for (i, event) in events.iter().enumerate() {
        assert_eq!(outline.first_seq + i as u64, event.seq);
        assert_eq!(outline.ts[i], event.ts.millis_since(Timestamp::EPOCH).unwrap());
        assert_eq!(outline.names[outline.types[i] as usize], event.event_type());
        assert_eq!(Level::ALL[usize::from(outline.levels[i])], event.level);
        assert_eq!(outline.attempts[i], event.attempt_number.0);
        let group = outline.groups_of[i].map(|group| &outline.groups[group as usize]);
        let group = group.map(|group| (group.kind, group.id.clone()));
        let expected = match event.seq % 5 {
            0 => Some((OutlineGroupKind::ToolCall, format!("call \"{}\"", event.seq / 10))),
            1 => Some((OutlineGroupKind::Interaction, event.seq.to_string())),
            2 => Some((OutlineGroupKind::Artifact, "1".to_owned())),
            _ => None,
        };
        assert_eq!(group, expected, "{}", event.seq);
    }
}

#[test]
fn every_part_is_that_part() {
    let log = MemoryLog::default();
    let events = written(&log, 1_000);
    for (from, limit) in [(1, 1_000), (0, 5), (1, 1), (500, 20_000), (999, 2), (1_000, 50_000)] {
        let outline = outline(&log, run(), from, Most::events(limit)).unwrap();
        let first = usize::try_from(from.max(1)).unwrap() - 1;
        let end = (first + usize::try_from(limit).unwrap()).min(events.len());
        assert_eq!((outline.epoch, outline.last_seq), (1, 1_000));
        says_the_same(&outline, &events[first..end]);
    }
    let whole = outline(&log, run(), 1, Most::events(MANY)).unwrap();
    assert_eq!(whole.names, [EventType::RawStdout, EventType::ToolCallCompleted], "each once, as they come");
    assert_eq!(whole.groups.len(), 100 + 1 + 200 + 1, "each once: calls, questions, and one file");
}

#[test]
fn beyond_the_end_there_is_nothing() {
    let log = MemoryLog::default();
    written(&log, 3);
    for from in [4, 5, u64::MAX] {
        let outline = outline(&log, run(), from, Most::events(MANY_MAX)).unwrap();
        assert_eq!((outline.last_seq, outline.first_seq), (3, from));
        says_the_same(&outline, &[]);
    }
    let other = RunId::new(1, [8; 10]);
    assert_eq!(outline(&log, other, 1, Most::events(1)).unwrap_err().code, ProblemCode::RunNotFound);
}

#[test]
fn large_events_and_long_ids_make_an_answer_shorter() {
    let log = MemoryLog::default();
    let events = written(&log, 6_000);
    let total: usize = events.iter().map(|event| event.to_json().len()).sum();
    assert!(total > 2 * PIECE, "several pieces: {total}");
    for most in [Most { events: MANY, read: 1, ids: 4 << 20 }, Most { events: MANY, read: 64 << 20, ids: 1 }] {
        let (mut from, mut answers) = (1, 0);
        while from <= 6_000 {
            let outline = outline(&log, run(), from, most).unwrap();
            let next = from + outline.ts.len() as u64;
            assert!(next > from, "it makes progress");
            says_the_same(&outline, &events[usize::try_from(from).unwrap() - 1..usize::try_from(next).unwrap() - 1]);
            (from, answers) = (next, answers + 1);
        }
        assert!(answers > 1, "a piece at a time");
    }
}

#[test]
fn lines_that_are_not_events_are_omitted() {
    let mut drawing = Drawing::new(Position::BEGINNING, 1);
    let good = event(1).to_json();
    for wrong in
        [good.replace("raw.stdout", "raw.sung"), good.replace("\"info\"", "\"loud\"").replace("\"warning\"", "7")]
    {
        assert_ne!(wrong, good);
        assert!(drawing.add(wrong.as_bytes()).is_err());
    }
    says_the_same(&drawing.outline, &[]);
    drawing.add(good.as_bytes()).unwrap();
    says_the_same(&drawing.outline, &[event(1)]);
}

/// Prints how long it takes; `--nocapture` shows it.
#[test]
fn a_hundred_thousand_events_in_two_answers() {
    let folder = tempfile::tempdir().unwrap();
    let log = FileLog::new(folder.path());
    let events = written(&log, 100_000);
    let begin = std::time::Instant::now();
    let halves = [1, 50_001].map(|from| outline(&log, run(), from, Most::events(MANY_MAX)).unwrap());
    let took = begin.elapsed();
    let bytes: usize = halves.iter().map(|half| serde_json::to_vec(half).unwrap().len()).sum();
    eprintln!("100,000 events: {} ms, {bytes} bytes", took.as_millis());
    says_the_same(&halves[0], &events[..50_000]);
    says_the_same(&halves[1], &events[50_000..]);
}
