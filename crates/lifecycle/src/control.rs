//! The inputs of the gate in addition to the engine's output.

use skillrun_evidence::Meta;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::mcp::McpServers;
use skillrun_model::status::Continuation;
use skillrun_model::verdict::OutputValidator;
use skillrun_model::{AttemptNumber, EndedBy, ExecutionMode, InteractionId};

/// How the process exited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessExit {
    Code(i32),
    Signal(String),
    Unknown,
}

impl ProcessExit {
    /// As the recording of the attempt has it.
    pub fn of(meta: &Meta) -> Self {
        match (meta.exit_code, &meta.signal) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal.clone()),
            (None, None) => Self::Unknown,
        }
    }
}

/// What decides whether the work of a run is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionLayer {
    /// The rules of a skill: marker, output and schema.
    OfSkill,
    /// The run has no skill: its messages are text, and a clean final is its answer.
    Absent,
}

/// The circumstances of an attempt.
#[derive(Debug, Clone)]
pub struct Control<'a> {
    pub mode: ExecutionMode,
    pub layer: CompletionLayer,
    pub attempt: AttemptNumber,
    pub max_attempt: Option<u32>,
    /// Without a marker an auto turn fails, even if its output is valid.
    pub require_marker: bool,
    pub continuation: Continuation,
    /// A session id from an earlier attempt of the run.
    pub known_session: Option<&'a str>,
    /// A cancel was recorded before the attempt was settled.
    pub cancel_recorded: bool,
    pub ended_by: Option<EndedBy>,
    pub exit: ProcessExit,
    /// The host's own error message.
    pub host_words: Option<&'a str>,
    /// The MCP servers of the run, if it has any.
    pub mcp_servers: Option<&'a McpServers>,
    /// The skill's output schema, if it has one.
    pub schema: Option<&'a dyn OutputValidator>,
    /// The number for a question, if there is one.
    pub next_interaction: InteractionId,
    pub request_policy: Option<DecisionPolicy>,
    pub skill_policy: Option<DecisionPolicy>,
}

impl Control<'_> {
    /// The first question of a run of a skill that sets nothing else.
    pub fn new(mode: ExecutionMode, attempt: AttemptNumber, continuation: Continuation, exit: ProcessExit) -> Self {
        Self {
            mode,
            layer: CompletionLayer::OfSkill,
            attempt,
            max_attempt: None,
            require_marker: false,
            continuation,
            known_session: None,
            cancel_recorded: false,
            ended_by: None,
            exit,
            host_words: None,
            mcp_servers: None,
            schema: None,
            next_interaction: InteractionId(1),
            request_policy: None,
            skill_policy: None,
        }
    }
}
