//! One payload type per RASP event type. The table at the end is the only place that ties the two together.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::envelope::{SourceStream, SpanRef};
use crate::checks::CheckEnded;
use crate::codes::{Code, ErrorCategory, NextAction};
use crate::confinement::BoxReport;
use crate::continues::{Continues, ReplayedHistory};
use crate::delegation::{ParentLink, SubagentEnded, SubagentObserved, SubagentRequested, SubagentStarted};
use crate::ids::{InteractionId, RunId};
use crate::interaction::{DecisionPolicy, Pending};
use crate::profile::ProfileId;
use crate::status::{
    Continuation, EndedBy, ExecutionMode, Permission, Phase, Posture, RunStatus, TurnState, wire_enum,
};
use crate::time::Timestamp;
use crate::verdict::{RunError, Verdict};
use crate::workflow::{StepEnded, StepHeld, StepScheduled, WorkflowEnded, WorkflowStarted};

fn is_false(flag: &bool) -> bool {
    !flag
}

wire_enum! {
    /// What an event is about.
    Category {
        Lifecycle = "lifecycle",
        Agent = "agent",
        Interaction = "interaction",
        Tool = "tool",
        Artifact = "artifact",
        Diagnostic = "diagnostic",
        Raw = "raw",
        /// Types that the runtime needs for itself; not part of the frontend taxonomy.
        Runtime = "runtime",
    }
}

/// JSON of a foreign shape, kept as it was written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Foreign(pub Box<RawValue>);

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl JsonSchema for Foreign {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Foreign".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

/// The versions that wrote the events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Versions {
    pub skillrun: String,
    pub engine: Option<String>,
    pub profile: u32,
}

/// The run has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// The name of the skill; null for a run without one, and when a recording was read.
    pub skill: Option<String>,
    /// The beginning of the prompt of a run without a skill, on one line; the name of a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub engine: String,
    pub mode: ExecutionMode,
    pub versions: Versions,
    /// Whether a later turn can continue in the session. This field and the following ones are absent when a recording
    /// was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<Continuation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
    /// Whether the engine is held to the permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posture: Option<Posture>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunId>,
    /// The run whose conversation this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<Continues>,
    /// The run that has asked for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<ParentLink>>,
    /// The name of the workflow, if the run is one. Its engine is then called `workflow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// The run waits until this moment for the engine's quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// BLAKE3 of `run.json`, which never changes. Absent in Logs of versions before the chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_hash: Option<String>,
}

impl RunStarted {
    /// What is known of every run, including a recorded one.
    pub fn new(engine: impl Into<String>, mode: ExecutionMode, versions: Versions) -> Self {
        Self {
            skill: None,
            title: None,
            engine: engine.into(),
            mode,
            versions,
            continuation: None,
            permission: None,
            posture: None,
            retry_of: None,
            continues: None,
            parent: None,
            workflow: None,
            not_before: None,
            record_hash: None,
        }
    }
}

/// The run has changed its status, or the engine reports what it is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStatusChange {
    /// The new status of the run; absent when an engine only reports what it is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// With phase `interrupting`: the next prompt, which is sent as soon as the turn is interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<String>,
}

impl RunStatusChange {
    pub fn new(status: Option<RunStatus>, phase: Option<Phase>, detail: Option<String>) -> Self {
        Self { status, phase, detail, say: None }
    }
}

/// What the engine reports that it is doing: the data of a `run.status` made from engine output. Its JSON is that of a
/// [`RunStatusChange`] without a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnginePhase {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The engine is still working.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeartbeat {
    pub elapsed_ms: u64,
    pub bytes: u64,
}

/// The run has succeeded, or the user has closed the conversation. The last event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunCompleted {
    pub reason_code: Code,
    /// The warnings of the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Code>,
    /// Path of `result.json` in the run's folder; absent when a recording was read, which leaves no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

impl RunCompleted {
    pub fn new(reason_code: Code) -> Self {
        Self { reason_code, warnings: Vec::new(), result: None }
    }

    /// The status of the run after this event.
    pub fn status(&self) -> RunStatus {
        if self.reason_code == Code::Closed { RunStatus::Closed } else { RunStatus::Succeeded }
    }
}

