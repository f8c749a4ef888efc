//! The server, with arbitrary requests: made from its own description, with strange values, wrong
//! lengths and changed bytes, several at once, half of one, or none.
//!
//! Laws: the server lives and answers everybody else; every answer is HTTP and none is the server's fault; what needs a
//! token is not done without one; connections that are gone leave no descriptor.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::drive::{Input, fuzz};
use crate::mutate::{self, Bytes, Change, Material};
use crate::server::Server;
use crate::words;

/// How long an answer is waited for before the client stops sending; it is not a measure of the server.
const LISTEN: Duration = Duration::from_millis(150);
/// Then the server has this long to hang up.
const TEST_TIMEOUT: Duration = Duration::from_secs(15);
const ANSWER_MAX: usize = 1 << 20;

/// An operation of the description.
#[derive(Debug, Clone)]
struct Operation {
    method: String,
    path: String,
    query: Vec<String>,
}

#[derive(Debug, Clone)]
struct Asked {
    operation: Operation,
    /// Instead of each `{name}`, and of each value of the query.
    values: Vec<String>,
    has_query: bool,
    token: Token,
    headers: Vec<(String, String)>,
    body: Bytes,
    length: Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Right,
    Wrong,
    None,
}

#[derive(Debug, Clone, Copy)]
enum Length {
    True,
    None,
    Less(u8),
    More(u8),
    Chunked,
}

/// What is sent over one connection.
#[derive(Debug, Clone)]
struct Connection {
    requests: Vec<Asked>,
    changes: Vec<Change>,
    /// Bytes that are sent first alone.
    first: usize,
    leaves: Leaves,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaves {
    /// Reads what comes.
    Politely,
    /// Reads nothing.
    AtOnce,
}

impl Input for Connection {
    fn bytes(&self) -> Vec<u8> {
        format!("{self:#?}").into_bytes()
    }
}

/// All operations of the committed description.
fn operations() -> Vec<Operation> {
    let text = std::fs::read(testkit::paths::workspace().join("schemas/openapi.json")).expect("the description");
    let document: Value = serde_json::from_slice(&text).expect("JSON");
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in
            methods.as_object().expect("methods").iter().filter(|(name, _)| *name != "parameters")
        {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let query = parameters
                .filter(|one| one["in"] == "query")
                .filter_map(|one| one["name"].as_str().map(str::to_owned))
                .collect();
            all.push(Operation { method: method.to_uppercase(), path: path.clone(), query });
        }
    }
    assert!(all.len() > 20, "{} operations", all.len());
    all
}

fn asked(run: String, material: &Material) -> impl Strategy<Value = Asked> + use<> {
    let value = prop_oneof![
        6 => Just(run),
        4 => select(vec![
            "0", "1", "-1", "18446744073709551616", "2.5", "", "plain", "asks", "..", "%2e%2e", "%00", "a%2fb", "stdout", "stderr", "true", "true&x=1", "1:2", "1-0", "x", "%ff", "codex", "auto", "engine",
            "2026-01-01T00:00:00Z", "9999-99-99", "report.md", "https://127.0.0.1/x", "😀",
        ]).prop_map(str::to_owned),
        1 => "[a-z0-9%./]{0,30}",
    ];
    let method = prop_oneof![8 => Just(None), 1 => select(vec!["GET", "POST", "DELETE", "PUT", "OPTIONS", "HEAD", "PATCH", "TRACE", "X"]).prop_map(|method| Some(method.to_owned()))];
    let operation = (select(operations()), method).prop_map(|(mut operation, method)| {
        operation.method = method.unwrap_or(operation.method);
        operation
    });
    let header = prop_oneof![
        3 => select(vec![
            ("Content-Type", "application/json"), ("Content-Type", "multipart/form-data; boundary=B"), ("Content-Type", "text/plain"), ("Content-Type", "application/json; charset=utf-16"),
            ("Accept", "text/event-stream"), ("Accept-Encoding", "gzip, br"), ("Last-Event-ID", "1:99999"), ("Last-Event-ID", "x"), ("Range", "bytes=0-0"), ("Range", "bytes=-18446744073709551616"),
            ("Idempotency-Key", "k"), ("Origin", "http://evil.example.org"), ("Expect", "100-continue"), ("Content-Encoding", "gzip"), ("Cookie", "skillrun_session=x"), ("Upgrade", "h2c"), ("Host", "evil"),
            ("Sec-Fetch-Site", "cross-site"), ("If-None-Match", "*"), ("Connection", "keep-alive, close"),
        ]).prop_map(|(name, value)| (name.to_owned(), value.to_owned())),
        1 => ("[A-Za-z-]{1,12}", "[ -~]{0,40}"),
    ];
    let headers = prop_oneof![30 => vec(header.clone(), 0..4), 1 => vec(header, 90..130)];
    let body = prop_oneof![2 => Just(Bytes(Vec::new())), 3 => mutate::bytes(material)];
    let length = prop_oneof![6 => Just(Length::True), 1 => Just(Length::None), 1 => any::<u8>().prop_map(Length::Less), 1 => any::<u8>().prop_map(Length::More), 1 => Just(Length::Chunked)];
    let token = prop_oneof![6 => Just(Token::Right), 1 => Just(Token::Wrong), 2 => Just(Token::None)];
    (operation, vec(value, 8), any::<bool>(), token, headers, body, length).prop_map(
        |(operation, values, has_query, token, headers, body, length)| Asked {
            operation,
            values,
            has_query,
            token,
            headers,
            body,
            length,
        },
    )
}

