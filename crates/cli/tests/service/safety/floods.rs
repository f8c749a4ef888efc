//! Too much, too long, too slow, too many. The server holds little of it, and keeps serving the other clients.

use std::fs;
use std::io::{self, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lab::{Lab, Server, wait_until};
use serde_json::json;
use testkit::http::{Answer, Client, answer};

use super::{FORM, JSON, SCRIPT, plain, pour, refused};

const MEGABYTE: usize = 1 << 20;

/// What may be on its way between two sides of a connection on one machine.
const ON_ITS_WAY: usize = 32 * MEGABYTE;

/// Fails when the server holds this much more memory than before.
#[track_caller]
fn held(server: &Server, before: u64, most_mb: u64) {
    let more = server.memory().saturating_sub(before);
    assert!(more < most_mb << 20, "{more} bytes more");
}

/// Begins a request, pours into it, and gives what came back, if it was not lost with the connection.
fn poured(server: &Server, begin: &str, piece: &[u8], most: usize) -> (usize, io::Result<Answer>) {
    let mut stream = server.client.connect().expect("connected");
    stream.write_all(begin.as_bytes()).expect("sent");
    let sent = pour(&mut stream, piece, most);
    (sent, answer(stream))
}

/// Connections that are kept open, each after the text of its number was sent.
fn hold(client: &Client, count: usize, text: impl Fn(usize) -> String) -> Vec<TcpStream> {
    let open = |number: usize| {
        let mut stream = client.connect().expect("connected");
        stream.write_all(text(number).as_bytes()).expect("sent");
        stream
    };
    (0..count).map(open).collect()
}

#[test]
fn a_head_without_an_end_is_cut_off_early() {
    let (_lab, server) = plain();
    let before = server.memory();
    let host = server.client.address;
    let long = [b'a'; 64 << 10];
    for (what, begin) in [
        ("one header", format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nX-Long: ")),
        ("a request line", "GET /".to_owned()),
        ("a query", "GET /v1/runs?q=".to_owned()),
        ("a method", "G".to_owned()),
        ("a token", format!("GET /v1/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer ")),
    ] {
        let (sent, answer) = poured(&server, &begin, &long, 100 * MEGABYTE);
        assert!(sent < ON_ITS_WAY, "{what}: {sent} bytes were taken");
        if let Ok(answer) = answer {
            assert!(matches!(answer.status, 400 | 414 | 431), "{what}: {}", answer.status);
        }
        held(&server, before, 16);
        server.is_well();
    }
    let begin = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n");
    let (sent, _) = poured(&server, &begin, "Name: value\r\n".repeat(5_000).as_bytes(), 100 * MEGABYTE);
    assert!(sent < ON_ITS_WAY, "{sent} bytes of headers were taken");
    let many = format!("{begin}{}\r\n", "a:b\r\n".repeat(10_000));
    assert_eq!(server.send(many.as_bytes()).expect("an answer").status, 431);
    held(&server, before, 16);
    server.is_well();
}

#[test]
fn a_body_that_is_announced_too_long_is_not_read() {
    let (lab, server) = plain();
    let before = server.belongings();
    for (path, kind) in [("/v1/runs", JSON), ("/v1/runs", FORM), ("/v1/skills", FORM), ("/v1/session", JSON)] {
        let head = server.client.head("POST", path, &[kind, ("Content-Length", "1073741824")]);
        let answer = server.send(head.as_bytes()).expect("an answer before the body");
        refused(&answer, 413, "BODY_TOO_LARGE");
        assert_eq!(answer.header("connection"), Some("close"));
    }
    assert_eq!(server.belongings(), before);
    assert!(is_empty(&lab), "something is left of an upload");
    server.is_well();
}

fn is_empty(lab: &Lab) -> bool {
    fs::read_dir(lab.data().join("uploads")).map_or(true, |mut entries| entries.next().is_none())
}

/// Waits until the server has let go of what came with a request.
fn emptied(lab: &Lab) {
    wait_until("the removal of uploads", || is_empty(lab));
}

#[test]
fn a_body_in_chunks_is_cut_off_at_the_limit() {
    let lab = Lab::new();
    lab.installed_skill("plain", SCRIPT);
    lab.settings("[server]\nbody_mb = 4\n");
    let server = lab.serve();
    let (before, memory) = (server.belongings(), server.memory());
    let size = 64 << 10;
    let piece = format!("{size:x}\r\n{}\r\n", "a".repeat(size));
    let spaces = format!("{size:x}\r\n{}\r\n", " ".repeat(size));
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let file = chunk("--B\r\nContent-Disposition: form-data; name=\"files.a\"; filename=\"a\"\r\n\r\n");
    let request = chunk("--B\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{\"skill\":\"");
    let header = chunk("--B\r\nContent-Disposition: form-data; name=\"");
    for (what, path, kind, begin, piece) in [
        ("JSON", "/v1/runs", JSON, chunk("{\"skill\":\""), &piece),
        ("a code", "/v1/session", JSON, chunk("{\"code\":\""), &piece),
        ("a file", "/v1/runs", FORM, file, &piece),
        ("a request in a form", "/v1/runs", FORM, request, &piece),
        ("what stands before a form", "/v1/runs", FORM, chunk("a"), &piece),
        ("a name of a part", "/v1/runs", FORM, header, &piece),
        ("spaces after a boundary", "/v1/runs", FORM, chunk("--B"), &spaces),
        ("a zip", "/v1/skills", FORM, chunk("--B\r\nContent-Disposition: form-data; name=\"skill\"\r\n\r\n"), &piece),
    ] {
        let head = server.client.head("POST", path, &[kind, ("Transfer-Encoding", "chunked")]);
        let begun = Instant::now();
        let (sent, answer) = poured(&server, &(head + &begin), piece.as_bytes(), 1024 * MEGABYTE);
        assert!(sent < 8 * MEGABYTE + ON_ITS_WAY, "{what}: {sent} bytes were taken");
        assert!(begun.elapsed() < Duration::from_secs(15), "{what}: {:?}", begun.elapsed());
        // The answer is lost when the connection is reset before it is read.
        if let Ok(answer) = answer {
            assert!(matches!(answer.status, 400 | 413), "{what}: {} {}", answer.status, answer.text());
        }
        held(&server, memory, 40);
        server.is_well();
    }
    assert_eq!(server.belongings(), before);
    emptied(&lab);
}

#[test]
fn a_form_of_too_many_parts_is_refused() {
    let (lab, server) = plain();
    let before = server.belongings();
    let names: Vec<String> = (0..300).map(|number| format!("files.f{number}")).collect();
    let parts: Vec<_> = names.iter().map(|name| (name.as_str(), Some("a"), &b""[..])).collect();
    refused(&server.asked("POST", "/v1/runs", &[FORM], &super::form(&parts)), 400, "INVALID_REQUEST");
    let deep = format!("{{\"skill\":\"plain\",\"input\":{}1{}}}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    refused(&server.asked("POST", "/v1/runs", &[JSON], deep.as_bytes()), 400, "INVALID_REQUEST");
    assert_eq!(server.belongings(), before);
    emptied(&lab);
    server.is_well();
}

#[test]
fn unfinished_requests_delay_no_other_client() {
    let (_lab, server) = plain();
    let host = server.client.address;
    let half = [
        String::new(),
        "GET".to_owned(),
        format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nX"),
        server.client.head("POST", "/v1/runs", &[JSON, ("Content-Length", "100")]),
        server.client.head("POST", "/v1/runs", &[FORM, ("Content-Length", "100")]) + "--B\r\n",
        server.client.head("POST", "/v1/runs", &[JSON, ("Transfer-Encoding", "chunked")]) + "5\r\nab",
    ];
    let open = hold(&server.client, 60, |number| half[number % half.len()].clone());
    server.done("plain", json!({}));
    server.is_well();
    drop(open);
}

/// The server has this many places for connections in the tests below; the default is 2048.
const PLACES: usize = 40;

/// A connection of an attacker is closed within 30 seconds, so an answer before that is not an accident.
const SOON: Duration = Duration::from_secs(20);

fn crowded() -> (Lab, Server) {
    let lab = Lab::new();
    lab.installed_skill("plain", SCRIPT);
    lab.settings(&format!("[server]\nconnections = {PLACES}\n"));
    let server = lab.serve();
    (lab, server)
}

/// Health, a request that reads and one that changes something are answered, with these tokens.
#[track_caller]
fn serves(server: &Server, tokens: &[&str]) {
    let begin = Instant::now();
    let health = server.as_told("GET", "/healthz", &[], b"");
    assert_eq!(health.status, 200);
    for token in tokens {
        assert_eq!(server.with_token(token).get("/v1/runs").expect("an answer").status, 200);
    }
    let run = server.run("plain", json!({}));
    assert!(begin.elapsed() < SOON, "it took {:?}", begin.elapsed());
    assert_eq!(server.wait(&run)["status"], "succeeded");
}

#[test]
fn half_sent_requests_lock_no_client_out() {
    let (_lab, server) = crowded();
    let host = server.client.address;
    let halves = [
        String::new(),
        format!("GET /v1/runs HTTP/1.1\r\nHost: {host}\r\nX"),
        format!(
            "POST /v1/session HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        ),
        format!("GET /v1/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer wrong\r\n\r\n"),
    ];
    let half = |number: usize| halves[number % halves.len()].clone();
    let mut held = hold(&server.client, 3 * PLACES, half);
    serves(&server, &[server.token()]);
    // The attack continues, and clients that were cut off reconnect.
    held.extend(hold(&server.client, PLACES, half));
    serves(&server, &[server.token()]);
    // A connection that never says who it is does not keep its place for long, though no other needs it.
    drop(held);
    let mut silent = hold(&server.client, 1, |_| half(1)).remove(0);
    let begin = Instant::now();
    silent.set_read_timeout(Some(SOON)).expect("set");
    let left = io::Read::read_to_end(&mut silent, &mut Vec::new());
    assert!(left.is_ok() && begin.elapsed() < SOON, "{left:?} after {:?}", begin.elapsed());
}

#[test]
fn streams_of_one_token_lock_no_client_out() {
    let (lab, server) = crowded();
    let token = lab.make_token("reader", "read");
    let reader = server.with_token(&token);
    // Each keeps its connection, also where the server has said that there are too many.
    let mut refused = 0;
    let mut held = Vec::new();
    for _ in 0..2 * PLACES {
        let mut stream = hold(&reader, 1, |_| reader.head("GET", "/v1/stream", &[])).remove(0);
        let mut begin = [0; 12];
        stream.set_read_timeout(Some(SOON)).expect("set");
        io::Read::read_exact(&mut stream, &mut begin).expect("the beginning of an answer");
        refused += usize::from(&begin == b"HTTP/1.1 429");
        held.push(stream);
    }
    assert!(refused >= PLACES, "one token has {} of {PLACES} places", 2 * PLACES - refused);
    serves(&server, &[&token, server.token()]);
    serves(&server, &[&token, server.token()]);
    drop(held);
    server.is_well();
}

#[test]
fn long_waiting_requests_lock_no_client_out() {
    let lab = Lab::new();
    lab.installed_skill("plain", SCRIPT);
    lab.installed_skill("slow", "- - sleep_ms: 600000\n  - output: {answer: done}\n    done: true\n");
    lab.settings(&format!("[server]\nconnections = {PLACES}\n"));
    let server = lab.serve();
    let run = server.run("slow", json!({}));
    let readers: Vec<_> = ["one", "two", "three"].map(|name| server.with_token(&lab.make_token(name, "read"))).into();
    let path = format!("/v1/runs/{run}?wait=600");
    let held = hold(&server.client, 3 * PLACES, |number| readers[number % readers.len()].head("GET", &path, &[]));
    serves(&server, &[server.token()]);
    let canceled = server.post(&format!("/v1/runs/{run}/cancel"), &json!({}));
    assert!(matches!(canceled.status, 200 | 202), "{}", canceled.text());
    drop(held);
    server.is_well();
}

/// A machine that gives the server few descriptors: it takes no more connections than leave some for files.
#[test]
fn half_sent_requests_use_up_no_descriptors() {
    let lab = Lab::new();
    lab.installed_skill("plain", SCRIPT);
    let serve = lab.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut limited = Command::new("prlimit");
    limited
        .arg("--nofile=256:256")
        .arg(serve.get_program())
        .args(serve.get_args())
        .env_clear()
        .envs(serve.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(lab.path("tmp"))
        .stdin(Stdio::null());
    let server = Lab::started(limited);
    let held = hold(&server.client, 600, |_| "GET /healthz HTTP/1.1\r\n".to_owned());
    serves(&server, &[server.token()]);
    drop(held);
    server.is_well();
}

/// A new client gets the place of an idle connection.
#[test]
fn a_server_full_of_idle_connections_answers() {
    let (_lab, server) = crowded();
    let mut idle = Vec::new();
    for _ in 0..2 * PLACES {
        idle.extend(hold(&server.client, 1, |_| server.client.head("GET", "/v1/runs", &[])));
        idle[idle.len() - 1].peek(&mut [0]).expect("an answer");
    }
    serves(&server, &[server.token()]);
    drop(idle);
    server.is_well();
}
