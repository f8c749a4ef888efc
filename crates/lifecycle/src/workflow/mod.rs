//! The life of a workflow, as pure functions over its plan and its Log.
//!
//! A workflow has no truth of its own: its steps are child runs, and how a step ended follows from the Log of its child.
//! [`WorkflowState`] is the fold over `workflow.*` events and the ends of children; [`next()`] derives the one thing to do
//! next, so that recovery is nothing but asking again; [`judged`] decides what the end of a child means for its step;
//! [`outcome()`] is the table of ends.
//!
//! The caller carries out what only it can do: it reads what a child left, makes the next child, and cancels children.

mod judge;
mod next;
mod outcome;
mod question;
mod state;
#[cfg(test)]
mod tests;

pub use judge::{Checkpoint, CheckpointOutput, TrialCause, judged};
pub use next::{
    Beginning, ConductorStep, WorkflowContext, end_without_run, ended, ended_at_once, next, requested, scheduled, stops,
};
pub(crate) use question::close;

pub use outcome::{StepResult, outcome};
pub use state::{HeldAnswer, HeldStep, InstanceState, StepEnding, StepProgress, UnjudgedChild, WorkflowState};
