//! Many slow readers and some that do not read: every reader gets everything, and none waits for another.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use lab::Lab;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use serde_json::json;
use testkit::http::Client;

use super::follower::{Protocol, is_end, view};

/// A text of the agent, and lines of noise; more of both than the buffers on the way hold.
const SAID: usize = 300;
const NOISE: usize = 3_000;
const TEXT: usize = 12_000;

const SLOW: usize = 20;
const STUCK: usize = 2;

const SILENT: u64 = 300;

/// Most memory that a silent stream may cost.
const SILENT_MEMORY: u64 = 8 << 10;

/// Most memory that all of them may cost together.
const MEMORY: u64 = 80 << 20;

fn script() -> String {
    let mut script = String::new();
    for number in 0..SAID {
        let dash = if number == 0 { "- - " } else { "  - " };
        script += &format!("{dash}say: '{number} {{{{prompt}}}}'\n");
        let noise: String = (0..NOISE / SAID).map(|line| format!("line {number}.{line}\\n")).collect();
        script += &format!("  - raw: \"{noise}\"\n");
    }
    script + "  - output: {answer: done}\n    done: true\n"
}

/// A stream as bytes, without a copy of it in a buffer that is larger than need be.
struct Plain {
    reader: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Plain {
    fn open(client: &Client, path: &str) -> io::Result<Self> {
        let mut stream = client.connect()?;
        set_socket_recv_buffer_size(&stream, 64 << 10)?;
        stream.write_all(client.head("GET", path, &[]).as_bytes())?;
        let mut reader = BufReader::with_capacity(1 << 10, stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        while line.trim_end() != "" {
            line.clear();
            reader.read_line(&mut line)?;
        }
        Ok(Self { reader, body: Vec::new() })
    }

    /// Reads to the end, with a pause after every piece.
    fn all(mut self, pause: Duration) -> io::Result<Vec<u8>> {
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            let mut left = u64::from_str_radix(line.trim(), 16).map_err(|_| io::Error::other(format!("{line:?}")))?;
            if left == 0 {
                return Ok(self.body);
            }
            while left > 0 {
                let piece = left.min(32 << 10);
                (&mut self.reader).take(piece).read_to_end(&mut self.body)?;
                left -= piece;
                thread::sleep(pause);
            }
            self.reader.read_exact(&mut [0; 2])?;
        }
    }
}

/// What a stream of the whole run looks like.
fn expected(lab: &Lab, protocol: Protocol, run: &str) -> String {
    let mut text = "retry: 1000\n\n".to_owned();
    for (number, line) in (1..).zip(protocol.lines(lab, run)) {
        text += &format!("id: {number}\nevent: {}\ndata: {line}\n\n", protocol.event());
    }
    text
}

fn without_comments(body: &[u8]) -> String {
    String::from_utf8_lossy(body).replace(": still here\n\n", "")
}

#[test]
fn slow_and_stuck_readers_delay_no_other_reader() {
    let (lab, server) = Lab::serving(&[("much", &script())]);
    let before = server.memory();
    let run = server.run("much", json!({"input": {"text": "x".repeat(TEXT)}}));
    let client = &server.client;
    let of = |number: usize| Protocol::ALL[number % 2];
    let mut memory = 0;
    thread::scope(|scope| {
        let open = |number| Plain::open(client, &of(number).path(&run)).expect("opened");
        let stuck: Vec<Plain> = (0..STUCK).map(open).collect();
        let slow: Vec<_> = (0..SLOW)
            .map(|number| {
                let plain = open(number);
                scope.spawn(move || plain.all(Duration::from_millis(2)).expect("read"))
            })
            .collect();
        // The fast one is at the end while the stuck ones have not begun.
        let mut fast = client.events(&Protocol::Events.path(&run), &[]).expect("opened").stream();
        let mut count = 0;
        let last = loop {
            let event = fast.next_event().expect("read").expect("the end of the run comes before that of the stream");
            count += 1;
            if count % 100 == 0 {
                memory = memory.max(server.memory());
            }
            if is_end(&event.json()) {
                break event.json();
            }
        };
        assert_eq!(last["seq"], count, "the fast one has all of them");
        memory = memory.max(server.memory());
        view(&lab, &run);
        let written = Protocol::ALL.map(|protocol| expected(&lab, protocol, &run));
        assert!(
            count as usize > SAID + NOISE && written[0].len() > 4 << 20,
            "{count} events, {} bytes",
            written[0].len()
        );
        let slow = slow.into_iter().map(|reader| reader.join().expect("it gets to the end"));
        let bodies = slow.chain(stuck.into_iter().map(|plain| plain.all(Duration::ZERO).expect("read")));
        for (number, body) in (0..SLOW).chain(0..STUCK).zip(bodies) {
            memory = memory.max(server.memory());
            // Not compared with words: they would fill the screen.
            assert!(without_comments(&body) == written[number % 2], "reader {number} has {} bytes", body.len());
        }
    });
    eprintln!("memory: {} MB before, {} MB at most", before >> 20, memory >> 20);
    assert!(memory.saturating_sub(before) < MEMORY, "{} MB more", (memory - before) >> 20);
}

/// Each cost 18 KiB, of which 16 were buffers of its connection.
#[test]
fn a_silent_stream_costs_the_server_little_memory() {
    let lab = Lab::new();
    let server = lab.serve();
    // The first one brings what all of them share.
    let first = Plain::open(&server.client, "/v1/stream").expect("a stream");
    // Other threads of the server take memory while the streams are opened: on a busy machine one round measured 9.5 KB.
    // A stream that costs more costs it in every round.
    let mut silent = Vec::new();
    let mut round = || {
        let before = server.memory();
        let open = |_| Plain::open(&server.client, "/v1/stream").expect("a stream");
        silent.extend((0..SILENT).map(open));
        server.memory().saturating_sub(before) / SILENT
    };
    let each = [round(), round(), round()];
    assert!(each.iter().any(|bytes| *bytes < SILENT_MEMORY), "{each:?} bytes each");
    drop((first, silent));
}

#[test]
fn a_stream_may_follow_another_request_on_its_connection() {
    let lab = Lab::new();
    let server = lab.serve();
    let mut stream = server.client.connect().expect("connected");
    let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
    for (path, last) in [("/healthz", "ok\n"), ("/healthz", "ok\n"), ("/v1/stream", "retry: 1000\n")] {
        let head = server.client.head("GET", path, &[]);
        stream.write_all(head.as_bytes()).expect("sent");
        let mut line = String::new();
        reader.read_line(&mut line).expect("read");
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        while line != last {
            line.clear();
            assert_ne!(reader.read_line(&mut line).expect("read"), 0, "{path}");
        }
    }
}
