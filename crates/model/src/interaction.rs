//! Questions to the user: the pending payload and the closed lists in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{AttemptNumber, InteractionId};
use crate::status::wire_enum;
use crate::time::Timestamp;

wire_enum! {
    /// `turn` ends the attempt, and its reply starts the next one; `call` is a question inside a turn; `prompt` is not
    /// a question: the run rests until the user sends the next prompt, which starts the next attempt. `step` asks for a
    /// decision about a step of a workflow.
    #[schemars(rename = "InteractionScope")]
    Scope {
        Turn = "turn",
        Call = "call",
        Prompt = "prompt",
        Step = "step",
    }
}

wire_enum! {
    /// How a question is best answered. Advice only; a reply is free text.
    InteractionKind {
        ChooseOne = "choose_one",
        Confirm = "confirm",
        FillFields = "fill_fields",
        OpenText = "open_text",
        RiskAck = "risk_ack",
    }
}

wire_enum! {
    /// What to do when no reply arrives before the deadline.
    DecisionPolicy {
        EngineJudgement = "engine_judgement",
        SafeDefault = "safe_default",
        Abort = "abort",
    }
}

wire_enum! {
    /// Who set the policy: the first of these that did.
    PolicySource {
        Request = "request",
        Skill = "skill",
        Model = "model",
        Default = "default",
    }
}

wire_enum! {
    /// What happens when the deadline passes.
    OnDeadline {
        Wait = "wait",
        AutoReply = "auto_reply",
        FailRun = "fail_run",
        /// The step of a workflow counts as not decided.
        HoldStep = "hold_step",
    }
}

/// An option that a question offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskOption {
    /// The text to send as the answer.
    pub value: String,
    /// The text to show to the user.
    pub label: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
}

/// A question that is waiting for an answer.
//
// Always built by skillrun: a view never reads it out of the agent's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Interaction")]
pub struct Pending {
    /// Send it back with the answer.
    pub interaction_id: InteractionId,
    pub scope: Scope,
    pub kind: InteractionKind,
    /// The question, in the agent's words.
    pub prompt: String,
    /// The options offered; any other answer is allowed too.
    pub options: Vec<AskOption>,
    /// What the agent said about how to show the question; the shape is not guaranteed.
    pub ui_hints: Option<Value>,
    pub default_decision_policy: DecisionPolicy,
    pub policy_source: PolicySource,
    /// What the agent said in addition to the question; the shape is not guaranteed.
    pub context: Option<Value>,
    /// Null: the question waits indefinitely.
    pub deadline: Option<Timestamp>,
    pub on_deadline: OnDeadline,
    /// The attempt that asked the question.
    pub source_attempt: AttemptNumber,
}

impl Pending {
    /// A question at the end of a turn, without anything that the agent or a policy may add to it.
    pub fn open_text(interaction_id: InteractionId, source_attempt: AttemptNumber, prompt: impl Into<String>) -> Self {
        Self {
            interaction_id,
            scope: Scope::Turn,
            kind: InteractionKind::OpenText,
            prompt: prompt.into(),
            options: Vec::new(),
            ui_hints: None,
            default_decision_policy: DecisionPolicy::EngineJudgement,
            policy_source: PolicySource::Default,
            context: None,
            deadline: None,
            on_deadline: OnDeadline::Wait,
            source_attempt,
        }
    }
}