/// The run has failed. The last event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFailed {
    pub reason_code: Code,
    pub error: RunError,
    pub next_actions: Vec<NextAction>,
    /// The run that will retry this one automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<PlannedRetry>,
}

impl RunFailed {
    pub fn new(error: RunError, next_actions: Vec<NextAction>) -> Self {
        Self { reason_code: error.code, error, next_actions, retry: None }
    }
}

/// A new run with the same request, which waits for the engine's quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedRetry {
    pub run_id: RunId,
    pub not_before: Timestamp,
}

/// The run was canceled. The last event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunCanceled {
    pub reason_code: Code,
    /// Who requested it.
    pub by: Option<String>,
}

wire_enum! {
    /// What composed a message to the agent.
    MessageOrigin {
        /// The user: a prompt, or an answer.
        User = "user",
        /// The skill: its instructions with the input of the request.
        Skill = "skill",
        /// A policy, in place of an answer that did not arrive in time.
        Policy = "policy",
        /// skillrun: the replay of another run, with what follows it.
        Orchestrator = "orchestrator",
    }
}

/// The message that begins a turn, as it was sent to the agent. `correlation.interaction_id` is that of the reply that
/// it carries, if it carries one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserMessage {
    /// The exact text; its beginning if `whole` is present. With `replayed`, only what follows the replay.
    pub text: String,
    pub origin: MessageOrigin,
    /// Names of files in `inputs/` that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Where the exact text is, if it is too large for an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<TextBlob>,
    /// The session before was lost: another one begins, and the replay of the run precedes the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<ReplayedHistory>,
}

impl UserMessage {
    /// A message without files, whose text fits into an event.
    pub fn new(origin: MessageOrigin, text: impl Into<String>) -> Self {
        Self { text: text.into(), origin, files: Vec::new(), whole: None, replayed: None }
    }

    /// Whether `text` is only the beginning.
    pub fn is_cut(&self) -> bool {
        let replay = self.replayed.as_ref().map_or(0, |replayed| replayed.bytes);
        self.whole.as_ref().is_some_and(|whole| whole.bytes > replay.saturating_add(self.text.len() as u64))
    }
}

/// A text in a file of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextBlob {
    /// Path in the run's folder.
    pub path: String,
    pub bytes: u64,
    /// BLAKE3, in hexadecimal digits.
    pub hash: String,
}

/// A further piece of a message that is not complete yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageDelta {
    pub message_id: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub sanitized: bool,
}

/// A message of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageFinal {
    pub message_id: String,
    pub text: String,
    /// The message was cut off: deltas arrived, but no end.
    pub partial: bool,
    /// The JSON object of a message that is one JSON object, or that contains exactly one, alone in a code fence;
    /// without the done marker. Absent where it is larger than 64 KiB or is a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_payload: Option<Map<String, Value>>,
    /// Control characters were removed from the text; the raw range has the original.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sanitized: bool,
    /// Only the beginning of the text is here; the range is exact.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SpanRef>,
}

impl MessageFinal {
    /// A whole message, whose text is shown as it was written.
    pub fn new(message_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            message_id: message_id.into(),
            text: text.into(),
            partial: false,
            structured_payload: None,
            sanitized: false,
            truncated: false,
            spans: Vec::new(),
        }
    }
}

/// A summary of the agent's reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningSummary {
    pub text: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub sanitized: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
}

wire_enum! {
    /// Who or what answered a question.
    ResolutionMode {
        UserReply = "user_reply",
        AutoDecideTimeout = "auto_decide_timeout",
        PermissionPolicy = "permission_policy",
    }
}

impl ResolutionMode {
    /// Of a message that carries the answer.
    pub fn origin(self) -> MessageOrigin {
        match self {
            Self::UserReply => MessageOrigin::User,
            Self::AutoDecideTimeout | Self::PermissionPolicy => MessageOrigin::Policy,
        }
    }
}

/// A question was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InteractionReplied {
    pub interaction_id: InteractionId,
    pub resolution_mode: ResolutionMode,
    pub text: String,
    pub files: Vec<String>,
    /// BLAKE3 of each of these files, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub file_hashes: BTreeMap<String, String>,
}