impl Asked {
    fn bytes(&self, server: &Server) -> Vec<u8> {
        let mut values = self.values.iter();
        let mut next = || values.next().map_or("", String::as_str);
        let mut path = self.operation.path.clone();
        while let Some((begin, end)) = path.find('{').zip(path.find('}')) {
            path.replace_range(begin..=end, next());
        }
        if self.has_query && !self.operation.query.is_empty() {
            let query: Vec<String> = self.operation.query.iter().map(|name| format!("{name}={}", next())).collect();
            path = format!("{path}?{}", query.join("&"));
        }
        let mut head = format!("{} {path} HTTP/1.1\r\nHost: {}\r\n", self.operation.method, server.client().address);
        match self.token {
            Token::Right => head += &format!("Authorization: Bearer {}\r\n", server.token()),
            Token::Wrong => head += "Authorization: Bearer skillrun_wrong\r\n",
            Token::None => {}
        }
        self.headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        let length = self.body.0.len();
        let (line, body) = match self.length {
            Length::True => (format!("Content-Length: {length}\r\n"), self.body.0.clone()),
            Length::None => (String::new(), self.body.0.clone()),
            Length::Less(less) => {
                (format!("Content-Length: {}\r\n", length.saturating_sub(less.into())), self.body.0.clone())
            }
            Length::More(more) => (format!("Content-Length: {}\r\n", length + usize::from(more)), self.body.0.clone()),
            Length::Chunked => {
                let pieces = self
                    .body
                    .0
                    .chunks(100)
                    .map(|piece| [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat());
                (
                    "Transfer-Encoding: chunked\r\n".to_owned(),
                    [pieces.collect::<Vec<_>>().concat(), b"0\r\n\r\n".to_vec()].concat(),
                )
            }
        };
        [head.as_bytes(), line.as_bytes(), b"\r\n", &body].concat()
    }

    /// Whether this request is allowed without a token.
    fn is_open(&self) -> bool {
        !self.operation.path.starts_with("/v1/") && self.operation.path != "/metrics"
            || self.operation.method == "OPTIONS"
            || self.operation.path.starts_with("/v1/session")
    }
}

/// Sends it, and gives what came back before the server hung up.
fn send(server: &Server, bytes: &[u8], connection: &Connection) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.client().address).expect("a server that listens");
    stream.set_nodelay(true).ok();
    stream.set_write_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
    let (first, rest) = bytes.split_at(connection.first.min(bytes.len()));
    // The server may close the connection in the middle.
    if stream.write_all(first).and_then(|()| stream.write_all(rest)).is_ok() && connection.leaves == Leaves::AtOnce {
        return Vec::new();
    }
    let mut answer = Vec::new();
    let ended = read(&mut stream, &mut answer, LISTEN);
    stream.shutdown(Shutdown::Write).ok();
    // If more was sent than it has read, such as an unexpected body, it cannot know that nothing will follow.
    let is_whole = |asked: &Asked| {
        asked.body.0.is_empty() && matches!(asked.length, Length::True | Length::None | Length::Less(_))
    };
    let must_end = connection.changes.is_empty() && matches!(&connection.requests[..], [only] if is_whole(only));
    let ended = ended || read(&mut stream, &mut answer, if must_end { TEST_TIMEOUT } else { LISTEN });
    assert!(ended || !must_end || answer.len() >= ANSWER_MAX, "the server does not hang up on a client that has");
    answer
}

