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

use std::io::{self, Write};
use std::net::TcpStream;

use serde_json::Value;
use testkit::http::{Answer, answer};

use crate::lab::{Lab, Server};

const SCRIPT: &str = "- - say: Here it is.\n  - output: {answer: done}\n    done: true\n";

/// A server with one skill, `plain`.
fn plain() -> (Lab, Server) {
    let lab = Lab::new();
    lab.skill("plain", SCRIPT);
    let server = lab.serve();
    (lab, server)
}

impl Server {
    /// Everybody else is still served.
    #[track_caller]
    fn is_well(&self) {
        let answer = self.get("/healthz");
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok\n"));
        assert_eq!(self.get("/v1/runs").status, 200);
    }

    /// Runs and skills, to see that nothing was changed.
    fn belongings(&self) -> (Value, Value) {
        (self.get("/v1/runs").json()["runs"].clone(), self.get("/v1/skills").json()["skills"].clone())
    }

    fn send(&self, bytes: &[u8]) -> io::Result<Answer> {
        let mut stream = self.client.connect()?;
        stream.write_all(bytes)?;
        answer(stream)
    }

    /// With these headers and no token but one that is among them.
    fn as_told(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let client = testkit::http::Client { address: self.client.address, token: None };
        client.request(method, path, headers, body).expect("an answer")
    }

    /// With the server's token and these headers.
    fn asked(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.client.request(method, path, headers, body).expect("an answer")
    }

    fn token(&self) -> &str {
        self.client.token.as_deref().expect("a token")
    }

    /// The same server for a client with another token.
    fn with_token(&self, token: &str) -> testkit::http::Client {
        testkit::http::Client { address: self.client.address, token: Some(token.to_owned()) }
    }
}

impl Lab {
    fn make_token(&self, name: &str, scope: &str) -> String {
        let made = self.command(&["token", "create", name, "--scope", scope, "--json"]).output().expect("run");
        let made: Value = serde_json::from_slice(&made.stdout).expect("JSON");
        made["token"].as_str().expect("a token").to_owned()
    }
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
fn form(parts: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (part, file, content) in parts {
        let file = file.map_or_else(String::new, |file| format!("; filename=\"{file}\""));
        body.extend(format!("--B\r\nContent-Disposition: form-data; name=\"{part}\"{file}\r\n\r\n").bytes());
        body.extend(*content);
        body.extend(b"\r\n");
    }
    body.extend(b"--B--\r\n");
    body
}

const FORM: (&str, &str) = ("Content-Type", "multipart/form-data; boundary=B");
const JSON: (&str, &str) = ("Content-Type", "application/json");