impl InteractionReplied {
    /// A reply without files.
    pub fn new(interaction_id: InteractionId, resolution_mode: ResolutionMode, text: impl Into<String>) -> Self {
        let (files, file_hashes) = (Vec::new(), BTreeMap::new());
        Self { interaction_id, resolution_mode, text: text.into(), files, file_hashes }
    }
}

/// The deadline of a question has passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InteractionTimeout {
    pub interaction_id: InteractionId,
    pub deadline: Option<Timestamp>,
    /// No policy decides the question: the run fails with this code as soon as its attempt is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_with: Option<Code>,
}

wire_enum! {
    /// What caused an automatic decision.
    AutoDecisionSource {
        /// The deadline of the question has passed.
        AutoDecideTimeout = "auto_decide_timeout",
    }
}

wire_enum! {
    /// Why an automatic decision was taken.
    AutoDecideReason {
        /// The user sent no reply before the deadline.
        UserNoReply = "user_no_reply",
    }
}

/// No answer arrived in time, and the question was decided automatically.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutoDecision {
    pub interaction_id: InteractionId,
    /// Absent in Logs that 0.1.0 wrote, like `reason`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<AutoDecisionSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<AutoDecideReason>,
    /// The policy that was applied, which may differ from the question's own.
    pub policy: DecisionPolicy,
    /// The text that the agent receives instead of an answer.
    pub instruction: String,
}

/// The agent uses a tool; `correlation.tool_call_id` identifies the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallStarted {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Foreign>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// A tool call has succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallCompleted {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub sanitized: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// A tool call has failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallFailed {
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub sanitized: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Written by skillrun because the turn ended before the call did.
    #[serde(default, skip_serializing_if = "is_false")]
    pub synthetic: bool,
}

wire_enum! {
    /// What was done to a file.
    FileChange {
        Created = "created",
        Modified = "modified",
        Deleted = "deleted",
    }
}

/// The engine reports that it has changed a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactCreated {
    pub path: String,
    pub change: FileChange,
}

/// The run has produced an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactIndexed {
    /// As in `GET /v1/runs/{run_id}/artifacts/{path}`.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// blake3, in hexadecimal digits.
    pub hash: String,
    /// The media type, derived from the file name.
    #[serde(rename = "type")]
    pub media_type: String,
    /// The skill's name for it.
    pub role: Option<String>,
}

wire_enum! {
    /// How a file can be shown without another program.
    PreviewKind {
        Markdown = "markdown",
        Json = "json",
        /// Any other text; also an image made of markup, which is never rendered as something that could execute.
        Text = "text",
        Image = "image",
    }
}

/// An artifact can be previewed: its type is one that a page can show, and it is not too large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactPreviewReady {
    /// As in `GET /v1/runs/{run_id}/artifacts/{path}`.
    pub path: String,
    pub kind: PreviewKind,
}

/// Something is unusual or wrong; the run may still succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    pub code: Code,
    /// For people; the text may change between versions.
    pub message: String,
    /// The number of occurrences, when one event stands for several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub sanitized: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SpanRef>,
}

impl Diagnostic {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), count: None, message_id: None, sanitized: false, spans: Vec::new() }
    }
}

/// A line of engine output that no rule understands, or, by their number and range, many such lines in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawText {
    /// The line without its terminator; absent when it is too long, or one of many in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub sanitized: bool,
    /// The range covers more than the text.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Number of lines when the event stands for lines of a long row; blank lines before a line belong to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// How many of these lines look like the engine's format, by their unknown type; the other lines do not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown_types: BTreeMap<String, u64>,
}

impl RawText {
    /// A whole line.
    pub fn new(text: impl Into<String>) -> Self {
        let unknown_types = BTreeMap::new();
        Self { text: Some(text.into()), sanitized: false, truncated: false, lines: None, unknown_types }
    }
}

/// A turn of the engine begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptStarted {
    pub profile: ProfileId,
    pub profile_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// Process id of the attempt's host; absent when a recording was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_pid: Option<u32>,
    pub started_at: Timestamp,
    /// What the box of its processes holds, and by what; absent without a box.
    #[serde(rename = "box", default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Box<BoxReport>>,
}

impl AttemptStarted {
    /// As much as is known of every attempt, including a recorded one.
    pub fn new(profile: ProfileId, started_at: Timestamp) -> Self {
        let profile_version = profile.version();
        Self { profile, profile_version, engine_version: None, host_pid: None, started_at, confinement: None }
    }
}

