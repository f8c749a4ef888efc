//! Workflows: a declared order of runs that become one result. `plan` is what a workflow file becomes when it is
//! accepted, `events` is what the Log of a workflow records, `view` is what presenters show of it.
//!
//! A workflow is a run without an engine. Its steps are child runs, and its state is derived from their Logs.

mod events;
mod outcome;
mod plan;
mod view;

pub use events::{ReusedStep, StepEnded, StepHeld, StepScheduled, StepSummary, WorkflowEnded, WorkflowStarted};
pub use outcome::{HoldReason, RetryCause, StepState, WorkflowOutcome};
pub use plan::{
    AskMoment, OnStepFailure, StepCheck, StepId, StepOutput, StepRequest, StepRetries, StepTask, StepWorkspace,
    WorkflowInput, WorkflowOrigin, WorkflowPlan, WorkflowStep, item_name,
};
pub use view::{StepItemView, StepStanding, StepView, WorkflowView};

/// What stands in the record of a run in the place of the engine, where the run is a workflow.
pub const CONDUCTOR: &str = "workflow";

/// Most steps of a workflow, those of workflows in it included.
pub const STEPS_MAX: usize = 10_000;
/// Most items of one `for_each`.
pub const ITEMS_MAX: usize = 10_000;
/// How deep workflows may contain workflows.
pub const DEPTH_MAX: usize = 4;
