//! What presenters show of a workflow: the file as it was accepted, and how each step stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::{HoldReason, StepState, WorkflowOutcome};
use super::plan::{OnStepFailure, StepId};
use crate::codes::{Code, NextAction};
use crate::ids::{InteractionId, RunId};
use crate::status::{RunStatus, wire_enum};
use crate::time::Timestamp;

wire_enum! {
    /// How a step stands.
    StepStanding {
        /// It waits for the steps that it needs, or for its turn.
        Pending = "pending",
        /// Its child run waits for a slot.
        Queued = "queued",
        /// Its child run waits for the quota of its engine.
        WaitsForQuota = "waits_for_quota",
        Running = "running",
        /// Its child run asks a question.
        Asks = "asks",
        /// It waits for a decision of the user.
        Held = "held_now",
        Ready = "ready",
        Partial = "partial",
        Failed = "failed",
        TimedOut = "timed_out",
        /// The decision that it needed was not made.
        Unanswered = "held",
        Cancelled = "cancelled",
        Skipped = "skipped",
    }
}

impl From<StepState> for StepStanding {
    fn from(state: StepState) -> Self {
        match state {
            StepState::Ready => Self::Ready,
            StepState::Partial => Self::Partial,
            StepState::Failed => Self::Failed,
            StepState::TimedOut => Self::TimedOut,
            StepState::Held => Self::Unanswered,
            StepState::Cancelled => Self::Cancelled,
            StepState::Skipped => Self::Skipped,
        }
    }
}

/// One item of a step that repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepItemView {
    pub item: u32,
    pub standing: StepStanding,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Code>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepView {
    pub step_id: StepId,
    /// The name of its skill or workflow, or the beginning of its prompt.
    pub title: String,
    /// The engine of its last child run; before, the first in its list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    pub needs: Vec<StepId>,
    pub required: bool,
    pub on_failure: OnStepFailure,
    pub standing: StepStanding,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Code>,
    /// One sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// The last child run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
    /// How often the step has begun.
    #[serde(default)]
    pub trials: u32,
    /// Why it waits for a decision, and the question to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HoldReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<InteractionId>,
    /// The workflow from which a ready step was taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused_from: Option<RunId>,
    /// Of a step that repeats; empty before its list is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<StepItemView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// A workflow with its steps, in the order of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowView {
    pub run_id: RunId,
    pub name: String,
    pub status: RunStatus,
    /// Absent until the workflow has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<WorkflowOutcome>,
    /// True for a completed workflow alone.
    pub ok: bool,
    pub steps: Vec<StepView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<NextAction>,
}