/// How the process ended. All fields are null when that is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<String>,
    pub ended_by: Option<EndedBy>,
}

wire_enum! {
    /// A limit of a turn, by the option that sets it.
    TurnLimit {
        /// The time of the whole turn.
        HardSec = "hard_sec",
        /// The time without any output.
        StallSec = "stall_sec",
        /// The bytes that are recorded.
        MaxBytes = "max_bytes",
        /// The time that a question inside the turn waits for its answer.
        SessionTimeoutSec = "session_timeout_sec",
        /// The memory of all processes together.
        MemoryBytes = "memory_bytes",
        /// The number of processes.
        Processes = "processes",
        /// The processor time of all processes together.
        CpuSec = "cpu_sec",
        /// What the processes may write to the disk.
        DiskBytes = "disk_bytes",
    }
}

/// The verdict on a turn of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptEnded {
    pub verdict: Verdict,
    pub terminal_status: TurnState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<ErrorCategory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// The limit that the turn has reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<TurnLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// When a time limit that the turn has reached was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// What the user can do after a turn that did not complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<NextAction>,
    pub exit: Exit,
    /// BLAKE3 of `host.N.json`, which has the hashes of the evidence. Absent where the host left no record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_hash: Option<String>,
}

impl AttemptEnded {
    pub fn new(verdict: Verdict, exit: Exit) -> Self {
        Self {
            terminal_status: verdict.turn,
            verdict,
            error_kind: None,
            details: None,
            limit: None,
            timeout_ms: None,
            deadline_at: None,
            elapsed_ms: None,
            next_actions: Vec::new(),
            exit,
            host_hash: None,
        }
    }
}

/// Token counts of a turn, as far as the engine reported them; the engine's own figures are in `reported`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnUsage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cached_input_tokens: Option<u64>,
    pub reasoning_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reported: BTreeMap<String, Value>,
}

macro_rules! event_types {
    ($($variant:ident($data:ty) = $wire:literal in $category:ident by $level:ident,)+) => {
        wire_enum! {
            /// Every RASP event type.
            EventType { $($variant = $wire,)+ }
        }

        impl EventType {
            pub fn category(self) -> Category {
                match self { $(Self::$variant => Category::$category,)+ }
            }

            pub(super) fn data_schema(self, generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                match self { $(Self::$variant => generator.subschema_for::<$data>(),)+ }
            }
        }

        impl Data {
            /// `stream` decides between the two kinds for the types that both have.
            pub(super) fn decode(
                event_type: EventType,
                stream: SourceStream,
                json: &str,
            ) -> Result<Self, serde_json::Error> {
                Ok(match event_type { $(EventType::$variant => decode_data!($level, $variant, $data, stream, json),)+ })
            }
        }
    };
}

macro_rules! decode_data {
    (Control, $variant:ident, $data:ty, $stream:ident, $json:ident) => {
        Self::Control(ControlData::$variant(serde_json::from_str::<$data>($json)?))
    };
    (Evidence, $variant:ident, $data:ty, $stream:ident, $json:ident) => {
        Self::Evidence(EvidenceData::$variant(serde_json::from_str::<$data>($json)?))
    };
    (Either, $variant:ident, $data:ty, $stream:ident, $json:ident) => {
        if $stream == SourceStream::Control {
            Self::Control(ControlData::$variant(serde_json::from_str::<$data>($json)?))
        } else {
            Self::Evidence(EvidenceData::$variant(serde_json::from_str($json)?))
        }
    };
}

