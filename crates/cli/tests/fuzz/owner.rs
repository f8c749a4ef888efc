//! The socket of an owner, `owners/PID.sock` in the data folder, with a server behind it and a run that waits.
//!
//! Laws: one line of JSON is answered, or nothing; nothing is done for a line that is not exactly a request of the right
//! version; the run waits on, and the server lives.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;

use crate::drive::fuzz;
use crate::mutate::{self, Bytes, Material};
use crate::server::Server;
use crate::words;

const TEST_TIMEOUT: Duration = Duration::from_secs(15);

/// Whether this line asks rightly for something that changes the run.
fn is_request(line: &[u8], run: &str) -> bool {
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        // The reader may be kinder than this one, but not to what does not even have the words.
        return false;
    };
    let names_run = value["run"].as_str().is_some_and(|named| named.eq_ignore_ascii_case(run));
    value["skillrun_client"] == 1 && names_run && ["reply", "cancel", "let_go"].iter().any(|what| value["do"] == *what)
}

fn check(server: &Server, run: &str, bytes: &Bytes) {
    let line = bytes.0.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    if !is_request(line, run) {
        assert_nothing_done(server, run, bytes);
    }
}

fn assert_nothing_done(server: &Server, run: &str, bytes: &Bytes) {
    let log = server.data().join("runs").join(run).join("events.jsonl");
    let before = fs::read(&log).expect("the Log");
    let socket = server.data().join("owners").join(format!("{}.sock", server.pid()));
    let mut stream = UnixStream::connect(socket).expect("an owner that listens");
    stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
    stream.set_write_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
    // The owner may close the connection in the middle.
    stream.write_all(&bytes.0).ok();
    stream.shutdown(Shutdown::Write).ok();
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("no answer and no end: {error}"),
    }
    if !answer.is_empty() {
        let said: Value = serde_json::from_slice(&answer).expect("one line of JSON");
        let is_answer = said["ok"] == true || said["error"]["message"].is_string();
        assert!(is_answer && answer.ends_with(b"\n"), "{said}");
    }
    assert!(fs::read(&log).expect("the Log") == before, "something happened to the run");
    server.assert_well();
}

#[test]
fn owner() {
    let server = Server::start();
    let run = server.waiting_run();
    let seeds = vec![
        format!("{{\"skillrun_client\":2,\"do\":\"cancel\",\"run\":\"{run}\",\"by\":\"user\"}}\n"),
        format!("{{\"skillrun_client\":1,\"do\":\"cancel\",\"run\":\"{run}\"}}\n"),
        format!("{{\"skillrun_client\":\"1\",\"do\":\"let_go\",\"run\":\"{run}\"}}\n"),
        format!(
            "{{\"do\":\"reply\",\"run\":\"{run}\",\"reply\":{{\"interaction_id\":1,\"text\":\"x\",\"files\":[],\"request_id\":null}}}}\n"
        ),
        "{\"skillrun_client\":1,\"do\":\"hello\"}\n".to_owned(),
        "{\"skillrun_client\":1,\"do\":\"cancel\",\"run\":\"00000000-0000-7000-8000-000000000000\",\"by\":\"user\"}\n"
            .to_owned(),
        format!("{{\"skillrun_client\":1,\"do\":\"take_up\",\"run\":\"{run}\"}}\n"),
    ];
    let seeds = seeds.into_iter().map(String::into_bytes).collect();
    let material = Material::new(seeds, words::SOCKETS);
    let said = mutate::bytes(&material).boxed();
    let before = server.descriptors();
    fuzz("owner", said, |bytes: &Bytes| check(&server, &run, bytes));
    server.await_descriptors(before + 10);
    assert_eq!(server.status_of(&run), "waiting_user");
}

/// The check itself: what is done for the right word is seen.
#[test]
#[should_panic(expected = "something happened to the run")]
fn what_is_obeyed_is_seen() {
    let server = Server::start();
    let run = server.waiting_run();
    let cancel = format!("{{\"skillrun_client\":1,\"do\":\"cancel\",\"run\":\"{run}\",\"by\":\"user\"}}\n");
    assert!(is_request(cancel.as_bytes(), &run));
    assert_nothing_done(&server, &run, &Bytes(cancel.into_bytes()));
}
