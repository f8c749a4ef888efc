//! What has to be said to an agent: a fold over what it wrote.
//!
//! The same bytes give the same messages under the same names, however they are cut and whoever reads them. So an owner
//! that takes a run over feeds everything from the first byte and sends all of it again; the host writes each name once.

use std::borrow::Cow;

use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use skillrun_model::AttemptNumber;

use super::lines;
use super::opening::{Opening, Session};

/// Longest line that is looked at; the parser tells about longer ones.
const LINE_MAX: usize = 8 << 20;

/// Longest name of a session.
const SESSION_MAX: usize = 1000;

/// Longest name of a request that is answered, as it is written.
const REQUEST_NAME_MAX: usize = 4096;

/// Longest name of a question; the parser asks nobody about others.
const QUESTION_NAME_MAX: usize = 1024;

/// Requests of one attempt that are refused; an agent that asks for more in vain gets no more answers.
const REFUSALS_MAX: u32 = 1000;

/// One line for the agent's stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Send {
    /// The host writes a name once.
    pub id: String,
    pub line: String,
}

/// How an agent says it can go on with a session of an earlier process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loads {
    /// `session/resume`: without telling its history again.
    Resume,
    Load,
    Not,
}

/// The conversation of one attempt, our side.
#[derive(Debug)]
pub struct Driver {
    attempt: AttemptNumber,
    stage: Stage,
    loads: Option<Loads>,
    /// The line that is not whole yet.
    line: Vec<u8>,
    /// The line has become too long; its rest is skipped.
    skips: bool,
    refused: u32,
    sends: Vec<Send>,
}

/// Which answer is waited for.
#[derive(Debug)]
enum Stage {
    Initialize(Opening),
    Session(Opening),
    /// None that matters here.
    Prompted,
}

