//! Whatever an engine writes, reading it takes little memory and time in proportion, and no byte is swallowed.
//!
//! `make bench` measures the same with larger inputs and more shapes.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use skillrun_model::ProfileId;
use testkit::measure::{self, Cost};
use testkit::parallel;
use testkit::scratch::Recording;
use testkit::streams::shapes::write_repeated;
use testkit::streams::turns::write_turns;
use testkit::streams::{Profile, Shape};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Reads a recording; every byte of it must lie in an event.
fn normalize(recording: &Recording, profile: Profile) -> Cost {
    let printed = recording.path(profile.name());
    let mut command = Command::new(env!("CARGO_BIN_EXE_skillrun"));
    command.args(["normalize", "--mode", "interactive", "--exit-code", "0", "--profile", profile.name()]);
    command.arg(recording.folder()).stdin(Stdio::null()).stdout(File::create(&printed).unwrap());
    let cost = measure::run(&mut command).unwrap();
    assert!(cost.status.success(), "{command:?}: {}", cost.status);
    let summary: Value = serde_json::from_slice(&fs::read(&printed).unwrap()).unwrap();
    let coverage = &summary["coverage"];
    assert_eq!(coverage["stdout_bytes"], recording.len().unwrap(), "{command:?}");
    assert_eq!(coverage["stdout_covered"], coverage["stdout_bytes"], "{command:?}");
    cost
}

#[test]
fn every_profile_is_tried() {
    let tried = Profile::ALL.map(Profile::name);
    let known: Vec<_> = ProfileId::ALL.iter().map(|profile| profile.as_str()).collect();
    assert_eq!(tried.as_slice(), known);
}

const MEMORY_MAX: u64 = 64_000_000;
/// As much as may be held, so that holding the input shows.
const INPUT: u64 = 64 * MIB;

fn assert_memory_is_bounded(what: &str, write: impl Fn(Profile, &mut dyn Write) -> std::io::Result<()> + Sync) {
    parallel::each(&Profile::ALL, |profile| {
        let recording = Recording::new(|out| write(*profile, out)).unwrap();
        let peak = normalize(&recording, *profile).peak;
        assert!(peak < MEMORY_MAX, "{}: {what} took {peak} bytes", profile.name());
    });
}

#[test]
fn one_endless_line_takes_little_memory() {
    assert_memory_is_bounded("one line", |_, out| Shape::Letters.write_line(INPUT, out));
}

#[test]
fn endless_noise_takes_little_memory() {
    const LINES: &[u8] = b"DEBUG fetch: connection 17 is kept alive\n\nok\n";
    assert_memory_is_bounded("noise", |_, out| write_repeated(LINES, INPUT, out));
}

#[test]
fn endless_work_takes_little_memory() {
    assert_memory_is_bounded("work", |profile, out| write_turns(profile, INPUT, out).map(drop));
}

/// A message as large as may be, and every character of it twice as long in JSON. Found by `make bench`: each copy of it,
/// and each buffer it is written through, counts.
#[test]
fn the_largest_message_takes_little_memory() {
    assert_memory_is_bounded("one message", |profile, out| {
        out.write_all(profile.message(&Shape::Quotes.text(4 * MIB)).as_bytes())
    });
}

const HOSTILE: [Shape; 12] = [
    Shape::CutEvents,
    Shape::OpenBraces,
    Shape::OpenBrackets,
    Shape::NestedObjects,
    Shape::OpenFences,
    Shape::MixedFences,
    Shape::Quotes,
    Shape::EscapedQuotes,
    Shape::ExecutionInfo,
    Shape::AskUserYaml,
    Shape::AskUserFences,
    Shape::MarkerMentions,
];

/// Four times the input may take this many times as long. Quadratic time is 16 times; the rest is for a busy machine.
const GROWTH_MAX: u32 = 10;
const SMALL: u64 = 128 * KIB;
const LARGE: u64 = 4 * SMALL;
/// What takes less is not worth judging: starting the program takes that long too.
const NEGLIGIBLE: Duration = Duration::from_millis(50);
const TRIES: usize = 3;

fn assert_growth_is_linear(profiles: &[Profile], recording: impl Fn(Shape, Profile, u64) -> Recording + Sync) {
    let cases: Vec<_> =
        HOSTILE.iter().flat_map(|shape| profiles.iter().map(move |profile| (*shape, *profile))).collect();
    parallel::each(&cases, |(shape, profile)| {
        let (small, large) = (recording(*shape, *profile, SMALL), recording(*shape, *profile, LARGE));
        let (mut best_small, mut best_large) = (Duration::MAX, Duration::MAX);
        for _ in 0..TRIES {
            best_large = best_large.min(normalize(&large, *profile).cpu);
            if best_large < NEGLIGIBLE {
                return;
            }
            best_small = best_small.min(normalize(&small, *profile).cpu);
            if best_large < best_small * GROWTH_MAX {
                return;
            }
        }
        panic!("{}, {}: {best_small:?}, four times as much: {best_large:?}", profile.name(), shape.name());
    });
}

#[test]
fn hostile_lines_take_linear_time() {
    assert_growth_is_linear(&Profile::ALL, |shape, _, size| {
        Recording::new(|out| shape.write_lines(size, out)).unwrap()
    });
}

#[test]
fn a_hostile_line_takes_linear_time() {
    assert_growth_is_linear(&Profile::ALL, |shape, _, size| Recording::new(|out| shape.write_line(size, out)).unwrap());
}

/// What is made of a message is the same for all profiles; how it gets there differs in these.
#[test]
fn a_hostile_message_takes_linear_time() {
    let profiles = [Profile::CodexNdjson, Profile::ClaudeStreamJson, Profile::IflowText];
    assert_growth_is_linear(&profiles, |shape, profile, size| {
        Recording::of_bytes(profile.message(&shape.text(size)).as_bytes()).unwrap()
    });
}
