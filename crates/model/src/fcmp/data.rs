//! One payload type per FCMP event type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::checks::CheckStatus;
use crate::codes::{Code, NextAction};
use crate::delegation::{SubagentObserved, SubagentStatus};
use crate::ids::{InteractionId, RunId};
use crate::interaction::{DecisionPolicy, Pending};
use crate::rasp::data::{AutoDecideReason, AutoDecisionSource, Foreign, MessageOrigin, ResolutionMode, TurnLimit};
use crate::rasp::{Level, SpanRef};
use crate::status::{ExecutionMode, Phase, RunStatus, TurnState, wire_enum};
use crate::time::Timestamp;
use crate::verdict::RunError;
use crate::workflow::{StepId, StepState, WorkflowOutcome};

/// The run has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationStarted {
    /// The name of the skill; a description of the recording where there is none.
    pub title: String,
    pub mode: ExecutionMode,
    pub engine: String,
}

/// The run has changed its status, or the engine reports what it is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationStatus {
    /// Null: the status has not changed.
    pub status: Option<RunStatus>,
    pub phase: Option<Phase>,
    /// For people; the text may change between versions.
    pub detail: Option<String>,
}

/// A turn of the agent begins. Messages that follow are not answers before the end of the turn says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {}

/// The message that began the turn, as the agent received it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UserMessageToShow")]
pub struct UserMessage {
    /// The beginning, if `truncated` is true.
    pub text: String,
    pub origin: MessageOrigin,
    /// The reply that the message carries. A frontend that has shown this reply does not show the message again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<InteractionId>,
    /// Names of files that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The agent's session was lost. Another one begins with this message, and the agent received a transcript of the
    /// conversation before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// The agent has asked for another run, which works for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SubagentStartedToShow")]
pub struct SubagentStarted {
    pub child_run_id: RunId,
    pub engine: String,
    /// The name of the skill, or the beginning of the prompt.
    pub title: String,
}

/// A run that the agent has asked for has ended, or is no longer controlled. It was successful only if the status is
/// `completed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SubagentEndedToShow")]
pub struct SubagentEnded {
    pub child_run_id: RunId,
    pub status: SubagentStatus,
    pub reason_code: Code,
    /// The answer of a completed run, or its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    pub elapsed_ms: u64,
}

/// A step of a workflow has begun, or one item of a step that repeats. Its run is named by the `subagent.started` that
/// follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepStartedToShow")]
pub struct StepStarted {
    pub step_id: StepId,
    /// The place in the list of a step that repeats, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// From 1: higher where the step is tried again.
    pub trial: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
}

/// A step of a workflow has ended. It was successful only if its state is `ready`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StepEndedToShow")]
pub struct StepEnded {
    pub step_id: StepId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    pub state: StepState,
    pub reason_code: Code,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
    /// One sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// The workflow has ended. It was successful only if its outcome is `completed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowEndedToShow")]
pub struct WorkflowEnded {
    pub outcome: WorkflowOutcome,
    pub ok: bool,
}

/// A check, a command that skillrun runs after the turn, has ended. The run can succeed only if the status is `passed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CheckEndedToShow")]
pub struct CheckEnded {
    pub name: String,
    /// The command, in one line.
    pub command: String,
    pub status: CheckStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The last lines of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tail: Option<String>,
    /// Why it could not be started, or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    pub elapsed_ms: u64,
}

/// A turn of the agent has ended. A message is an answer only if the end of a turn with the state `completed` names it;
/// all other messages of the turn are work on the way, or text of a turn that broke off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEnded {
    pub state: TurnState,
    pub reason_code: Code,
    /// Only in a turn that completed: the message that is its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_message_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// The limit that the turn has reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<TurnLimit>,
    /// When a time limit that the turn has reached was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    /// What the user can do next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<NextAction>,
}

/// A further piece of a message that is not complete yet. The final message with the same `message_id` replaces all of
/// its pieces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantDelta {
    /// Unique among the messages of the attempt.
    pub message_id: String,
    /// The text that follows the previous deltas.
    pub text: String,
    /// Always true.
    pub partial: bool,
}

/// A message of the agent. It is an answer only if a `turn.ended` with the state `completed` names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantFinal {
    /// The same as that of its deltas, if there were any.
    pub message_id: String,
    pub text: String,
    /// The message was cut off: deltas arrived, but no end.
    pub partial: bool,
    /// The JSON object of a message that is one JSON object, or that contains exactly one, alone in a code fence;
    /// without the done marker. Not validated: the output of the skill is in the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_payload: Option<Map<String, Value>>,
}

/// A summary of the agent's reasoning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantReasoning {
    pub text: String,
}

wire_enum! {
    /// The progress of a tool call.
    ToolCallStatus {
        Started = "started",
        Completed = "completed",
        Failed = "failed",
    }
}

