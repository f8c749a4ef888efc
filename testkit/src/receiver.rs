//! An HTTP server on the loopback that hands over the requests it receives. It sends the configured responses, one for
//! each request, the last for all that follow.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::http::HTTP_TIMEOUT;

#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub line: String,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("a body in JSON")
    }
}

#[derive(Debug)]
pub struct HookReceiver {
    address: SocketAddr,
    requests: Receiver<ReceivedRequest>,
}

impl HookReceiver {
    /// Responds with these statuses, such as `200 OK`.
    pub fn answering(statuses: &[&str]) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").expect("a port"), statuses)
    }

    /// Never responds, and leaves connections open.
    pub fn silent() -> Self {
        Self::answering(&[])
    }

    pub fn at(listener: TcpListener, statuses: &[&str]) -> Self {
        let address = listener.local_addr().expect("an address");
        let (sender, requests) = mpsc::channel();
        let statuses: VecDeque<String> = statuses.iter().map(|status| (*status).to_owned()).collect();
        let statuses = Arc::new(Mutex::new(statuses));
        // Ends with the process, as do connections that are left open.
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (statuses, sender) = (statuses.clone(), sender.clone());
                thread::spawn(move || {
                    let Some(request) = read(&stream) else { return };
                    let mut left = statuses.lock().unwrap_or_else(PoisonError::into_inner);
                    let status = if left.len() > 1 { left.pop_front() } else { left.front().cloned() };
                    drop(left);
                    sender.send(request).ok();
                    match status {
                        Some(status) => {
                            let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                            stream.write_all(head.as_bytes()).ok();
                        }
                        // Until the client closes the connection.
                        None => _ = std::io::copy(&mut stream, &mut std::io::sink()),
                    }
                });
            }
        });
        Self { address, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits for the next request.
    pub fn next(&self) -> ReceivedRequest {
        self.requests.recv_timeout(HTTP_TIMEOUT).expect("a request")
    }

    /// The number of requests that arrived and were not taken.
    pub fn rest(&self) -> usize {
        self.requests.try_iter().count()
    }
}

fn read(stream: &TcpStream) -> Option<ReceivedRequest> {
    let mut reader = BufReader::new(stream);
    let mut lines = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let line = lines.next()?;
    let split = |line: String| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    let headers: Vec<(String, String)> = lines.filter_map(split).collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedRequest { line, headers, body: String::from_utf8(body).ok()? })
}
