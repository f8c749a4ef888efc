//! Cursors that do not hold, runs that are gone or never were, and streams with holes.

use std::fs;

use lab::{Lab, Server};
use serde_json::{Value, json};
use skillrun_model::rasp::Event;
use skillrun_translate::FcmpTranslator;
use testkit::http::{Answer, Opened};

use super::follower::{Came, Follower, Protocol, Service, Tells, is_end, view};

const SCRIPT: &str = "\
- - think: First I think.
  - say: Then I speak.
  - stderr: and complain
  - tool: {name: shell, input: {command: ls}, output: none}
  - usage: {input: 3, output: 4}
  - output: {answer: done}
    done: true
";

/// A run that is over, with its view.
fn finished(lab: &Lab, server: &Server) -> String {
    lab.installed_skill("plain", SCRIPT);
    let run = server.done("plain", json!({}));
    Follower::new(Protocol::Events, &run).follow(&server.client, usize::MAX, Service::Stays);
    view(lab, &run);
    run
}

fn refused(server: &Server, path: &str) -> Answer {
    match server.client.events(path, &[]).expect("an answer") {
        Opened::No(answer) => answer,
        Opened::Stream(_) => panic!("{path} is a stream"),
    }
}

#[test]
fn an_invalid_cursor_gets_a_reset_and_all_events() {
    let lab = Lab::new();
    let server = lab.serve();
    let run = finished(&lab, &server);
    for protocol in Protocol::ALL {
        let last = protocol.written(&lab, &run).len();
        for cursor in [format!("{}", last + 1), format!("{last}.2"), "1.7".to_owned(), u64::MAX.to_string()] {
            for tells in [Tells::Cursor, Tells::LastEventId] {
                let mut follower = Follower::from(protocol, &run, &cursor);
                assert_eq!(follower.take(&server.client, tells, usize::MAX).expect("read"), Came::Ended, "{cursor}");
                assert_eq!(follower.resets, [json!({"epoch": 1, "last_seq": last})], "{cursor}");
                follower.has_all(&lab);
                assert_eq!(follower.take(&server.client, tells, 1).expect("read"), Came::Complete);
            }
            let page = server.get(&format!("{}/history?cursor={cursor}", protocol.path(&run)));
            assert_eq!((page.status, &page.json()["code"]), (409, &json!("CURSOR_RESET")), "{cursor}");
        }
        for cursor in ["x", "-1", "1.0", "1.2.3"] {
            let answer = refused(&server, &format!("{}?cursor={cursor}", protocol.path(&run)));
            let field = &answer.json()["errors"][0]["field"];
            assert_eq!((answer.status, field), (400, &json!("query.cursor")), "{cursor}");
        }
        let mut follower = Follower::from(protocol, &run, "0");
        follower.take(&server.client, Tells::Cursor, usize::MAX).expect("read");
        follower.has_all(&lab);
        assert!(follower.resets.is_empty(), "a client without events fits every epoch");
    }
}

/// The conversation as it follows from the Log.
fn translated(events: &[Value]) -> Vec<Value> {
    let (mut translator, mut made) = (FcmpTranslator::default(), Vec::new());
    for event in events {
        let event = Event::from_json(&event.to_string()).expect("an event");
        translator.push(event, &mut |event| made.push(serde_json::from_str(&event.to_json()).expect("JSON")));
    }
    made
}

#[test]
fn after_lost_events_only_old_cursors_are_reset() {
    let lab = Lab::new();
    let server = lab.serve();
    let run = finished(&lab, &server);
    let before = lab.events(&run);
    let address = server.client.address.to_string();
    server.stop();
    let log = lab.run_folder(&run).join("events.jsonl");
    let text = fs::read_to_string(&log).expect("readable");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| line.contains("agent.message.final")).expect("a message");
    let damaged = [&lines[..at], &["{\"what\": \"is this\"}\n"], &lines[at + 1..]].concat().concat();
    fs::write(&log, damaged).expect("written");
    lab.printed(&["recover", "--cut", &run]);
    let server = lab.serve_at(&address, &[]);
    server.wait(&run);
    let after = lab.events(&run);
    assert!(after.last().is_some_and(is_end) && after != before, "it was sent again");
    for (protocol, expected) in [(Protocol::Events, after.clone()), (Protocol::Chat, translated(&after))] {
        for cursor in ["1", "5", &before.len().to_string()] {
            let mut follower = Follower::from(protocol, &run, cursor);
            follower.take(&server.client, Tells::LastEventId, usize::MAX).expect("read");
            assert_eq!(follower.resets, [json!({"epoch": 2, "last_seq": expected.len()})], "{cursor}");
            assert_eq!(follower.got, expected, "{protocol:?} after {cursor}");
            assert_eq!(follower.cursor, Some(format!("{}.2", expected.len())));
        }
        let follower = Follower::new(protocol, &run).follow(&server.client, 1, Service::Stays);
        assert_eq!((follower.got, follower.resets), (expected.clone(), Vec::new()), "{protocol:?}");
        let page = server.get(&format!("{}/history?limit=1000", protocol.path(&run))).json();
        assert_eq!((&page["events"], &page["epoch"]), (&json!(expected), &json!(2)));
    }
}

#[test]
fn removed_and_unknown_runs_are_distinguished() {
    let lab = Lab::new();
    let server = lab.serve();
    let run = finished(&lab, &server);
    let unknown = "0199a000-0000-7000-8000-000000000000";
    let paths = |run: &str| {
        let streams = Protocol::ALL.map(|protocol| protocol.path(run));
        let pages = Protocol::ALL.map(|protocol| format!("{}/history", protocol.path(run)));
        [&streams[..], &pages[..], &[format!("/v1/runs/{run}")]].concat()
    };
    for path in paths(unknown) {
        let answer = refused(&server, &path);
        assert_eq!((answer.status, &answer.json()["code"]), (404, &json!("RUN_NOT_FOUND")), "{path}");
    }
    lab.settings("[retention]\nsucceeded_count = 0\n");
    lab.printed(&["gc"]);
    assert!(!lab.run_folder(&run).join("run.json").exists(), "it is gone");
    for path in paths(&run) {
        let answer = refused(&server, &path);
        assert_eq!((answer.status, &answer.json()["code"]), (410, &json!("RUN_REMOVED")), "{path}");
        assert_eq!(answer.json()["run_id"], json!(run));
    }
}

#[test]
fn a_frontend_gets_holes_and_the_end() {
    let lab = Lab::new();
    let server = lab.serve();
    let run = finished(&lab, &server);
    let runtime = ["attempt.started", "message.user", "attempt.ended", "turn.usage"];
    let is_shown = |event: &&Value| !runtime.contains(&event["event"]["type"].as_str().unwrap_or_default());
    let log = lab.events(&run);
    let shown: Vec<&Value> = log.iter().filter(is_shown).collect();
    assert!(shown.len() < log.len() && shown.last().copied().is_some_and(is_end));
    let path = format!("/v1/runs/{run}/events?taxonomy=frontend");
    let (mut got, mut cursor) = (Vec::new(), "0".to_owned());
    // Leaving after every event, so that holes lie at both sides of a cursor.
    while let Opened::Stream(mut events) = server.client.events(&path, &[("Last-Event-ID", &cursor)]).expect("opened") {
        let event = events.next_event().expect("read").expect("an event");
        cursor = event.id.clone().expect("an id");
        got.push(event.json());
    }
    assert_eq!(got.iter().collect::<Vec<_>>(), shown);
    let page = server.get(&format!("/v1/runs/{run}/events/history?taxonomy=frontend")).json();
    assert_eq!(page["events"], json!(shown));
}
