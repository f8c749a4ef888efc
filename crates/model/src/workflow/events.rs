//! What the Log of a workflow records besides its children: `subagent.*` events have their requests and ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::outcome::{HoldReason, StepState, WorkflowOutcome};
use super::plan::StepId;
use crate::codes::{Code, NextAction};
use crate::ids::{InteractionId, RunId};
use crate::time::Timestamp;

/// The workflow has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowStarted {
    pub name: String,
    /// The number of its steps.
    pub steps: u32,
    /// When its time is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    /// The earlier run of the workflow whose ready steps count here too, if they are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuses: Option<RunId>,
}

/// A step begins: its child run is requested by the next event, unless the step needs none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepScheduled {
    pub step_id: StepId,
    /// The place in the list of a step that repeats, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// The length of that list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u32>,
    /// From 1: higher where the step is tried again.
    pub trial: u32,
    /// The place of the engine in the list of the step, from 0.
    #[serde(default)]
    pub engine_index: u32,
    /// Absent where the list of a step that repeats is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
    /// BLAKE3 of the skill, the input, the engine and the options: the same step has the same one in another run.
    pub fingerprint: String,
    /// The child waits until this moment for the quota of its engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
}

/// A step waits for a decision of the user, which the next event asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepHeld {
    pub step_id: StepId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    pub why: HoldReason,
    pub interaction_id: InteractionId,
}

/// The step of an earlier run of the workflow that counts here too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReusedStep {
    /// The workflow.
    pub run_id: RunId,
    /// The `workflow.step_ended` there.
    pub seq: u64,
}

/// A step has ended, or one item of a step that repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepEnded {
    pub step_id: StepId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    pub state: StepState,
    /// Of the end of the child run; why the step did not begin otherwise.
    pub reason: Code,
    /// The child run that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
    /// The last event of its Log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_seq: Option<u64>,
    /// The length of the list of a step that repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u32>,
    /// No other step begins after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops: bool,
    /// It has an output that fits its schema.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_output: bool,
    /// One sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<ReusedStep>,
    /// BLAKE3 as in `workflow.step_scheduled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// One step in the end of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepSummary {
    pub step_id: StepId,
    pub required: bool,
    pub state: StepState,
    pub reason: Code,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
    /// Of a step that repeats: how many items are ready, and how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<(u32, u32)>,
    /// Its output or its files can be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub usable: bool,
}

/// The workflow has ended; the end of its run follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowEnded {
    pub outcome: WorkflowOutcome,
    /// True for a completed workflow alone.
    pub ok: bool,
    pub steps: Vec<StepSummary>,
    /// The `outputs` of the workflow, as far as the steps to which they point are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Map<String, Value>>,
    /// Safe to do: nothing of it repeats a step that is ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<NextAction>,
}
