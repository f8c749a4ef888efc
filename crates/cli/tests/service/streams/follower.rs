//! A client that keeps what it gets, remembers where it stands, and comes again.

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use lab::{Lab, Server, TEST_TIMEOUT, wait_until};
use serde_json::{Value, json};
use skillrun_runs::RunFolder;
use testkit::http::{Client, Event, Opened};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Events,
    Chat,
}

impl Protocol {
    pub(super) const ALL: [Self; 2] = [Self::Events, Self::Chat];

    pub(super) fn path(self, run: &str) -> String {
        match self {
            Self::Events => format!("/v1/runs/{run}/events"),
            Self::Chat => format!("/v1/runs/{run}/chat"),
        }
    }

    pub(super) fn event(self) -> &'static str {
        match self {
            Self::Events => "run_event",
            Self::Chat => "chat_event",
        }
    }

    /// What a finished run has in its folder, line by line; the conversation of a large Log as `logs` translates it.
    pub(super) fn lines(self, lab: &Lab, run: &str) -> Vec<String> {
        let folder = RunFolder::at(lab.run_folder(run));
        let text = match self {
            Self::Events => fs::read_to_string(folder.events()).expect("a finished run"),
            Self::Chat if folder.stores_conversation() => fs::read_to_string(folder.fcmp()).expect("a finished run"),
            Self::Chat => lab.printed(&["logs", run, "--fcmp"]),
        };
        text.lines().map(str::to_owned).collect()
    }

    pub(super) fn written(self, lab: &Lab, run: &str) -> Vec<Value> {
        let parsed = |line: String| serde_json::from_str(&line).expect("JSON");
        let written: Vec<Value> = self.lines(lab, run).into_iter().map(parsed).collect();
        assert!(written.last().is_some_and(is_end), "the run is over");
        written
    }
}

/// Whether an event of either protocol is the final one.
pub(super) fn is_end(event: &Value) -> bool {
    let word = event["type"].as_str().or(event["event"]["type"].as_str()).unwrap_or_default();
    let ends = [".completed", ".failed", ".canceled"];
    ["run", "conversation"].iter().any(|of| ends.iter().any(|end| word == format!("{of}{end}")))
}

/// How a client says what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
    LastEventId,
    Cursor,
}

/// What came of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// As many events as were wanted.
    Enough,
    /// The server ended the stream.
    Ended,
    /// 204: the run is over and we have everything.
    Complete,
}

/// Whether the server is there all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Stays,
    Goes,
}

#[derive(Debug)]
pub(super) struct Follower {
    protocol: Protocol,
    run: String,
    pub(super) cursor: Option<String>,
    pub(super) got: Vec<Value>,
    /// What `reset` said, each time.
    pub(super) resets: Vec<Value>,
}

impl Follower {
    pub(super) fn new(protocol: Protocol, run: &str) -> Self {
        Self { protocol, run: run.to_owned(), cursor: None, got: Vec::new(), resets: Vec::new() }
    }

    pub(super) fn from(protocol: Protocol, run: &str, cursor: &str) -> Self {
        Self { cursor: Some(cursor.to_owned()), ..Self::new(protocol, run) }
    }

    /// Connects, takes at most this many events, and disconnects.
    pub(super) fn take(&mut self, client: &Client, tells: Tells, most: usize) -> io::Result<Came> {
        let path = self.protocol.path(&self.run);
        let opened = match (&self.cursor, tells) {
            (None, _) => client.events(&path, &[]),
            (Some(id), Tells::LastEventId) => client.events(&path, &[("Last-Event-ID", id)]),
            (Some(id), Tells::Cursor) => client.events(&format!("{path}?cursor={id}"), &[]),
        };
        let mut events = match opened? {
            Opened::Stream(events) => events,
            Opened::No(answer) if answer.status == 204 => return Ok(Came::Complete),
            // It is going, or not yet ready.
            Opened::No(answer) if answer.status == 503 => return Err(io::ErrorKind::ConnectionRefused.into()),
            Opened::No(answer) => panic!("{} {}", answer.status, answer.text()),
        };
        for _ in 0..most {
            match events.next_event()? {
                Some(event) => self.keep(&event),
                None => return Ok(Came::Ended),
            }
        }
        Ok(Came::Enough)
    }

