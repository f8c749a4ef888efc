//! Attacks on the service, each of which must fail: with the right words, without a change, and with everybody else
//! still being served.
//!
//! - `tokens`, `browsers`: who is let in. `scopes`: how far.
//! - `paths`: out of the run. `packages`: zips, schemas and texts that are traps.
//! - `floods`: too much, too long, too slow, too many. `smuggling`: requests that can be read in two ways.
//! - `leaks`: what comes out. `changed`: what is not what the run made any more.

mod browsers;
mod changed;
mod floods;
mod leaks;
mod packages;
mod paths;
mod scopes;
mod smuggling;
mod tokens;

use std::io::Write;
use std::net::TcpStream;

use lab::{FormPart, Lab, Server};
use testkit::http::Answer;

const SCRIPT: &str = "- - say: Here it is.\n  - output: {answer: done}\n    done: true\n";

/// A server with one skill, `plain`.
fn plain() -> (Lab, Server) {
    Lab::serving(&[("plain", SCRIPT)])
}

#[track_caller]
fn refused(answer: &Answer, status: u16, code: &str) {
    let told = (answer.status, answer.json()["code"].as_str().unwrap_or_default().to_owned());
    assert_eq!(told, (status, code.to_owned()), "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
}

/// Sends the same bytes until the other side has enough, or `most` of them are on their way.
fn pour(stream: &mut TcpStream, piece: &[u8], most: usize) -> usize {
    let mut sent = 0;
    while sent < most && stream.write_all(piece).is_ok() {
        sent += piece.len();
    }
    sent
}

/// A form of these parts; those with a name are files.
fn form(parts: &[FormPart<'_>]) -> Vec<u8> {
    lab::form("B", parts)
}

const FORM: (&str, &str) = ("Content-Type", "multipart/form-data; boundary=B");
const JSON: (&str, &str) = ("Content-Type", "application/json");
