//! The conversation: messages in, messages out, one turn at a time.

use std::collections::VecDeque;
use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::stdio::{stderr, stdout};
use serde_json::{Map, Value, json};

use super::SUBCOMMAND;
use super::store::{Session, Store, Turn};
use super::wire::{self, Call, Message};
use super::words::{Loading, Scenario, Words};
use skillrun_simulate::process::{LIFE, end_some_day, write_all};

/// How long one that leaves stays after a turn.
const LEAVES_AFTER: Duration = Duration::from_millis(150);

const SESSION_UNKNOWN: i64 = -32002;

/// What ends a conversation.
pub(super) enum Stop {
    /// The client is gone, or has said that nothing more comes.
    Over,
    Exit(u8),
}

pub(super) struct Agent<'a> {
    pub(super) words: &'a Words,
    store: Store,
    lines: Receiver<String>,
    is_initialized: bool,
    /// Sessions that this process has made or loaded.
    open: Vec<String>,
    /// Updates of a past session that are still to be sent.
    untold: VecDeque<(String, Value)>,
    /// Requests sent by this agent so far.
    pub(super) asked: i64,
}

pub(super) fn run(words: &Words) -> u8 {
    let (told, lines) = channel();
    let reader = move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if told.send(line).is_err() {
                return;
            }
        }
    };
    if end_some_day().is_err() || thread::Builder::new().name("stdin".to_owned()).spawn(reader).is_err() {
        return 74;
    }
    let store = Store::new(&words.state);
    let mut agent =
        Agent { words, store, lines, is_initialized: false, open: Vec::new(), untold: VecDeque::new(), asked: 0 };
    match agent.converse() {
        Stop::Over => 0,
        Stop::Exit(code) => code,
    }
}

/// Reports on stderr what is wrong with a message. A closed stderr is ignored.
pub(super) fn complain(words: &str) {
    write_all(stderr(), format!("{SUBCOMMAND}: {words}\n").as_bytes()).ok();
}

