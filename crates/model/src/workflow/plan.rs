//! A workflow as it was accepted, with every default filled in.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::outcome::RetryCause;
use crate::status::{Permission, wire_enum};
use crate::time::Timestamp;

/// The name of a step in its workflow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StepId(pub String);

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A workflow that can be carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowPlan {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the workflow is given, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, WorkflowInput>,
    pub steps: Vec<WorkflowStep>,
    /// The output of the workflow: values with pointers, as in `with` of a step.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub outputs: Map<String, Value>,
    /// Child runs that work at the same time.
    pub concurrency: u32,
    /// From the start of the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,
    /// None: the request had it as a text, or it is inside another workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<WorkflowOrigin>,
}

/// Where a workflow comes from that did not come with the request itself: its checks are foreign code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowOrigin {
    File,
    /// The skill of this name brings it.
    Skill(String),
}

/// One input of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowInput {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// None: the input must be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// What a step carries out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepTask {
    /// A skill, by its name on the search path, or by its folder.
    Skill {
        name: String,
        /// The folder in which it was found when the workflow was accepted.
        source: String,
        /// Of its files, when the workflow was accepted.
        hash: String,
    },
    Prompt(String),
    Workflow(Box<WorkflowPlan>),
}

wire_enum! {
    /// What happens to the workflow when a step has not become ready.
    OnStepFailure {
        /// No other step begins. Those that work end first.
        Stop = "stop",
        /// Steps that do not need this one continue.
        Continue = "continue",
        /// The user decides.
        Hold = "hold",
    }
}

wire_enum! {
    /// When a step asks the user.
    AskMoment {
        Before = "before",
        After = "after",
    }
}

wire_enum! {
    /// The folder in which a step works.
    StepWorkspace {
        /// A folder of its own.
        Own = "own",
        /// The folder of the workflow.
        Shared = "shared",
    }
}

/// How often a step is tried again, and for what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRetries {
    pub max: u32,
    pub on: Vec<RetryCause>,
}

/// What a step must leave, besides what its skill requires.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepOutput {
    /// A JSON Schema for the output of a step without a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Files in its workspace without which the step is partial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
}

/// A command that skillrun runs after a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepCheck {
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowStep {
    pub id: StepId,
    pub task: StepTask,
    /// Tried in this order; a step that is a workflow has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engines: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Steps that must be ready before: those that the file names, and those to which pointers lead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<StepId>,
    /// The input, where objects with the single key `from` stand for the value to which that pointer leads:
    /// `/inputs/NAME`, `/steps/ID/output/…`, `/steps/ID/text`, `/item/…`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub with: Map<String, Value>,
    /// A list, or a pointer to one: the step has a child run for each of its items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<Value>,
    pub required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,
    #[serde(default)]
    pub retries: StepRetries,
    pub on_failure: OnStepFailure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskMoment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
    pub workspace: StepWorkspace,
    #[serde(default)]
    pub output: StepOutput,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<StepCheck>,
}

/// A step, or one item of a step that repeats, as people write it: `review`, `review[2]`.
pub fn item_name(step: &StepId, item: Option<u32>) -> String {
    item.map_or_else(|| step.0.clone(), |item| format!("{step}[{item}]"))
}

impl WorkflowPlan {
    pub fn step(&self, id: &StepId) -> Option<&WorkflowStep> {
        self.steps.iter().find(|step| step.id == *id)
    }
}

impl WorkflowStep {
    /// It works in the folder of the workflow.
    pub fn is_in_shared_folder(&self) -> bool {
        match self.workspace {
            StepWorkspace::Own => false,
            StepWorkspace::Shared => true,
        }
    }

    /// It may change files in the folder of the workflow, so that no other step works there at the same time.
    /// `permission` is that of the workflow, which counts where the step has none.
    pub fn may_write_shared(&self, permission: Permission) -> bool {
        let is_reader = match self.permission.unwrap_or(permission) {
            Permission::ReadOnly => self.checks.is_empty(),
            Permission::Workspace | Permission::Full => false,
        };
        self.is_in_shared_folder() && !is_reader
    }
}

/// A child run of a workflow, with every pointer replaced by its value: from this the child is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    pub step_id: StepId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    pub engine: String,
    pub trial: u32,
    /// The child waits until this moment for the quota of its engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The values of `with`.
    pub input: Map<String, Value>,
}
