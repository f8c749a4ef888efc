//! Parse records: what a profile made of the bytes, before it becomes an event.
//!
//! A record is neither RASP nor FCMP. Some become events, some only facts for the gate, most both.

use skillrun_model::codes::ErrorCategory;
use skillrun_model::rasp::Level;
use skillrun_model::rasp::data::TurnUsage;
use skillrun_model::status::Phase;
use skillrun_model::verdict::EngineLimit;
use skillrun_model::{Code, ProfileId, Stream, word_enum};

use crate::buffer::{Text, cut};
use crate::last_lines::LastLines;
use crate::reset::Reset;
use crate::types::TypeCounts;

/// A half-open range of bytes of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub stream: Stream,
    pub from: u64,
    pub to: u64,
}

/// Most pieces that an event lists; an event with more has only its hull.
pub const PIECES_MAX: usize = 1000;

/// One thing a profile found in the bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The hull of the bytes it was found in.
    pub span: Span,
    /// The pieces, when there is something else between them.
    pub pieces: Vec<Span>,
    pub profile: ProfileId,
    pub confidence: f64,
    pub kind: RecordKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RecordKind {
    /// The engine names its session. The first one of a stream counts.
    Session {
        id: String,
    },
    /// What the engine is doing.
    Status {
        phase: Phase,
        detail: Option<String>,
    },
    /// A piece of a message that is still being written.
    Delta {
        id: MessageKey,
        text: String,
    },
    /// A message as a whole; `partial` when its end never came.
    Message {
        id: MessageKey,
        text: Text,
        partial: bool,
    },
    /// The engine continues the previous message: what follows belongs to it, in the gate's view.
    Join,
    /// The engine retracted messages.
    Void(Voided),
    Reasoning {
        text: String,
    },
    ToolStarted {
        id: String,
        name: String,
        input: Option<String>,
    },
    /// A call is known to have been made; starts it, unless it was already started.
    ToolSeen {
        id: String,
        name: String,
        input: Option<String>,
    },
    ToolCompleted {
        id: String,
        output: Option<String>,
    },
    ToolFailed {
        id: String,
        reason: String,
        output: Option<String>,
    },
    /// The engine waits, inside its turn, for a decision about a call that it wants to make.
    Question(CallQuestion),
    /// The engine no longer waits for an answer to this question, and would ignore one.
    Withdrawn {
        call_id: String,
    },
    /// The engine reports an error, a retry or a warning. Never an answer.
    EngineError(EngineError),
    /// An MCP server of the run did not start.
    ServerFailed(ServerFailure),
    /// The engine reports a subagent of its own.
    Subagent(ObservedSubagent),
    Usage(TurnUsage),
    End(End),
    /// Of the profile's format, but of an unknown type.
    Unknown {
        name: String,
        text: Option<String>,
        has_marker: bool,
    },
    /// A line that no rule understands.
    Raw(Raw),
    /// Lines of a long row that the parser does not know, by their number and range.
    Flood(Flood),
    /// Something the parser noticed about the bytes.
    Notice {
        code: Code,
        message: String,
    },
}

/// What the engine asks before it makes a call. Texts are as the engine sent them, not made safe to show: the answer
/// must repeat them.
#[derive(Debug, Clone, PartialEq)]
pub struct CallQuestion {
    /// The engine's id of the question; its answer must carry it. Where the id may be a number or a text, this is its
    /// JSON.
    pub call_id: String,
    pub tool: String,
    /// Absent when it is larger than [`QUESTION_INPUT_MAX`].
    pub input: Option<serde_json::Value>,
    /// The possible answers, where the engine lists them; empty where yes and no are accepted.
    pub options: Vec<CallOption>,
    pub asks: Asks,
}

/// Longest input of a call, as the engine wrote it, that is kept with the question about it.
pub const QUESTION_INPUT_MAX: usize = 64 * 1024;

/// What an engine asks inside its turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Asks {
    /// Whether it may make the call.
    Permission,
    /// Information that only the user has. The schema of the answer is absent when it is larger than
    /// [`QUESTION_INPUT_MAX`], or when none was sent.
    Elicitation { message: String, schema: Option<serde_json::Value> },
}

