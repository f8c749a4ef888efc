//! The same folder always gives the same bytes.

use std::fs;
use std::path::Path;

use skillrun_evidence::Folder;
use skillrun_model::rasp::data::RunCompleted;
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::{Code, EngineName, ProfileId, Timestamp};
use skillrun_translate::{EventBuilder, FcmpTranslator, Replay};

/// `events.jsonl` and `fcmp.jsonl` of a folder.
fn normalize(dir: &Path) -> (String, String) {
    let folder = Folder::open(dir).expect("a folder");
    let engine = EngineName::new("codex");
    let mut builder = EventBuilder::new(folder.run_id().expect("an id"), engine.clone());
    let mut events = Vec::new();
    let mut now = Timestamp::EPOCH;
    for number in folder.attempts() {
        let attempt = folder.attempt(number).expect("an attempt");
        let profile = attempt.meta.profile.unwrap_or(ProfileId::CodexNdjson);
        builder.set_attempt(number, engine.clone());
        let started_at = attempt.meta.started_at.unwrap_or(Timestamp::EPOCH);
        let replay = Replay::new(attempt.feed().expect("a feed"), number, profile, started_at);
        now = replay.read(&mut builder, |event| events.push(event)).expect("readable").at;
    }
    let done = ControlData::RunCompleted(RunCompleted::new(Code::CleanFinal));
    events.push(builder.control(now, Level::Info, done, Correlation::default()));
    let log = events.iter().map(line).collect();
    let mut conversation = String::new();
    let mut translator = FcmpTranslator::default();
    for event in events {
        translator.push(event, &mut |event| conversation.push_str(&line(&event)));
    }
    (log, conversation)
}

fn line(event: &impl serde::Serialize) -> String {
    serde_json::to_string(event).expect("an event is JSON") + "\n"
}

/// Two attempts with everything that is remembered by name: open tools, echoes on both streams, repeated names.
fn recording(dir: &Path) {
    let audit = dir.join(".audit");
    fs::create_dir_all(&audit).expect("a folder");
    let write = |name: &str, text: &str| fs::write(audit.join(name), text).expect("a file");
    let mut stdout = String::new();
    for call in 0..50 {
        let item = format!(r#"{{"id":"c{call}","type":"command_execution","command":"x"}}"#);
        stdout += &format!(r#"{{"type":"item.started","item":{item}}}"#);
        stdout += "\n";
    }
    stdout += "a\nb\nc\nnoise\n";
    stdout += r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"a\nb\nc"}}"#;
    stdout += "\n{\"type\":\"turn.completed\"}\n";
    let stderr = "a\nb\nc\n";
    for attempt in ["1", "2"] {
        write(&format!("stdout.{attempt}.log"), &stdout);
        write(&format!("stderr.{attempt}.log"), stderr);
        let meta = r#"{"engine":"codex","started_at":"2026-11-15T00:00:00Z"}"#;
        write(&format!("meta.{attempt}.json"), meta);
    }
    let half = stdout.len() / 2;
    let chunks = [
        format!(r#"{{"i":0,"t_ns":1,"stream":"stdout","from":0,"to":{half},"batch":0}}"#),
        format!(r#"{{"i":1,"t_ns":2,"stream":"stderr","from":0,"to":{},"batch":0}}"#, stderr.len()),
        format!(r#"{{"i":2,"t_ns":3,"stream":"stdout","from":{half},"to":{},"batch":1}}"#, stdout.len()),
        r#"{"i":3,"t_ns":4,"eof":"stderr"}"#.to_owned(),
        r#"{"i":4,"t_ns":5,"eof":"stdout"}"#.to_owned(),
    ];
    write("chunks.2.jsonl", &(chunks.join("\n") + "\n"));
}

#[test]
fn normalising_twice_gives_the_same_bytes() {
    let (here, there) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    recording(here.path());
    recording(there.path());
    let first = normalize(here.path());
    assert_eq!(normalize(here.path()), first);
    assert_eq!(normalize(there.path()), first, "where the folder lies does not matter");
    assert_eq!(normalize(&here.path().join(".audit")), first);
}

/// Ensures that the test above compares something.
#[test]
fn the_recording_has_what_could_differ() {
    let here = tempfile::tempdir().expect("a folder");
    recording(here.path());
    let (log, conversation) = normalize(here.path());
    assert_eq!(log.matches("\"turn_ended\"").count(), 100);
    assert_eq!(conversation.matches("RAW_DUPLICATE_SUPPRESSED").count(), 4);
}
