//! Runs that other runs have asked for: what a run may delegate, what it asks for, and what it knows of its children.

mod desk;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::codes::{Code, NextAction};
use crate::ids::{AttemptNumber, RunId};
use crate::integers::integer;
use crate::rasp::data::TextBlob;
use crate::status::{ExecutionMode, wire_enum};
use crate::time::Timestamp;
use crate::workflow::StepId;

pub use desk::{
    DelegatedPatch, DelegatedResult, DelegatedRun, DelegatedState, DelegationRefusal, DelegationRequest,
    DelegationResponse, RefusalReason, WaitOutcome,
};

/// The run that has asked for another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParentLink {
    pub run_id: RunId,
    /// The attempt that has asked.
    pub attempt: AttemptNumber,
    /// The tool call of the parent that has asked, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The step of the parent, where that is a workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<StepId>,
    /// The run at the top, which has no parent.
    pub root: RunId,
    /// 1 for a child of the run at the top.
    pub depth: u32,
}

wire_enum! {
    /// What becomes of a child that still works when its parent ends. Children of a canceled run are always canceled.
    OnParentEnd {
        /// It is canceled.
        Cancel = "cancel",
        /// It continues alone, and its parent records that it did not end.
        Detach = "detach",
        /// The parent ends after it.
        Wait = "wait",
    }
}

fn default_policy() -> OnParentEnd {
    OnParentEnd::Cancel
}

/// What a run may delegate. A run without this cannot have children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delegation {
    /// The engines that children may use. Empty: every engine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engines: Vec<String>,
    /// The names of the skills that children may run, besides prompts. Empty: every skill.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// How far children may have children: 1 allows no grandchildren.
    #[serde(default = "Delegation::default_depth", deserialize_with = "integer")]
    pub max_depth: u32,
    /// Children of one run that work at the same time.
    #[serde(default = "Delegation::default_children", deserialize_with = "integer")]
    pub max_children: u32,
    /// Runs below the one at the top.
    #[serde(default = "Delegation::default_total", deserialize_with = "integer")]
    pub max_total: u32,
    #[serde(default = "default_policy")]
    pub on_parent_end: OnParentEnd,
}

impl Delegation {
    fn default_depth() -> u32 {
        2
    }

    fn default_children() -> u32 {
        8
    }

    fn default_total() -> u32 {
        50
    }
}

impl Default for Delegation {
    fn default() -> Self {
        Self {
            engines: Vec::new(),
            skills: Vec::new(),
            max_depth: Self::default_depth(),
            max_children: Self::default_children(),
            max_total: Self::default_total(),
            on_parent_end: default_policy(),
        }
    }
}

wire_enum! {
    /// The folder in which a child works.
    ChildWorkspace {
        /// A folder of its own.
        Own = "own",
        /// The folder of its parent.
        Shared = "shared",
        /// A folder of its own that begins as a copy of that of its parent. Its changes come back as a patch.
        Copy = "copy",
    }
}

/// A child that a run asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChildRequest {
    /// Distinguishes the children of one attempt: the same key gives the same child. None: the hash of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// None: the engine of the parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The name of a skill. A child has a skill or a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// `auto` or `interactive`; none: as the skill says, or `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ExecutionMode>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub input: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameter: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The longest time of a turn of the child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,
    #[serde(default = "ChildRequest::own_workspace")]
    pub workspace: ChildWorkspace,
    /// None: as the parent's `delegation` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_parent_end: Option<OnParentEnd>,
    /// The tool call of the parent that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

impl ChildRequest {
    fn own_workspace() -> ChildWorkspace {
        ChildWorkspace::Own
    }

    /// A child without a skill.
    pub fn ask(prompt: impl Into<String>) -> Self {
        Self {
            key: None,
            engine: None,
            skill: None,
            prompt: Some(prompt.into()),
            mode: None,
            input: Map::new(),
            parameter: Map::new(),
            model: None,
            timeout_sec: None,
            workspace: ChildWorkspace::Own,
            on_parent_end: None,
            call_id: None,
        }
    }
}

/// A run has asked for a child, which is made after this event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentRequested {
    pub child_run_id: RunId,
    /// The same key in the same attempt gives the same child.
    pub key: String,
    pub engine: String,
    /// The name of the skill, or the beginning of the prompt.
    pub title: String,
    pub on_parent_end: OnParentEnd,
    /// The longest time of a turn of the child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The whole request, from which the child is made.
    pub request: TextBlob,
}

/// The child exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentStarted {
    pub child_run_id: RunId,
}

wire_enum! {
    /// How a child ended, as far as its parent knows.
    SubagentStatus {
        Completed = "completed",
        Failed = "failed",
        TimedOut = "timed_out",
        Cancelled = "cancelled",
        /// The parent no longer controls it, and how it ends is not known.
        Detached = "detached",
    }
}

/// The engine has reported something of a subagent of its own, which is not a run: there is no Log from which it could
/// be checked. All texts are the engine's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentObserved {
    /// The engine's id of the subagent: that of a session, a thread, or the call that has started it.
    pub subagent_id: String,
    /// What the engine calls this kind of subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The beginning of its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Its state in the engine's own word, which need not be a state of a run. An engine may say `completed` of work
    /// that has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// What the engine adds to the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sanitized: bool,
    /// The range covers more than the texts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A child has ended, or is no longer controlled by its parent. A later record of the same child replaces one with the
/// status `detached`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentEnded {
    pub child_run_id: RunId,
    /// The engine's session of the child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_session_id: Option<String>,
    pub status: SubagentStatus,
    /// The reason in the child's end event; why it is detached otherwise.
    pub reason: Code,
    /// The event of the child's Log that this follows from; absent where the child does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_seq: Option<u64>,
    /// The answer of a completed child, or its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The file with the result, in the folder of the child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_ref: Option<String>,
    /// Why the child could not be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// From the request to the end of the child.
    pub elapsed_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// When a time limit that the child has reached was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<NextAction>,
}