    fn keep(&mut self, event: &Event) {
        self.cursor.clone_from(&event.id);
        if event.event.as_deref() == Some("reset") {
            self.resets.push(event.json());
            self.got.clear();
            return;
        }
        assert_eq!(event.event.as_deref(), Some(self.protocol.event()));
        let json = event.json();
        let id = event.id.as_deref().unwrap_or_default();
        assert_eq!(id.split('.').next(), Some(json["seq"].to_string().as_str()), "the id is the seq");
        self.got.push(json);
    }

    /// Reconnects after this many events, until there is nothing left to read.
    pub(super) fn follow(mut self, client: &Client, most: usize, service: Service) -> Self {
        let begin = Instant::now();
        for tells in [Tells::LastEventId, Tells::Cursor].into_iter().cycle() {
            assert!(begin.elapsed() < TEST_TIMEOUT, "{} events and no end: {:?}", self.got.len(), self.got.last());
            match (self.take(client, tells, most), service) {
                (Ok(Came::Complete), _) => break,
                (Ok(Came::Enough), _) => {}
                (Ok(Came::Ended), Service::Stays) => {
                    assert!(self.got.last().is_some_and(is_end), "{:?}", self.got.last())
                }
                (Err(error), Service::Stays) => panic!("{error} after {:?}", self.cursor),
                // Not more often than a client would.
                (Ok(Came::Ended) | Err(_), Service::Goes) => thread::sleep(Duration::from_millis(3)),
            }
        }
        self
    }

    /// Everything the run has, in its order, each once.
    pub(super) fn has_all(&self, lab: &Lab) {
        view(lab, &self.run);
        let written = self.protocol.written(lab, &self.run);
        let seqs = |events: &[Value]| events.iter().map(|event| event["seq"].as_u64()).collect::<Vec<_>>();
        assert_eq!(seqs(&self.got), seqs(&written), "{:?}", self.protocol);
        assert_eq!(self.got, written, "{:?}", self.protocol);
    }
}

/// Waits for the end in `fcmp.jsonl`, which comes soon after that of the Log; what is before it is there while a run waits.
pub(super) fn view(lab: &Lab, run: &str) {
    let folder = RunFolder::at(lab.run_folder(run));
    if !folder.stores_conversation() {
        return;
    }
    let path = folder.fcmp();
    let ends = |text: &str| {
        let last = text.strip_suffix('\n').and_then(|text| text.lines().last());
        last.is_some_and(|line| serde_json::from_str(line).is_ok_and(|event| is_end(&event)))
    };
    wait_until("view", || fs::read_to_string(&path).is_ok_and(|text| ends(&text)));
}

/// Two turns with a question between them, in which something happens every 20 ms.
pub(super) fn slow_talk(acts: usize) -> String {
    let turn = |from: usize| {
        let mut text = String::new();
        for number in from..from + acts {
            let act = match number % 5 {
                0 => format!("say: Part {number}."),
                1 => format!("think: About part {number}."),
                2 => format!("tool: {{name: shell, input: {{command: ls {number}}}, output: none}}"),
                3 => format!("stderr: noise {number}"),
                _ => format!("raw: line {number}"),
            };
            let dash = if number == from { "- - " } else { "  - " };
            text += &format!("{dash}{act}\n  - sleep_ms: 20\n");
        }
        text
    };
    let ask = "  - ask: {kind: open_text, prompt: Which colour?}\n";
    let end = "  - output: {answer: '{{reply}}'}\n    done: true\n";
    format!("{}{ask}{}{end}", turn(0), turn(acts))
}

/// Answers the first question of a run, which waits.
pub(super) fn answer(server: &Server, run: &str) {
    assert_eq!(server.wait(run)["status"], "waiting_user");
    let said = server.post(&format!("/v1/runs/{run}/interaction/reply"), &json!({"interaction_id": 1, "text": "blue"}));
    assert_eq!(said.status, 200, "{}", said.text());
}