event_types! {
    RunStarted(RunStarted) = "run.started" in Lifecycle by Control,
    RunStatus(RunStatusChange) = "run.status" in Lifecycle by Either,
    RunHeartbeat(RunHeartbeat) = "run.heartbeat" in Lifecycle by Control,
    RunCompleted(RunCompleted) = "run.completed" in Lifecycle by Control,
    RunFailed(RunFailed) = "run.failed" in Lifecycle by Control,
    RunCanceled(RunCanceled) = "run.canceled" in Lifecycle by Control,
    MessageUser(UserMessage) = "message.user" in Runtime by Control,
    MessageDelta(MessageDelta) = "agent.message.delta" in Agent by Evidence,
    MessageFinal(MessageFinal) = "agent.message.final" in Agent by Evidence,
    ReasoningSummary(ReasoningSummary) = "agent.reasoning.summary" in Agent by Evidence,
    InteractionRequested(Pending) = "interaction.requested" in Interaction by Control,
    InteractionReplied(InteractionReplied) = "interaction.replied" in Interaction by Control,
    InteractionTimeout(InteractionTimeout) = "interaction.timeout" in Interaction by Control,
    AutoDecision(AutoDecision) = "interaction.auto_decision" in Interaction by Control,
    ToolCallStarted(ToolCallStarted) = "tool.call.started" in Tool by Evidence,
    ToolCallCompleted(ToolCallCompleted) = "tool.call.completed" in Tool by Evidence,
    ToolCallFailed(ToolCallFailed) = "tool.call.failed" in Tool by Evidence,
    ArtifactCreated(ArtifactCreated) = "artifact.created" in Artifact by Control,
    ArtifactIndexed(ArtifactIndexed) = "artifact.indexed" in Artifact by Control,
    ArtifactPreviewReady(ArtifactPreviewReady) = "artifact.preview_ready" in Artifact by Control,
    ParserWarning(Diagnostic) = "parser.warning" in Diagnostic by Either,
    ParserError(Diagnostic) = "parser.error" in Diagnostic by Evidence,
    EngineError(Diagnostic) = "engine.error" in Diagnostic by Evidence,
    RawStdout(RawText) = "raw.stdout" in Raw by Evidence,
    RawStderr(RawText) = "raw.stderr" in Raw by Evidence,
    AttemptStarted(AttemptStarted) = "attempt.started" in Runtime by Control,
    AttemptEnded(Box<AttemptEnded>) = "attempt.ended" in Runtime by Control,
    TurnUsage(TurnUsage) = "turn.usage" in Runtime by Control,
    SubagentRequested(SubagentRequested) = "subagent.requested" in Runtime by Control,
    SubagentStarted(SubagentStarted) = "subagent.started" in Runtime by Control,
    SubagentEnded(SubagentEnded) = "subagent.ended" in Runtime by Control,
    WorkflowStarted(WorkflowStarted) = "workflow.started" in Runtime by Control,
    StepScheduled(StepScheduled) = "workflow.step_scheduled" in Runtime by Control,
    StepHeld(StepHeld) = "workflow.step_held" in Runtime by Control,
    StepEnded(Box<StepEnded>) = "workflow.step_ended" in Runtime by Control,
    WorkflowEnded(Box<WorkflowEnded>) = "workflow.ended" in Runtime by Control,
    SubagentObserved(SubagentObserved) = "subagent.observed" in Runtime by Evidence,
    CheckEnded(Box<CheckEnded>) = "check.ended" in Runtime by Control,
}

macro_rules! data_kind {
    ($(#[$meta:meta])* $name:ident { $($variant:ident($data:ty),)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum $name { $($variant($data),)+ }

        impl $name {
            pub fn event_type(&self) -> EventType {
                match self { $(Self::$variant(_) => EventType::$variant,)+ }
            }
        }
    };
}

data_kind! {
    /// What the runtime decides or observes. Only these events change the status of a run.
    ControlData {
        RunStarted(RunStarted),
        RunStatus(RunStatusChange),
        RunHeartbeat(RunHeartbeat),
        RunCompleted(RunCompleted),
        RunFailed(RunFailed),
        RunCanceled(RunCanceled),
        MessageUser(UserMessage),
        InteractionRequested(Pending),
        InteractionReplied(InteractionReplied),
        InteractionTimeout(InteractionTimeout),
        AutoDecision(AutoDecision),
        ArtifactCreated(ArtifactCreated),
        ArtifactIndexed(ArtifactIndexed),
        ArtifactPreviewReady(ArtifactPreviewReady),
        ParserWarning(Diagnostic),
        AttemptStarted(AttemptStarted),
        AttemptEnded(Box<AttemptEnded>),
        TurnUsage(TurnUsage),
        SubagentRequested(SubagentRequested),
        SubagentStarted(SubagentStarted),
        SubagentEnded(SubagentEnded),
        WorkflowStarted(WorkflowStarted),
        StepScheduled(StepScheduled),
        StepHeld(StepHeld),
        StepEnded(Box<StepEnded>),
        WorkflowEnded(Box<WorkflowEnded>),
        CheckEnded(Box<CheckEnded>),
    }
}

data_kind! {
    /// What is made from the output of an engine. No such event can end a run, or change its status.
    EvidenceData {
        RunStatus(EnginePhase),
        MessageDelta(MessageDelta),
        MessageFinal(MessageFinal),
        ReasoningSummary(ReasoningSummary),
        ToolCallStarted(ToolCallStarted),
        ToolCallCompleted(ToolCallCompleted),
        ToolCallFailed(ToolCallFailed),
        SubagentObserved(SubagentObserved),
        ParserWarning(Diagnostic),
        ParserError(Diagnostic),
        EngineError(Diagnostic),
        RawStdout(RawText),
        RawStderr(RawText),
    }
}

/// Payload of an event; its variant is the event's type.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Data {
    Control(ControlData),
    Evidence(EvidenceData),
}

