//! One payload type per FCMP event type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::codes::{Code, NextAction};
use crate::ids::InteractionId;
use crate::interaction::{DecisionPolicy, Pending};
use crate::rasp::data::{Foreign, ResolutionMode};
use crate::rasp::{Level, SpanRef};
use crate::status::{ExecutionMode, Phase, RunStatus, wire_enum};
use crate::verdict::RunError;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationStarted {
    pub title: String,
    pub mode: ExecutionMode,
    pub engine: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationStatus {
    pub status: Option<RunStatus>,
    pub phase: Option<Phase>,
    pub detail: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantDelta {
    pub message_id: String,
    pub text: String,
    pub partial: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantFinal {
    pub message_id: String,
    pub text: String,
    pub partial: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_payload: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantReasoning {
    pub text: String,
}

wire_enum! {
    ToolCallStatus {
        Started = "started",
        Completed = "completed",
        Failed = "failed",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantToolCall {
    pub tool_call_id: Option<String>,
    pub name: Option<String>,
    pub status: ToolCallStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Foreign>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserInputReplied {
    pub interaction_id: InteractionId,
    pub text: String,
    pub resolution_mode: ResolutionMode,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutoDecided {
    pub interaction_id: InteractionId,
    pub policy: DecisionPolicy,
    pub instruction: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimedOut {
    pub interaction_id: InteractionId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactCreated {
    pub path: String,
    pub size: u64,
    #[serde(rename = "type")]
    pub media_type: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosticWarning {
    pub code: Code,
    pub message: String,
    pub severity: Level,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SpanRef>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawLine {
    /// Absent when the line was too long, or one of a flood; the range has it.
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationEnded {
    pub state: RunStatus,
    pub reason_code: Code,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
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
    AssistantDelta(AssistantDelta) = "assistant.message.delta",
    AssistantFinal(AssistantFinal) = "assistant.message.final",
    AssistantReasoning(AssistantReasoning) = "assistant.reasoning",
    AssistantToolCall(AssistantToolCall) = "assistant.tool_call",
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
