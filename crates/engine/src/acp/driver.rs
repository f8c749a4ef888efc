//! The messages that have to be sent to an agent: a fold over the agent's output.
//!
//! The same bytes give the same messages with the same ids, however the bytes are split and whichever process reads
//! them. So an owner that takes over a run feeds everything from the first byte and sends all messages again; the host
//! writes each id once.

use agent_client_protocol_schema::v1::Error;
use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::AttemptNumber;
use skillrun_parse::LINE_BUDGET;
use skillrun_parse::acp::{AgentMessage, Name, Wanted, Wants, Way, read_agent_message};

use super::lines;
use super::opening::{Opening, Session};

/// Longest id of a request that is answered, as it is written.
const REQUEST_NAME_MAX: usize = 4096;

/// Requests of one attempt that are refused; an agent that sends more of them gets no more answers.
const REFUSALS_MAX: u32 = 1000;

/// How often an agent is asked whether it is still replaying the history. An agent that never finishes is not prompted,
/// and its time runs out.
const PAST_MAX: u32 = 1000;

/// One line for the agent's stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInput {
    /// The host writes each id once.
    pub id: String,
    pub line: String,
}

/// How the agent can continue a session of an earlier process, by its own report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loads {
    /// `session/resume`: without replaying its history.
    Resume,
    Load,
    Not,
}

/// skillrun's side of the conversation of one attempt.
#[derive(Debug)]
pub struct Driver {
    attempt: AttemptNumber,
    stage: Stage,
    loads: Option<Loads>,
    /// The line that is not complete yet.
    line: Vec<u8>,
    /// The line is too long; the rest of it is skipped.
    skips: bool,
    refused: u32,
    sends: Vec<AgentInput>,
}

/// Which answer is being waited for.
#[derive(Debug)]
enum Stage {
    Initialize(Opening),
    Session(Wanted, Opening),
    Past(Past),
    Now(Prompt),
    /// No answer that matters here.
    Prompted,
}

/// A session whose history is being replayed.
#[derive(Debug)]
struct Past {
    asked: u32,
    history: HistorySeen,
    prompt: Prompt,
}

/// What arrived since the agent was last asked.
#[derive(Debug)]
enum HistorySeen {
    Nothing,
    Something,
}

#[derive(Debug)]
struct Prompt {
    session: String,
    text: String,
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

impl Driver {
    /// For a process that was started with this opening.
    pub fn new(opening: Opening) -> Self {
        let mut driver = Self::with(opening.attempt, Stage::Prompted);
        driver.send("initialize", lines::initialize());
        driver.stage = Stage::Initialize(opening);
        driver
    }

    /// For a process that continues from the attempt before; its prompt is the answer to a question.
    pub fn living(attempt: AttemptNumber) -> Self {
        Self::with(attempt, Stage::Prompted)
    }

    fn with(attempt: AttemptNumber, stage: Stage) -> Self {
        Self { attempt, stage, loads: None, line: Vec::new(), skips: false, refused: 0, sends: Vec::new() }
    }

    /// Feeds more of the agent's output.
    pub fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if self.skips || self.line.len() + text.len() > LINE_BUDGET {
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

    /// The messages that have to be sent since the last call, in order.
    pub fn take(&mut self) -> Vec<AgentInput> {
        std::mem::take(&mut self.sends)
    }

    /// What the agent reported about loading sessions; none before it reported anything.
    pub fn loads(&self) -> Option<Loads> {
        self.loads
    }

    fn send(&mut self, name: &str, line: String) {
        // A process may live for several attempts, and its host has one list of names.
        self.sends.push(AgentInput { id: format!("acp.{}.{name}", self.attempt), line });
    }

    fn message(&mut self, line: &[u8]) {
        read_agent_message(line, |message| match message {
            AgentMessage::Answer { name, result } => self.answered(&name, result),
            AgentMessage::Request { id, wants } => self.request(id, wants),
            AgentMessage::Conversation => {
                if let Stage::Past(past) = &mut self.stage {
                    past.history = HistorySeen::Something;
                }
            }
            AgentMessage::Other => {}
        });
    }

    /// A request of the agent. Questions to the user are answered elsewhere; everything else is not supported.
    fn request(&mut self, id: &RawValue, wants: Wants) {
        let error = match wants {
            Wants::User => return,
            Wants::Refusal => Error::invalid_params(),
            Wants::Service => Error::method_not_found(),
        };
        if id.get().len() > REQUEST_NAME_MAX || self.refused == REFUSALS_MAX {
            return;
        }
        self.refused += 1;
        self.send(&format!("refuse.{}", self.refused), lines::refuse(id, error));
    }

    /// A response of the agent. After an error response the request is over, and the parser reports the error; a
    /// request that asks for nothing is answered by either kind of response.
    fn answered(&mut self, name: &Name, result: Option<&RawValue>) {
        self.stage = match (std::mem::replace(&mut self.stage, Stage::Prompted), name, result) {
            (Stage::Initialize(opening), Name::Initialize, Some(result)) => {
                let loads = loads(result);
                self.loads = Some(loads);
                let way = match (&opening.session, loads) {
                    (Session::New, _) => Way::New,
                    (Session::Load(session), Loads::Resume) => Way::Resume(session.clone()),
                    // An agent that cannot load a session reports that itself.
                    (Session::Load(session), Loads::Load | Loads::Not) => Way::Load(session.clone()),
                };
                let wanted = Wanted { way, mode: opening.mode.clone() };
                self.send("session", lines::session(&wanted, &opening.cwd, &opening.meta));
                Stage::Session(wanted, opening)
            }
            (Stage::Session(wanted, opening), Name::Session(answered), Some(result)) if *answered == wanted => {
                match (wanted.opened(result), &wanted.way) {
                    (Ok(session), Way::New | Way::Resume(_)) => self.prompt(&Prompt { session, text: opening.prompt }),
                    (Ok(session), Way::Load(_)) => self.ask_past(1, Prompt { session, text: opening.prompt }),
                    // The parser reports the reason.
                    (Err(_), _) => Stage::Prompted,
                }
            }
            (Stage::Past(Past { asked, history, prompt }), Name::Past(answered), _) if *answered == asked => {
                match history {
                    HistorySeen::Nothing => {
                        self.send("now", lines::now());
                        Stage::Now(prompt)
                    }
                    HistorySeen::Something if asked == PAST_MAX => Stage::Prompted,
                    HistorySeen::Something => self.ask_past(asked + 1, prompt),
                }
            }
            (Stage::Now(prompt), Name::Now, _) => self.prompt(&prompt),
            (
                other @ (Stage::Initialize(_) | Stage::Session(..) | Stage::Past(_) | Stage::Now(_) | Stage::Prompted),
                _,
                _,
            ) => other,
        }
    }

    fn ask_past(&mut self, number: u32, prompt: Prompt) -> Stage {
        self.send(&format!("past.{number}"), lines::past(number));
        Stage::Past(Past { asked: number, history: HistorySeen::Nothing, prompt })
    }

    fn prompt(&mut self, prompt: &Prompt) -> Stage {
        self.send("prompt", lines::prompt(&prompt.session, self.attempt, &prompt.text));
        Stage::Prompted
    }
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