/// What is looked at of a line.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    /// An answer may have nothing to say: null is an answer too.
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// What a question must have, so that somebody can be asked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    #[serde(default)]
    tool_call: Option<serde_json::Map<String, serde_json::Value>>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    #[serde(default)]
    agent_capabilities: Option<Capabilities>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Capabilities {
    #[serde(default)]
    load_session: Option<serde_json::Value>,
    #[serde(default)]
    session_capabilities: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSession {
    session_id: String,
}

impl Driver {
    /// Of a process that was started for this.
    pub fn new(opening: Opening) -> Self {
        let mut driver = Self::with(opening.attempt, Stage::Prompted);
        driver.send("initialize", lines::initialize());
        driver.stage = Stage::Initialize(opening);
        driver
    }

    /// Of a process that goes on from the attempt before; its prompt is the answer to a question.
    pub fn living(attempt: AttemptNumber) -> Self {
        Self::with(attempt, Stage::Prompted)
    }

    fn with(attempt: AttemptNumber, stage: Stage) -> Self {
        Self { attempt, stage, loads: None, line: Vec::new(), skips: false, refused: 0, sends: Vec::new() }
    }

    /// Takes more of what the agent wrote.
    pub fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if self.skips || self.line.len() + text.len() > LINE_MAX {
                self.skips = !is_whole;
                self.line = Vec::new();
            } else if !is_whole {
                self.line.extend_from_slice(text);
            } else if self.line.is_empty() {
                self.message(text);
            } else {
                self.line.extend_from_slice(text);
                let line = std::mem::take(&mut self.line);
                self.message(&line);
            }
        }
    }

    /// What has to be sent since this was last asked, in order.
    pub fn take(&mut self) -> Vec<Send> {
        std::mem::take(&mut self.sends)
    }

    /// What the agent said about loading sessions; none before it said anything.
    pub fn loads(&self) -> Option<Loads> {
        self.loads
    }

    fn send(&mut self, name: &str, line: String) {
        // A process may live for several attempts, and its host has one list of names.
        self.sends.push(Send { id: format!("acp.{}.{name}", self.attempt), line });
    }

    fn message(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Message<'_>>(line) else { return };
        match (message.id, message.method) {
            (Some(id), Some(method)) => self.request(id, &method, message.params),
            (Some(id), None) => {
                if let Some(result) = message.result {
                    self.answered(id, result);
                }
            }
            (None, _) => {}
        }
    }

    /// The agent asks for something. Questions to a person are answered elsewhere; everything else we do not have.
    fn request(&mut self, id: &RawValue, method: &str, params: Option<&RawValue>) {
        let asks = asks(method, params);
        let is_asked = asks == Some(Asks::Somebody) && id.get().len() <= QUESTION_NAME_MAX;
        if is_asked || id.get().len() > REQUEST_NAME_MAX || self.refused == REFUSALS_MAX {
            return;
        }
        self.refused += 1;
        let error = if asks.is_some() { Error::invalid_params() } else { Error::method_not_found() };
        self.send(&format!("refuse.{}", self.refused), lines::refuse(id, error));
    }

    /// The agent answers. What it answers with an error is over, and the parser tells so.
    fn answered(&mut self, id: &RawValue, result: &RawValue) {
        let Ok(name) = serde_json::from_str::<Cow<'_, str>>(id.get()) else { return };
        match std::mem::replace(&mut self.stage, Stage::Prompted) {
            Stage::Initialize(opening) if name == lines::INITIALIZE => {
                let loads = loads(result);
                self.loads = Some(loads);
                let line = match (&opening.session, loads) {
                    (Session::New, _) => lines::new_session(&opening.cwd),
                    (Session::Load(session), Loads::Resume) => lines::resume_session(session, &opening.cwd),
                    // An agent that cannot will say so in its own words.
                    (Session::Load(session), Loads::Load | Loads::Not) => lines::load_session(session, &opening.cwd),
                };
                self.send("session", line);
                self.stage = Stage::Session(opening);
            }
            Stage::Session(opening) if name == lines::SESSION => {
                let session = match opening.session {
                    Session::New => new_session(result),
                    Session::Load(session) => Some(session),
                };
                if let Some(session) = session {
                    self.send("prompt", lines::prompt(&session, self.attempt, &opening.prompt));
                }
            }
            other @ (Stage::Initialize(_) | Stage::Session(_) | Stage::Prompted) => self.stage = other,
        }
    }
}

/// What becomes of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Somebody,
    /// It cannot be understood, and an agent that waits for an answer would wait for ever.
    Nobody,
}

/// None: it is no question.
fn asks(method: &str, params: Option<&RawValue>) -> Option<Asks> {
    let question = || params.and_then(|params| serde_json::from_str::<Question>(params.get()).ok());
    let is_whole = if method == CLIENT_METHOD_NAMES.session_request_permission {
        question().is_some_and(|question| question.tool_call.is_some())
    } else if method == CLIENT_METHOD_NAMES.elicitation_create {
        question().is_some_and(|question| question.message.is_some())
    } else {
        return None;
    };
    Some(if is_whole { Asks::Somebody } else { Asks::Nobody })
}

fn new_session(result: &RawValue) -> Option<String> {
    let new: NewSession = serde_json::from_str(result.get()).ok()?;
    Some(new.session_id).filter(|id| (1..=SESSION_MAX).contains(&id.len()))
}

fn loads(result: &RawValue) -> Loads {
    let said: Option<Initialized> = serde_json::from_str(result.get()).ok();
    let Capabilities { load_session, session_capabilities } =
        said.and_then(|said| said.agent_capabilities).unwrap_or_default();
    let resumes = session_capabilities.is_some_and(|of| of.get("resume").is_some_and(|resume| !resume.is_null()));
    match (resumes, load_session) {
        (true, _) => Loads::Resume,
        (false, Some(serde_json::Value::Bool(true))) => Loads::Load,
        (false, _) => Loads::Not,
    }
}
