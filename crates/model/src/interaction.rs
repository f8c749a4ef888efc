//! Questions to the user: the pending payload and the closed lists in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{AttemptNumber, InteractionId};
use crate::status::wire_enum;
use crate::time::Timestamp;

wire_enum! {
    /// `turn` ends the attempt, its reply starts the next; `call` is a question inside a turn.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskOption {
    pub value: String,
    pub label: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
}

/// A question that waits, always built by us and never read out of assistant text by a view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pending {
    pub interaction_id: InteractionId,
    pub scope: Scope,
    pub kind: InteractionKind,
    pub prompt: String,
    pub options: Vec<AskOption>,
    pub ui_hints: Option<Value>,
    pub default_decision_policy: DecisionPolicy,
    pub policy_source: PolicySource,
    pub context: Option<Value>,
    pub deadline: Option<Timestamp>,
    pub on_deadline: OnDeadline,
    pub source_attempt: AttemptNumber,
}