/// One of the answers that an engine offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOption {
    /// The engine's id of it; the answer must carry it.
    pub id: String,
    pub name: String,
    pub kind: CallOptionKind,
}

word_enum! {
    /// What an option of a permission request does.
    pub CallOptionKind {
        AllowOnce = "allow_once",
        AllowAlways = "allow_always",
        RejectOnce = "reject_once",
        RejectAlways = "reject_always",
        /// A kind that this version does not know; picked by its name alone.
        Other = "other",
    }
}

impl CallOptionKind {
    pub fn of(word: &str) -> Self {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word).unwrap_or(Self::Other)
    }

    pub fn rejects(self) -> bool {
        matches!(self, Self::RejectOnce | Self::RejectAlways)
    }

    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }
}

/// Name of a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MessageKey {
    /// The engine's own, unique in its session.
    Engine(String),
    /// The engine's own, but counted from the beginning in every turn.
    PerTurn(String),
    /// None; the name is derived from attempt and number.
    Unnamed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Voided {
    /// The message of this name.
    Message(String),
    /// All messages since the last tool result or the beginning.
    Response,
}

/// What the engine reports about an MCP server that did not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFailure {
    /// None: the engine does not name it.
    pub server: Option<String>,
    pub message: String,
}

impl ServerFailure {
    /// Longest name that is kept.
    const NAME_MAX: usize = 100;

    pub fn of(server: &str, detail: &str) -> Self {
        let server = cut(server, Self::NAME_MAX);
        let message = format!("the MCP server \"{server}\" did not start ({detail})");
        Self { server: Some(server), message }
    }

    pub fn unnamed() -> Self {
        Self { server: None, message: "an MCP server did not start; the engine does not name it".to_owned() }
    }
}

/// What the engine reports of a subagent of its own, in its own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedSubagent {
    /// The engine's id of it.
    pub id: String,
    /// What the engine calls this kind of subagent.
    pub name: Option<String>,
    pub task: Option<String>,
    pub state: Option<String>,
    /// What the engine adds to the state.
    pub text: Option<String>,
    /// One of the texts is only a beginning.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineError {
    pub level: Level,
    pub code: Code,
    pub message: String,
    pub category: ErrorCategory,
    /// When the quota is available again, where the engine reports that in addition to its text.
    pub reset: Option<Reset>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndKind {
    Success,
    Failure,
    Limit,
    /// A limit at which the engine stops only if it does not continue by itself: its process shows which of the two it
    /// was.
    ProvisionalLimit,
    /// A success end was retracted, or the turn continues: there is no end now.
    Retracted,
}

#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub kind: EndKind,
    /// The engine's text about a failure or limit.
    pub message: Option<String>,
    pub category: ErrorCategory,
    /// Of a limit: which one.
    pub limit: Option<EngineLimit>,
}

impl End {
    pub fn success() -> Self {
        Self { kind: EndKind::Success, message: None, category: ErrorCategory::Engine, limit: None }
    }

    pub fn retracted() -> Self {
        Self { kind: EndKind::Retracted, message: None, category: ErrorCategory::Engine, limit: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw {
    /// Absent when the line is too long.
    pub text: Option<String>,
    /// More than one where a stream has only blank lines.
    pub lines: u64,
    pub has_marker: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flood {
    pub lines: u64,
    /// At least one of them mentions the done marker.
    pub has_marker: bool,
    /// The lines of the profile's format, by their type; the others are not of the format.
    pub unknown_types: TypeCounts,
    /// The last lines of stderr among them.
    pub last: LastLines,
}

/// How the end of a turn is reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EndPolicy {
    /// By an event in the stream.
    Event,
    /// By exit code 0 at the end of the streams, and no event at all.
    Exit { confidence: f64 },
}

/// From which streams the answer is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerFrom {
    /// The first of these that has a message or an end.
    FirstOf(&'static [Stream]),
    /// This one alone.
    Only(Stream),
}