/// The agent uses a tool: one event when the call starts and one when it ends, with the same `tool_call_id`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantToolCall {
    pub tool_call_id: Option<String>,
    /// The engine's name for the tool; present when the call starts.
    pub name: Option<String>,
    pub status: ToolCallStatus,
    /// As the engine wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Foreign>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A question was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserInputReplied {
    pub interaction_id: InteractionId,
    /// The text of the answer.
    pub text: String,
    pub resolution_mode: ResolutionMode,
}

/// No answer arrived in time, and the question was decided automatically.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutoDecided {
    pub interaction_id: InteractionId,
    /// Absent in runs of 0.1.0, like `reason`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<AutoDecisionSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<AutoDecideReason>,
    pub policy: DecisionPolicy,
    /// The text that the agent received instead of an answer.
    pub instruction: String,
}

/// The deadline of a question has passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimedOut {
    pub interaction_id: InteractionId,
}

/// The run has produced an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ArtifactToShow")]
pub struct ArtifactCreated {
    /// As in `GET /v1/runs/{run_id}/artifacts/{path}`.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// The media type, derived from the file name.
    #[serde(rename = "type")]
    pub media_type: String,
}

/// Something is unusual or wrong; the run may still succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosticWarning {
    pub code: Code,
    /// For people; the text may change between versions.
    pub message: String,
    pub severity: Level,
    /// The number of occurrences, when one event stands for several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Further byte ranges that this is about, in addition to `raw_ref`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SpanRef>,
}

/// A line of engine output that no rule understands, or, by their number and range, many such lines in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawLine {
    /// Null when the line was too long, or one of many in a row; the range still covers it.
    pub text: Option<String>,
    /// Number of lines when the event stands for lines of a long row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
}

/// The run is over; no event comes after this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationEnded {
    /// One of the terminal statuses.
    pub state: RunStatus,
    pub reason_code: Code,
    /// Warnings about a run that succeeded, such as a missing done marker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Code>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// What the user can do next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<NextAction>,
}

macro_rules! fcmp_types {
    ($($variant:ident($data:ty) = $wire:literal,)+) => {
        wire_enum! {
            /// Every FCMP event type.
            FcmpType { $($variant = $wire,)+ }
        }

        impl FcmpType {
            pub(super) fn data_schema(self, generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                match self { $(Self::$variant => generator.subschema_for::<$data>(),)+ }
            }
        }

        /// Payload of an FCMP event; its variant is the event's type.
        #[derive(Debug, Clone, PartialEq)]
        pub enum FcmpData { $($variant($data),)+ }

        impl FcmpData {
            pub fn fcmp_type(&self) -> FcmpType {
                match self { $(Self::$variant(_) => FcmpType::$variant,)+ }
            }
        }

        impl Serialize for FcmpData {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $(Self::$variant(data) => data.serialize(serializer),)+ }
            }
        }
    };
}

fcmp_types! {
    ConversationStarted(ConversationStarted) = "conversation.started",
    ConversationStatus(ConversationStatus) = "conversation.status",
    TurnStarted(TurnStarted) = "turn.started",
    UserMessage(UserMessage) = "user.message",
    SubagentStarted(SubagentStarted) = "subagent.started",
    SubagentEnded(SubagentEnded) = "subagent.ended",
    StepStarted(StepStarted) = "step.started",
    StepEnded(StepEnded) = "step.ended",
    WorkflowEnded(WorkflowEnded) = "workflow.ended",
    SubagentObserved(SubagentObserved) = "subagent.observed",
    CheckEnded(CheckEnded) = "check.ended",
    AssistantDelta(AssistantDelta) = "assistant.message.delta",
    AssistantFinal(AssistantFinal) = "assistant.message.final",
    AssistantReasoning(AssistantReasoning) = "assistant.reasoning",
    AssistantToolCall(AssistantToolCall) = "assistant.tool_call",
    TurnEnded(TurnEnded) = "turn.ended",
    UserInputRequired(Pending) = "user.input.required",
    UserInputReplied(UserInputReplied) = "user.input.replied",
    AutoDecided(AutoDecided) = "interaction.auto_decided",
    TimedOut(TimedOut) = "interaction.timed_out",
    ArtifactCreated(ArtifactCreated) = "artifact.created",
    DiagnosticWarning(DiagnosticWarning) = "diagnostic.warning",
    RawStdout(RawLine) = "raw.stdout",
    RawStderr(RawLine) = "raw.stderr",
    ConversationCompleted(ConversationEnded) = "conversation.completed",
    ConversationFailed(ConversationEnded) = "conversation.failed",
    ConversationCanceled(ConversationEnded) = "conversation.canceled",
}
