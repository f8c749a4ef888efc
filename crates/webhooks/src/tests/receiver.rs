//! A receiver on the loopback. It sends the configured responses, one for each request, the last for all that follow.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver as Channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request that does not arrive within this time never arrives.
const SOON: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) line: String,
    headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

#[derive(Debug, Clone)]
pub(super) enum Answer {
    Status(&'static str),
    /// No response, and the connection stays open.
    Silence,
}

pub(super) struct Receiver {
    port: u16,
    requests: Channel<Request>,
}

impl Receiver {
    pub(super) fn answering(answers: &[Answer]) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").unwrap(), answers)
    }

    pub(super) fn at(listener: TcpListener, answers: &[Answer]) -> Self {
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = mpsc::channel();
        let answers = Arc::new(Mutex::new(answers.to_vec()));
        // Ends with the process, as do connections that are left open.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, sender) = (answers.clone(), sender.clone());
                thread::spawn(move || {
                    let Some(request) = read(&stream) else { return };
                    let answer = {
                        let mut answers = answers.lock().unwrap();
                        if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() }
                    };
                    sender.send(request).ok();
                    match answer {
                        Answer::Status(status) => {
                            let head = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
                            (&stream).write_all(head.as_bytes()).ok();
                        }
                        Answer::Silence => {
                            // Until the other side has enough.
                            std::io::copy(&mut &stream, &mut std::io::sink()).ok();
                        }
                    }
                });
            }
        });
        Self { port, requests }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn next(&self) -> Request {
        self.requests.recv_timeout(SOON).expect("a request")
    }

    /// Requests that arrived and were not expected.
    pub(super) fn rest(&self) -> usize {
        self.requests.try_iter().count()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, n)| n.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { line: lines[0].clone(), headers, body: String::from_utf8(body).ok()? })
}