/// Reads to the end, for this long at most; returns whether there was one.
fn read(stream: &mut TcpStream, answer: &mut Vec<u8>, within: Duration) -> bool {
    let begin = Instant::now();
    let mut buffer = vec![0; 64 << 10];
    while answer.len() < ANSWER_MAX {
        let left = within.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return false;
        }
        stream.set_read_timeout(Some(left)).expect("a timeout");
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(length) => answer.extend_from_slice(&buffer[..length]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return false,
            // What it had not read is lost with the connection.
            Err(_) => return true,
        }
    }
    false
}

/// The status of the first answer; none when there is none.
fn status(answer: &[u8]) -> Option<u16> {
    if answer.is_empty() {
        return None;
    }
    let line = answer.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).into_owned();
    let code = line.strip_prefix("HTTP/1.1 ").or_else(|| line.strip_prefix("HTTP/1.0 "));
    let code = code.and_then(|rest| rest.get(..3)).and_then(|code| code.parse().ok());
    Some(code.unwrap_or_else(|| panic!("this is not HTTP: {line:?}")))
}

fn check(server: &Server, material: &Material, connection: &Connection) {
    let mut bytes: Vec<u8> = connection.requests.iter().flat_map(|asked| asked.bytes(server)).collect();
    mutate::apply(&mut bytes, &connection.changes, material);
    let answer = send(server, &bytes, connection);
    assert_answer(connection, &answer);
    server.assert_well();
}

fn assert_answer(connection: &Connection, answer: &[u8]) {
    let Some(status) = status(answer) else { return };
    // 505 is said of a version of HTTP that there is not.
    assert!(status < 500 || status == 505, "{status}: {}", String::from_utf8_lossy(answer));
    let first = connection.requests.first().filter(|_| connection.changes.is_empty());
    if first.is_some_and(|asked| asked.token != Token::Right && !asked.is_open()) {
        assert!((400..500).contains(&status) || status == 100, "{status} without a token");
    }
}

#[test]
fn http() {
    let server = Server::start();
    let run = server.waiting_run();
    let seeds = [
        r#"{"skill":"plain","engine":"scripted","mode":"auto","input":{"a":1},"parameter":{},"options":{"hard_timeout_sec":5}}"#,
        r#"{"interaction_id":7,"text":"blue","request_id":"r"}"#,
        r#"{"code":"x"}"#,
        "--B\r\nContent-Disposition: form-data; name=\"package\"; filename=\"a.zip\"\r\n\r\nPK\x05\x06\r\n--B--\r\n",
        "--B\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{\"skill\":\"nothing\",\"engine\":\"scripted\"}\r\n--B--\r\n",
    ];
    let material = Material::new(seeds.map(|seed| seed.as_bytes().to_vec()).into(), words::HTTP);
    let requests = prop_oneof![6 => vec(asked(run.clone(), &material), 1), 1 => vec(asked(run, &material), 2..5), 1 => Just(Vec::new())];
    let changes = prop_oneof![3 => Just(Vec::new()), 2 => mutate::changes()];
    let leaves = prop_oneof![6 => Just(Leaves::Politely), 1 => Just(Leaves::AtOnce)];
    let connections = (requests, changes, prop_oneof![2 => Just(0), 1 => 1..400usize], leaves)
        .prop_map(|(requests, changes, first, leaves)| Connection { requests, changes, first, leaves });
    server.assert_well();
    let before = server.descriptors();
    fuzz("http", connections, |connection| check(&server, &material, connection));
    // Runs that were begun are at work for a moment, and each has files open.
    server.await_descriptors(before + 40);
    server.assert_well();
}

fn without_token() -> Connection {
    let operation = Operation { method: "GET".to_owned(), path: "/v1/runs".to_owned(), query: Vec::new() };
    let (values, headers, body) = (Vec::new(), Vec::new(), Bytes(Vec::new()));
    let asked = Asked { operation, values, has_query: false, token: Token::None, headers, body, length: Length::None };
    Connection { requests: vec![asked], changes: Vec::new(), first: 0, leaves: Leaves::Politely }
}

/// The check itself: an answer to a client without a token is detected.
#[test]
#[should_panic(expected = "200 without a token")]
fn an_open_door_is_seen() {
    assert_answer(&without_token(), b"HTTP/1.1 401 Unauthorized\r\n\r\n");
    assert_answer(&without_token(), b"HTTP/1.1 200 OK\r\n\r\n");
}

#[test]
#[should_panic(expected = "500: HTTP/1.1 500")]
fn a_fault_of_the_server_is_seen() {
    assert_answer(&without_token(), b"HTTP/1.1 500 Internal Server Error\r\n\r\n");
}

#[test]
#[should_panic(expected = "this is not HTTP")]
fn another_protocol_is_seen() {
    assert_answer(&without_token(), b"+OK ready\r\n");
}
