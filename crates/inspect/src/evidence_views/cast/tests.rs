use std::fs;
use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use skillrun_evidence::Recorder;
use skillrun_model::rasp::data::AttemptStarted;
use skillrun_model::rasp::{ControlData, Event, RawRef};
use skillrun_model::{AttemptNumber, ProfileId, Stream, Wiring};

use super::*;
use crate::evidence_views::testing::{ONE, World, completed, control, ended, event, moment, put};

const TWO: AttemptNumber = AttemptNumber(2);
const MS: u64 = 1_000_000;

fn cast(world: &World) -> Vec<String> {
    let mut out = Vec::new();
    let writer = CastWriter::new(&world.log, &world.folder, &world.record, LONGEST_PAUSE);
    writer.write(&mut out).expect("written");
    String::from_utf8(out).expect("text").lines().map(str::to_owned).collect()
}

/// All output, concatenated.
fn output(lines: &[String]) -> String {
    let event = |line: &String| serde_json::from_str::<(f64, String, String)>(line).expect("an event");
    lines[1..].iter().map(event).filter(|(_, code, _)| code == "o").map(|(_, _, text)| text).collect()
}

fn started(seq: u64, attempt: u32, at: Timestamp) -> Event {
    control(seq, attempt, at, ControlData::AttemptStarted(AttemptStarted::new(ProfileId::PlainText, at)))
}

fn message(seq: u64, attempt: u32, at: Timestamp) -> Event {
    Event { ts: at, ..event(seq, attempt, RawRef::default(), vec![]) }
}

const BOTH: &[Stream] = &[Stream::Stdout, Stream::Stderr];
const NONE: Option<Range<u64>> = None;

#[test]
fn a_run_of_two_attempts() {
    let world = World::new(&[]);
    let mut first = world.recorder(ONE, BOTH);
    put(&mut first, 250 * MS, Stream::Stdout, b"one \xc3", NONE);
    put(&mut first, 500 * MS, Stream::Stderr, b"warn\n", NONE);
    put(&mut first, 750 * MS, Stream::Stdout, b"\xa4 hunter22\r\n\xff", Some(7..15));
    world.seal(first, Wiring::Pipes, moment(1_000));
    let mut second = world.recorder(TWO, BOTH);
    put(&mut second, 7_000 * MS, Stream::Stdout, b"two", NONE);
    world.seal(second, Wiring::Pipes, moment(100_000));
    world.append(&[
        started(1, 1, moment(0)),
        message(2, 1, moment(1_750)),
        control(3, 1, moment(2_000), ended(Some(3))),
        message(4, 1, moment(4_000)),
        started(5, 2, moment(99_999)),
        // A clock was set back.
        message(6, 2, moment(50_000)),
        control(7, 2, moment(107_250), ended(Some(4))),
        control(8, 2, moment(107_500), completed()),
    ]);
    let expected = [
        r#"{"version":3,"term":{"cols":80,"rows":24},"timestamp":1763164800,"title":"demo on scripted"}"#,
        r#"[0.000000,"m","1 attempt.started"]"#,
        r#"[1.250000,"o","one "]"#,
        r#"[0.250000,"o","warn\r\n"]"#,
        r#"[0.250000,"o","ä ********\r\n�"]"#,
        r#"[0.000000,"m","2 agent.message.final"]"#,
        r#"[0.250000,"m","3 attempt.ended"]"#,
        r#"[2.000000,"m","4 agent.message.final"]"#,
        r#"[3.000000,"m","5 attempt.started"]"#,
        r#"[0.000000,"m","6 agent.message.final"]"#,
        r#"[7.001000,"o","two"]"#,
        r#"[0.250000,"m","7 attempt.ended"]"#,
        r#"[0.250000,"m","8 run.completed"]"#,
        r#"[0.000000,"x","4"]"#,
    ];
    assert_eq!(cast(&world), expected);
}

