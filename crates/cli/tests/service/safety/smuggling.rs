//! Requests that one server reads as one and another as two.

use std::io::{Read, Write};

use super::plain;

/// A whole request of a run, in one chunk.
const WHOLE: &str = "25\r\n{\"skill\":\"plain\",\"engine\":\"scripted\"}\r\n0\r\n\r\n";

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn a_request_of_two_lengths_or_none_that_makes_sense_is_refused() {
    let (_lab, server) = plain();
    let before = server.belongings();
    let (token, host) = (server.token(), server.client.address);
    let inner = format!(
        "POST /v1/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: 37\r\n\r\n{{\"skill\":\"plain\",\"engine\":\"scripted\"}}"
    );
    for (framing, body) in [
        ("Content-Length: 6\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
        ("Content-Length: 5, 6\r\n", "0\r\n\r\n"),
        ("Content-Length: -1\r\n", ""),
        ("Content-Length: +5\r\n", "0\r\n\r\n"),
        ("Content-Length: 0x5\r\n", "0\r\n\r\n"),
        ("Content-Length: 18446744073709551616\r\n", ""),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding:\x0bchunked\r\n", "0\r\n\r\n"),
        (" Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "-1\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "0x0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\n"),
        ("Transfer-Encoding: chunked\r\n", "1\r\nxx\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "\r\n0\r\n\r\n"),
    ] {
        let head = format!(
            "POST /v1/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n{framing}\r\n"
        );
        let mut stream = server.client.connect().expect("connected");
        stream.write_all(format!("{head}{body}{inner}").as_bytes()).expect("sent");
        let mut answers = String::new();
        // It may be reset, with what follows unread.
        stream.read_to_string(&mut answers).ok();
        let statuses: Vec<&str> = answers.lines().filter(|line| line.starts_with("HTTP/1.1")).collect();
        assert!(statuses.len() <= 1, "{framing:?} {body:?} is two requests: {answers}");
        assert!(statuses.iter().all(|line| line.starts_with("HTTP/1.1 4")), "{framing:?} {body:?}: {answers}");
    }
    assert_eq!(server.belongings(), before);
    server.is_well();
}

/// Chunks count then, as the standard has it, and what follows is not looked at.
#[test]
fn nothing_is_read_after_a_request_with_length_and_chunks() {
    let (_lab, server) = plain();
    let (token, host) = (server.token(), server.client.address);
    let line = format!("POST /v1/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{JSON}");
    for (made, framing) in [
        (1, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
        (2, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
    ] {
        let mut stream = server.client.connect().expect("connected");
        let second = format!("{line}Transfer-Encoding: chunked\r\n\r\n{WHOLE}");
        stream.write_all(format!("{line}{framing}\r\n{WHOLE}{second}").as_bytes()).expect("sent");
        let mut answers = String::new();
        // It may be reset, with what follows unread.
        stream.read_to_string(&mut answers).ok();
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
        assert_eq!(server.belongings().0.as_array().map(Vec::len), Some(made));
    }
    server.is_well();
}

#[test]
fn words_that_are_no_request_get_no_answer_or_a_refusal() {
    let (_lab, server) = plain();
    for bytes in [
        &b"\x00\x01\x02\x03\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /v1/runs HTTP/1.1\nHost: evil.example.org\n\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX\x00: b\r\n\r\n",
    ] {
        if let Ok(answer) = server.send(bytes) {
            assert!((400..500).contains(&answer.status) || answer.status == 505, "{bytes:?}: {}", answer.status);
        }
        server.is_well();
    }
}