impl Agent<'_> {
    fn converse(&mut self) -> Stop {
        loop {
            let message = match self.hear(LIFE) {
                Ok(Some(message)) => message,
                Ok(None) => return Stop::Exit(75),
                Err(stop) => return stop,
            };
            let done = match message {
                Message::Request { id, call } => self.called(&id, call),
                Message::Cancel { session } => {
                    complain(&format!("session/cancel for {session}, which has no turn"));
                    Ok(())
                }
                Message::Answer { id, .. } => {
                    complain(&format!("an answer to {id}, which was not requested"));
                    Ok(())
                }
            };
            if let Err(stop) = done {
                return stop;
            }
        }
    }

    /// The next message that makes sense; none when the time is up. What makes none is refused here.
    pub(super) fn hear(&mut self, patience: Duration) -> Result<Option<Message>, Stop> {
        loop {
            let line = match self.lines.recv_timeout(patience) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(Stop::Over),
            };
            match wire::read(&line) {
                Ok(message) => return Ok(Some(message)),
                Err(wrong) => {
                    complain(&wrong.words);
                    if let Some(id) = wrong.id {
                        self.fail(&id, wrong.code, &wrong.words, Value::Null)?;
                    }
                }
            }
        }
    }

    fn called(&mut self, id: &Value, call: Call) -> Result<(), Stop> {
        if !self.is_initialized && call != Call::Initialize {
            complain("a request before initialize");
            return self.fail(id, -32600, "not initialized", Value::Null);
        }
        match call {
            Call::Initialize => {
                if std::mem::replace(&mut self.is_initialized, true) {
                    complain("initialize twice");
                }
                self.answer(id, &self.capabilities())
            }
            Call::New { cwd } => match self.store.make(&Session { cwd, turns: Vec::new() }) {
                Ok(name) => {
                    self.open.push(name.clone());
                    self.answer(id, &self.opened(&name))
                }
                Err(error) => self.fail(id, -32603, &error.to_string(), Value::Null),
            },
            Call::Load { session } => match self.words.scenario.loading() {
                Loading::Never => {
                    complain("session/load, which was not offered");
                    self.fail(id, -32601, "Method not found", Value::Null)
                }
                Loading::Refuses => self.unknown(id, &session),
                Loading::Load | Loading::LoadOrResume => self.load(id, &session, true),
            },
            Call::Resume { session } => match self.words.scenario.loading() {
                Loading::LoadOrResume => self.load(id, &session, false),
                Loading::Load | Loading::Refuses | Loading::Never => {
                    complain("session/resume, which was not offered");
                    self.fail(id, -32601, "Method not found", Value::Null)
                }
            },
            Call::Prompt { session, text } => self.prompted(id, &session, &text),
            Call::Extension => {
                self.fail(id, -32601, "Method not found", Value::Null)?;
                self.tell_next()
            }
        }
    }

    fn opened(&self, name: &str) -> Value {
        let scenario = self.words.scenario;
        let mut opened = Map::new();
        if scenario != Scenario::Nameless {
            opened.insert("sessionId".to_owned(), json!(name));
        }
        if scenario == Scenario::Moody {
            let modes = ["agent", "read-only"].map(|mode| json!({ "id": mode, "name": mode }));
            opened.insert("modes".to_owned(), json!({ "currentModeId": "agent", "availableModes": modes }));
        }
        Value::Object(opened)
    }

    /// Sends one of the pending updates, like an agent whose pipe is full.
    fn tell_next(&mut self) -> Result<(), Stop> {
        match self.untold.pop_front() {
            Some((session, update)) => self.update(&session, &update),
            None => Ok(()),
        }
    }

    fn capabilities(&self) -> Value {
        let loading = self.words.scenario.loading();
        let resume = if loading == Loading::LoadOrResume { json!({ "resume": {} }) } else { json!({}) };
        json!({
            "protocolVersion": 1,
            "agentCapabilities": { "loadSession": loading != Loading::Never, "sessionCapabilities": resume },
            "agentInfo": { "name": SUBCOMMAND, "version": env!("CARGO_PKG_VERSION") },
            "authMethods": [],
        })
    }

    fn unknown(&mut self, id: &Value, session: &str) -> Result<(), Stop> {
        self.fail(id, SESSION_UNKNOWN, &format!("Session not found: {session}"), Value::Null)
    }

    fn load(&mut self, id: &Value, name: &str, tells: bool) -> Result<(), Stop> {
        let Ok(Some(session)) = self.store.load(name) else { return self.unknown(id, name) };
        if tells {
            for Turn { user, agent } in &session.turns {
                for (kind, text) in [("user_message_chunk", user), ("agent_message_chunk", agent)] {
                    let update = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
                    self.untold.push_back((name.to_owned(), update));
                }
            }
        }
        self.open.push(name.to_owned());
        if self.words.scenario == Scenario::Afterwards {
            self.answer(id, &json!({}))?;
            return self.tell_next();
        }
        while !self.untold.is_empty() {
            self.tell_next()?;
        }
        self.answer(id, &json!({}))
    }

    fn prompted(&mut self, id: &Value, name: &str, text: &str) -> Result<(), Stop> {
        if !self.open.iter().any(|open| open == name) {
            complain(&format!("a prompt for {name}, which is not open"));
            return self.unknown(id, name);
        }
        let Ok(Some(mut session)) = self.store.load(name) else { return self.unknown(id, name) };
        let said = self.turn(id, name, session.turns.len(), text)?;
        if let Some(agent) = said {
            session.turns.push(Turn { user: text.to_owned(), agent });
            self.store.save(name, &session).map_err(|error| {
                complain(&error.to_string());
                Stop::Exit(74)
            })?;
            self.answer(id, &json!({ "stopReason": "end_turn" }))?;
        }
        if self.words.scenario.leaves() {
            thread::sleep(LEAVES_AFTER);
            return Err(Stop::Over);
        }
        Ok(())
    }

    pub(super) fn update(&mut self, session: &str, update: &Value) -> Result<(), Stop> {
        let params = json!({ "sessionId": session, "update": update });
        self.write(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
    }

    pub(super) fn answer(&mut self, id: &Value, result: &Value) -> Result<(), Stop> {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    pub(super) fn fail(&mut self, id: &Value, code: i64, message: &str, data: Value) -> Result<(), Stop> {
        let error = json!({ "code": code, "message": message, "data": data });
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    pub(super) fn write(&mut self, message: &Value) -> Result<(), Stop> {
        self.write_line(&message.to_string())
    }

    pub(super) fn write_line(&mut self, line: &str) -> Result<(), Stop> {
        write_all(stdout(), format!("{line}\n").as_bytes()).map_err(|_| Stop::Over)
    }
}
