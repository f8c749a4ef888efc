//! A worker that follows a process and a reader of the finished recording arrive at the same events and facts.

use skillrun_evidence::live_feed::Extent;
use skillrun_evidence::{Folder, LiveFeed, Recorder, Stream};
use skillrun_model::rasp::Event;
use skillrun_model::{AttemptNumber, EngineName, ProfileId, RunId, Timestamp};
use skillrun_translate::{EventBuilder, Replay};

const ONE: AttemptNumber = AttemptNumber(1);
const LINES: [&str; 4] = [
    "{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}\n",
    "{\"type\":\"item.completed\",\"item\":{\"id\":\"m\",\"type\":\"agent_message\",\"text\":\"done\"}}\n",
    "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}\n",
    "a last line without an end",
];

fn builder() -> EventBuilder {
    let engine = EngineName::new("codex");
    let mut builder = EventBuilder::new(RunId::new(1, [1; 10]), engine.clone());
    builder.set_attempt(ONE, engine);
    builder
}

fn json(events: &[Event]) -> Vec<String> {
    events.iter().map(Event::to_json).collect()
}

#[test]
fn a_replay_that_follows_the_host_ends_as_one_of_the_whole_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    let audit = folder.path().join(".audit");
    std::fs::create_dir(&audit).expect("a folder");
    let started_at = Timestamp::EPOCH.plus_nanos(5_000_000_000);
    let feed = LiveFeed::open(&audit, ONE).expect("nothing to read");
    let mut live = Replay::new(feed, ONE, ProfileId::CodexNdjson, Timestamp::EPOCH);
    live.pipeline_mut().set_started_at(started_at);
    let (mut following, mut followed) = (builder(), Vec::new());
    let mut recorder = Recorder::create(&audit, ONE, &[Stream::Stdout, Stream::Stderr]).expect("files");
    for (line, moment) in LINES.iter().zip(1..) {
        recorder.write(Stream::Stdout, line.as_bytes()).expect("written");
        recorder.clear(Stream::Stdout, u64::MAX);
        recorder.announce(moment * 1_000_000_000).expect("announced");
        // The host vouches for the first two lines only.
        let extent = Extent { stdout: (LINES[0].len() + LINES[1].len()) as u64, stderr: 0, pty: 0 };
        let mut step = || {
            live.step_with(|feed| feed.next_step(extent), &mut following, |event| followed.push(event))
                .map(|step| step.is_some())
        };
        while step().expect("readable") {}
    }
    recorder.end(5_000_000_000, Stream::Stdout).expect("the end");
    drop(recorder);
    assert!(!followed.is_empty() && live.pipeline().end_so_far().is_none(), "the end is beyond the extent");
    let (feed, mut pipeline) = live.into_parts();
    let mut feed = feed.finish().expect("readable");
    while let Some(step) = feed.next_step().expect("readable") {
        pipeline.step(&step, &mut following, |event| followed.push(event));
    }
    let elapsed_ms = pipeline.elapsed_ms();
    let facts = pipeline.finish(&mut following, |event| followed.push(event));

    let attempt = Folder::open(folder.path()).and_then(|folder| folder.attempt(ONE)).expect("an attempt");
    let whole = Replay::new(attempt.feed().expect("a feed"), ONE, ProfileId::CodexNdjson, started_at);
    let mut events = Vec::new();
    let end = whole.read(&mut builder(), |event| events.push(event)).expect("readable");
    assert_eq!(json(&followed), json(&events));
    assert_eq!((format!("{facts:?}"), elapsed_ms), (format!("{:?}", end.facts), end.elapsed_ms));
    assert_eq!(end.facts.session_id.as_deref(), Some("t-1"));
    assert_eq!((end.elapsed_ms, end.bytes), (Some(5_000), [LINES.concat().len() as u64, 0, 0]));
    assert!(end.problems.is_empty() && end.withheld.is_none(), "{end:?}");
}