#[test]
fn a_run_without_evidence_has_its_markers() {
    let world = World::new(&[]);
    assert_eq!(cast(&world).len(), 1, "an empty Log");
    world.append(&[message(1, 0, moment(0)), message(2, 0, moment(1))]);
    let wanted = [r#"[0.000000,"m","1 agent.message.final"]"#, r#"[0.001000,"m","2 agent.message.final"]"#];
    assert_eq!(cast(&world)[1..], wanted);
    fs::remove_dir(world.folder.audit()).expect("removed");
    assert_eq!(cast(&world)[1..], wanted);
}

#[test]
fn evidence_that_was_removed_is_none() {
    let world = World::new(&[]);
    let mut recorder = world.recorder(ONE, BOTH);
    put(&mut recorder, 1, Stream::Stdout, b"hunter22", Some(0..8));
    world.seal(recorder, Wiring::Pipes, moment(0));
    world.append(&[message(1, 1, moment(0))]);
    assert_eq!(output(&cast(&world)), "********");
    world.write(skillrun_runs::retention::NOTE, b"{}\n");
    assert_eq!(cast(&world)[1..], [r#"[0.000000,"m","1 agent.message.final"]"#]);
}

/// Half of a text that a pattern would hide is not shown before the other half arrives.
#[test]
fn a_run_that_goes_on_is_told_as_far_as_it_was_recorded() {
    let begun = |patterns: &[&str]| {
        let world = World::new(patterns);
        let mut recorder = world.recorder(ONE, BOTH);
        put(&mut recorder, 1, Stream::Stdout, b"line\nsk-123", NONE);
        recorder.write(Stream::Stdout, b"no record").expect("written");
        world.write("meta.1.json", br#"{"started_at":"2025-11-15T00:00:01Z","wiring":"pipes"}"#);
        world.append(&[started(1, 1, moment(0))]);
        (world, recorder)
    };
    assert_eq!(output(&cast(&begun(&[]).0)), "line\r\nsk-123");
    let (world, mut recorder) = begun(&["sk-[0-9]+;"]);
    assert_eq!(output(&cast(&world)), "line\r\n");
    assert!(!cast(&world).iter().any(|line| line.contains("\"x\"")), "it is not over");
    recorder.clear(Stream::Stdout, 11);
    put(&mut recorder, 2, Stream::Stdout, b"45;\n", NONE);
    assert!(output(&cast(&world)).starts_with("line\r\nsk-123no record45;\r\n"));
}

/// The stream of a terminal is played as it is; its recording replaces both streams where it contains both.
#[test]
fn terminals() {
    let of = |wiring, streams: &[(Stream, &[u8])]| {
        let world = World::new(&[]);
        let all: Vec<Stream> = streams.iter().map(|(stream, _)| *stream).collect();
        let mut recorder = world.recorder(ONE, &all);
        streams.iter().for_each(|(stream, bytes)| put(&mut recorder, 1, *stream, bytes, NONE));
        world.seal(recorder, wiring, moment(0));
        output(&cast(&world))
    };
    let (out, err) = ((Stream::Stdout, &b"a\n"[..]), (Stream::Stderr, &b"b\n"[..]));
    assert_eq!(of(Wiring::OnePty, &[out, (Stream::Stderr, b"")]), "a\n");
    assert_eq!(of(Wiring::SplitPty, &[out, err, (Stream::Pty, b"b\na\n")]), "b\na\n");
    assert_eq!(of(Wiring::SplitPty, &[out, err, (Stream::Pty, b"")]), "a\nb\n");
    assert_eq!(of(Wiring::SplitPty, &[out, err, (Stream::Pty, b"c")]), "a\nb\nc");
    assert_eq!(of(Wiring::Pipes, &[out, err, (Stream::Pty, b"a\nb\nc")]), "a\r\nb\r\n");
}

#[test]
fn moments_are_told_to_the_microsecond() {
    let at = |text: &str| Micros::of(text.parse().expect("a moment")).0;
    assert_eq!(at("2025-11-15T00:00:00.123456Z"), 1_763_164_800_123_456);
    assert_eq!(at("2025-11-15T00:00:00.123456999Z"), 1_763_164_800_123_456);
    assert_eq!(at("1970-01-01T00:00:01Z"), 1_000_000);
    assert_eq!(at("1969-12-31T23:59:59.999999Z"), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// For any recording: every line is an event, time never goes back, all markers are present in order, and the text
    /// of each attempt is what every other reader sees.
    #[test]
    fn nothing_is_lost_and_time_goes_on(
        pieces in vec((select(vec![ONE, TWO]), select(BOTH.to_vec()), vec(select(vec![&b"a"[..], b"\n", "😀".as_bytes(), b"\xff", b"key\n", b"k"]), 0..9)), 0..30),
        moments in vec(0..5_000u64, 1..40),
        patterns in select(vec![&[][..], &["key"][..]]),
    ) {
        let world = World::new(patterns);
        for (attempt, begin) in [(ONE, 500), (TWO, 900)] {
            let mut recorder: Recorder = world.recorder(attempt, BOTH);
            for (at, (_, stream, words)) in (0..).zip(&pieces).filter(|(_, (of, _, _))| *of == attempt) {
                put(&mut recorder, at * 10 * MS, *stream, &words.concat(), NONE);
            }
            world.seal(recorder, Wiring::OnePty, moment(begin));
        }
        let events: Vec<Event> = (1..).zip(&moments).map(|(seq, at)| message(seq, 1, moment(*at))).collect();
        world.append(&events);
        let lines = cast(&world);
        let all: Vec<(f64, String, String)> = lines[1..].iter().map(|l| serde_json::from_str(l).expect("an event")).collect();
        prop_assert!(all.iter().all(|(interval, _, _)| *interval >= 0.0));
        let seqs: Vec<u64> = all.iter().filter(|(_, code, _)| code == "m")
            .map(|(_, _, text)| text.split(' ').next().and_then(|seq| seq.parse().ok()).expect("a seq")).collect();
        prop_assert_eq!(seqs, (1..=moments.len() as u64).collect::<Vec<_>>());
        let fed = [ONE, TWO].map(|attempt| world.fed(attempt));
        let count = |text: &str| text.chars().filter(|c| *c == '*' || *c == 'a').count();
        let shown: usize = fed.iter().flatten().map(|bytes| count(&String::from_utf8_lossy(bytes))).sum();
        prop_assert_eq!(count(&output(&lines)), shown);
        let letters: usize = fed.iter().flatten().map(|bytes| String::from_utf8_lossy(bytes).chars().count()).sum();
        prop_assert_eq!(output(&lines).chars().count(), letters);
        let head: Value = serde_json::from_str(&lines[0]).expect("a header");
        prop_assert_eq!(&head["version"], 3);
    }
}
