//! Questions to the user: the pending payload and the closed lists in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{AttemptNumber, InteractionId};
use crate::status::wire_enum;
use crate::time::Timestamp;

wire_enum! {
    /// `turn` ends the attempt, its reply starts the next; `call` is a question inside a turn.
    #[schemars(rename = "InteractionScope")]
    Scope {
        Turn = "turn",
        Call = "call",
    }
}

wire_enum! {
    /// How a question would like to be answered. Advice only; a reply is free text.
    InteractionKind {
        ChooseOne = "choose_one",
        Confirm = "confirm",
        FillFields = "fill_fields",
        OpenText = "open_text",
        RiskAck = "risk_ack",
    }
}

wire_enum! {
    /// What to do when nobody answers.
    DecisionPolicy {
        EngineJudgement = "engine_judgement",
        SafeDefault = "safe_default",
        Abort = "abort",
    }
}

wire_enum! {
    /// Who named the policy; the first that has one.
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
    }
}

/// Something a question offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskOption {
    /// Send it as the text of the answer.
    pub value: String,
    /// Show it.
    pub label: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
}

/// A question that waits for an answer.
//
// Always built by us: a view never reads it out of what the agent wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Interaction")]
pub struct Pending {
    /// Give it back with the answer.
    pub interaction_id: InteractionId,
    pub scope: Scope,
    pub kind: InteractionKind,
    /// The question, in the agent's words.
    pub prompt: String,
    /// What it offers; another answer is allowed all the same.
    pub options: Vec<AskOption>,
    /// What the agent said about how to show it; its shape is not promised.
    pub ui_hints: Option<Value>,
    pub default_decision_policy: DecisionPolicy,
    pub policy_source: PolicySource,
    /// What the agent said beside the question; its shape is not promised.
    pub context: Option<Value>,
    /// Null: it waits for as long as it takes.
    pub deadline: Option<Timestamp>,
    pub on_deadline: OnDeadline,
    /// The attempt that asked.
    pub source_attempt: AttemptNumber,
}