impl Data {
    pub fn event_type(&self) -> EventType {
        match self {
            Self::Control(data) => data.event_type(),
            Self::Evidence(data) => data.event_type(),
        }
    }

    /// How the run ended, if this is the last event of a run.
    pub fn end(&self) -> Option<RunStatus> {
        if let Self::Control(data) = self { data.end() } else { None }
    }

    /// The diagnostic of a `parser.warning`, of either kind.
    pub fn warning(&self) -> Option<&Diagnostic> {
        if let Self::Control(ControlData::ParserWarning(diagnostic))
        | Self::Evidence(EvidenceData::ParserWarning(diagnostic)) = self
        {
            Some(diagnostic)
        } else {
            None
        }
    }

    /// The diagnostic of a `parser.warning`, a `parser.error` or an `engine.error`.
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        if let Self::Evidence(EvidenceData::ParserError(diagnostic) | EvidenceData::EngineError(diagnostic)) = self {
            Some(diagnostic)
        } else {
            self.warning()
        }
    }
}

impl ControlData {
    /// The run changes its status.
    pub fn status(status: RunStatus) -> Self {
        Self::RunStatus(RunStatusChange::new(Some(status), None, None))
    }

    /// How the run ended, if this is the last event of a run.
    pub fn end(&self) -> Option<RunStatus> {
        if let Self::RunCompleted(completed) = self {
            Some(completed.status())
        } else if let Self::RunFailed(_) = self {
            Some(RunStatus::Failed)
        } else if let Self::RunCanceled(_) = self {
            Some(RunStatus::Canceled)
        } else {
            None
        }
    }
}

impl From<ControlData> for Data {
    fn from(data: ControlData) -> Self {
        Self::Control(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rasp::Event;

    fn status(stream: SourceStream) -> Event {
        let line = serde_json::json!({
            "protocol_version": "rasp/1.0", "run_id": RunId::new(1, [1; 10]), "seq": 1, "ts": Timestamp::EPOCH,
            "attempt_number": 1,
            "source": {"engine": "codex", "stream": stream, "parser": null, "confidence": 1.0},
            "event": {"category": "lifecycle", "type": "run.status", "level": "info"},
            "data": {"status": "succeeded", "phase": "working"},
            "correlation": {"interaction_id": null, "tool_call_id": null, "session_id": null, "request_id": null,
                "artifact_id": null, "parent_run_id": null, "step_id": null},
            "raw_ref": {"stdout_from": 0, "stdout_to": 0, "stderr_from": 0, "stderr_to": 0},
        });
        Event::from_json(&line.to_string()).expect("an event")
    }

    #[test]
    fn a_status_in_engine_output_is_not_one_of_the_run() {
        let (phase, detail) = (Some(Phase::Working), None);
        let change = RunStatusChange::new(Some(RunStatus::Succeeded), phase, None);
        assert_eq!(status(SourceStream::Control).data, ControlData::RunStatus(change).into());
        let said = status(SourceStream::Stdout);
        assert_eq!(said.data, Data::Evidence(EvidenceData::RunStatus(EnginePhase { phase, detail })));
        assert!(said.to_json().contains(r#""data":{"phase":"working"}"#), "{}", said.to_json());
    }
}
