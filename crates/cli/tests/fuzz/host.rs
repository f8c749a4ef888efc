//! The socket of an attempt's host, with a living process behind it.
//!
//! Laws: the host lives and lets the next one in; the process is not disturbed; nothing is done for a client that has not
//! greeted, or by a line that is not exactly a request; what was written to the process is what was asked for; the
//! evidence is whole at the end.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use lab::host::{FIRST, HostLab, receive_ended, start_host};
use lab::{TEST_TIMEOUT, eventually, is_gone};
use proptest::prelude::*;
use serde_json::Value;
use skillrun_collect::owner::HostMessage;
use skillrun_collect::plan::{HostPlan, StdinPlan};
use skillrun_collect::protocol::HostRequest;
use skillrun_collect::{Attached, CollectError, HostConnection, attach};
use skillrun_evidence::{Folder, HostRecord, Stream};
use skillrun_model::EndedBy;

use crate::drive::fuzz;
use crate::mutate::{self, Bytes, Material};
use crate::words;

/// A host whose process echoes its input.
struct Lab {
    place: HostLab,
    /// The process, by its own word.
    process: u32,
}

impl Lab {
    fn new() -> Self {
        let place = HostLab::new();
        let plan = place.plan(&["pid", "process", "out", "ready\\n", "echo-stdin"]);
        start_host(&HostPlan { stdin: StdinPlan::Pipe, ..plan });
        let process = place.await_pid("process");
        Self { place, process }
    }

    fn audit(&self) -> PathBuf {
        self.place.audit()
    }

    fn attach(&self) -> HostConnection {
        eventually("a place at the host", || match attach(&self.audit(), FIRST) {
            Ok(Attached::Live(owner)) => Some(*owner),
            // The one before has left, and the host has not seen it yet.
            Err(CollectError::Owned) => None,
            other => panic!("{other:?}"),
        })
    }
}

/// Whether this line, from a client that has greeted, may have an effect that cannot be undone here.
fn may_do(line: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return false };
    ["cancel", "close_stdin", "next_attempt", "turn_over", "wait"].iter().any(|what| value["do"] == *what)
}

/// The bytes without the lines that would be obeyed, and rightly so.
fn harmless(bytes: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let greets = |line: &&[u8]| serde_json::from_slice::<Value>(line).is_ok_and(|value| value["skillrun_owner"] == 1);
    match lines.first() {
        Some(first) if greets(first) => lines.into_iter().filter(|line| !may_do(line)).collect::<Vec<_>>().concat(),
        // Without the right word nothing is obeyed, so all of it may be said.
        Some(_) | None => bytes.to_vec(),
    }
}

/// Says it, and gives what the host answered before one of us hung up.
fn say(lab: &Lab, bytes: &[u8]) -> Vec<Value> {
    let mut stream = eventually("a host that listens", || UnixStream::connect(lab.audit().join("host.sock")).ok());
    stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
    stream.set_write_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
    // The host may close the connection in the middle.
    stream.write_all(bytes).ok();
    stream.shutdown(Shutdown::Write).ok();
    let mut said = Vec::new();
    match stream.read_to_end(&mut said) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the host does not hang up on a client that has: {error}"),
    }
    let lines = said.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    lines.map(|line| serde_json::from_slice(line).expect("the host speaks JSON")).collect()
}

/// What was asked for in this line, if it is input.
fn input(line: &[u8]) -> Option<Vec<u8>> {
    let value: Value = serde_json::from_slice(line).ok().filter(|value: &Value| value["do"] == "input")?;
    value["text"].as_str().map(|text| text.as_bytes().to_vec()).or_else(|| unhexed(value["hex"].as_str()?))
}

fn unhexed(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect()
}

fn check(lab: &Lab, bytes: &Bytes) {
    let bytes = harmless(&bytes.0);
    let written = lab.audit().join("stdin.1.log");
    let before = fs::read(&written).unwrap_or_default();
    let answers = say(lab, &bytes);
    assert!(answers.first().is_none_or(|hello| hello["skillrun_host"] == 1), "{answers:?}");
    let mut owner = lab.attach();
    assert!(!is_gone(lab.process), "the process is gone after {answers:?}");
    let after = fs::read(&written).unwrap_or_default();
    assert!(after.starts_with(&before), "what was written before is changed");
    let new = &after[before.len()..];
    let asked: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').filter_map(input).collect();
    // Everything that was written was asked for, in this order.
    let mut rest = new;
    for text in &asked {
        rest = rest.strip_prefix(text.as_slice()).unwrap_or(rest);
    }
    assert!(rest.is_empty(), "unrequested: {}", rest.escape_ascii());
    owner.send(&HostRequest::Detach).expect("said");
    while !matches!(owner.receive(TEST_TIMEOUT).expect("a host that speaks"), HostMessage::Gone) {}
}

/// The right word ends it, and everything is there.
fn finish(lab: &Lab) {
    let mut owner = lab.attach();
    owner.send(&HostRequest::Cancel { ladder: None }).expect("said");
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
    let record = HostRecord::read(&lab.audit(), FIRST).expect("readable").expect("a record");
    assert_eq!(record.ended_by, Some(EndedBy::Canceled));
    let attempt = Folder::open(&lab.place.out()).and_then(|folder| folder.attempt(FIRST)).expect("an attempt");
    let mut feed = attempt.feed().expect("its bytes");
    while feed.next_step().expect("a step").is_some() {}
    assert_eq!(feed.problems(), Vec::<String>::new(), "the index does not cover what there is");
    let said = fs::read(lab.audit().join("stdout.1.log")).expect("its words");
    let told = fs::read(lab.audit().join("stdin.1.log")).unwrap_or_default();
    let said = said.strip_prefix(b"ready\n").expect("what it said first");
    assert!(told.starts_with(said), "the process echoes its input");
    assert_eq!(feed.position(Stream::Stdout), said.len() as u64 + 6);
}

#[test]
fn host() {
    let lab = Lab::new();
    let seeds = [
        "{\"skillrun_owner\":1}\n{\"do\":\"input\",\"id\":\"a1\",\"text\":\"blue\\n\"}\n{\"do\":\"detach\"}\n",
        "{\"skillrun_owner\":1}\n{\"do\":\"go_on\"}\n{\"do\":\"turn_goes_on\"}\n{\"do\":\"start\"}\n",
        "{\"skillrun_owner\":1}\n{\"do\":\"input\",\"id\":\"b\",\"hex\":\"626c7565\"}\n{\"do\":\"Cancel\"}\n",
        "{\"skillrun_owner\":2}\n{\"do\":\"cancel\"}\n",
        "{\"do\":\"cancel\"}\n{\"do\":\"close_stdin\"}\n",
        "{\"skillrun_owner\":\"1\"}\n{\"do\":\"cancel\",\"ladder\":[{\"signal\":\"SIGKILL\",\"pause\":{\"secs\":0,\"nanos\":0}}]}\n",
    ];
    let material = Material::new(seeds.map(|seed| seed.as_bytes().to_vec()).into(), words::SOCKETS);
    let said = mutate::bytes(&material).boxed();
    fuzz("host", said, |bytes: &Bytes| check(&lab, bytes));
    finish(&lab);
}
