//! What the gate decided about one attempt, and the evidence it decided from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::codes::{Code, ErrorCategory};
use crate::interaction::Pending;
use crate::rasp::SpanRef;
use crate::status::{CompletionState, RunStatus, TurnState, wire_enum};
use crate::time::Timestamp;

wire_enum! {
    /// The rule that decided how a turn ended: the first one that fitted.
    Rule {
        Canceled = "1",
        Interrupted = "1b",
        Limit = "2",
        Failure = "2b",
        MarkerOutputInvalid = "3",
        MarkerInteractive = "3b",
        MarkerAuto = "3c",
        TimedOut = "4",
        HostEnded = "5",
        NotStarted = "5b",
        BadExit = "6",
        EndMissing = "7",
        ExitUnknown = "7b",
        AnswerMissing = "8",
        AgentNotDone = "8b",
        AutoValid = "9",
        AutoInvalid = "10",
        SoftCompletion = "11",
        MaxAttempt = "12",
        SessionMissing = "13",
        Waiting = "14",
    }
}

wire_enum! {
    /// A limit at which an engine itself ended its turn.
    EngineLimit {
        /// The length of an answer.
        Tokens = "tokens",
        /// The number of requests to the model.
        Requests = "requests",
        /// The model or its service declined to answer.
        Refusal = "refusal",
    }
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunError {
    pub category: ErrorCategory,
    pub code: Code,
    /// For people; the text may change between versions.
    pub message: String,
    /// Further details, such as the places where an output does not match its schema.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// When the quota is available again, if the engine reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_at: Option<Timestamp>,
}

impl RunError {
    pub fn new(category: ErrorCategory, code: Code, message: impl Into<String>) -> Self {
        Self { category, code, message: message.into(), details: Vec::new(), reset_at: None }
    }
}

/// Checks whether an output matches the skill's schema. Implemented where schemas are known.
pub trait OutputValidator: std::fmt::Debug {
    /// Empty, or the errors, one sentence each.
    fn errors(&self, output: &Map<String, Value>) -> Vec<String>;
}

/// The byte ranges that support a verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictEvidence {
    pub end: Vec<SpanRef>,
    pub marker: Vec<SpanRef>,
    pub answer: Vec<SpanRef>,
}

/// Result of `settle`: decided once, from evidence alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    pub rule: Rule,
    pub turn: TurnState,
    pub completion: CompletionState,
    pub reason_code: Code,
    pub run_status: RunStatus,
    /// The lower of the confidences of the end evidence and the answer.
    pub confidence: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    pub warnings: Vec<Code>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Map<String, Value>>,
    /// Size of an output that is too large for an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_message_id: Option<String>,
    /// The model or its service declined to answer. Absent otherwise, and in Logs of versions that did not record it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// The limit that the engine named. Absent otherwise, and in Logs of versions that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_limit: Option<EngineLimit>,
    pub evidence: VerdictEvidence,
}

impl Verdict {
    /// The decision alone, made with full confidence.
    pub fn new(
        rule: Rule,
        turn: TurnState,
        completion: CompletionState,
        reason_code: Code,
        run_status: RunStatus,
    ) -> Self {
        Self {
            rule,
            turn,
            completion,
            reason_code,
            run_status,
            confidence: 1.0,
            error: None,
            warnings: Vec::new(),
            output: None,
            output_bytes: None,
            pending: None,
            answer_message_id: None,
            refused: false,
            engine_limit: None,
            evidence: VerdictEvidence::default(),
        }
    }
}
