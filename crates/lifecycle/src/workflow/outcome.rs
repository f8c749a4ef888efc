//! How a workflow ended, from how its steps ended.

use skillrun_model::workflow::{StepState, WorkflowOutcome};

/// What counts of a step for the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepResult {
    pub required: bool,
    pub state: StepState,
    /// A partial step has an output that fits its schema.
    pub has_output: bool,
}

impl StepResult {
    /// Something of the step can be used: it is ready, or it is partial with a validated output.
    pub fn is_usable(self) -> bool {
        match self.state {
            StepState::Ready => true,
            StepState::Partial => self.has_output,
            StepState::Failed | StepState::TimedOut | StepState::Held | StepState::Cancelled | StepState::Skipped => {
                false
            }
        }
    }
}

/// The first that fits. `is_time_up`: the time of the workflow itself was over.
pub fn outcome(is_canceled: bool, is_time_up: bool, steps: &[StepResult]) -> WorkflowOutcome {
    let any = |state: StepState| steps.iter().any(|step| step.state == state);
    let mut required = steps.iter().filter(|step| step.required);
    if is_canceled {
        WorkflowOutcome::Cancelled
    } else if required.all(|step| step.state == StepState::Ready) {
        WorkflowOutcome::Completed
    } else if steps.iter().any(|step| step.is_usable()) {
        WorkflowOutcome::Partial
    } else if is_time_up || any(StepState::TimedOut) {
        WorkflowOutcome::TimedOut
    } else if any(StepState::Held) {
        WorkflowOutcome::Held
    } else {
        WorkflowOutcome::Failed
    }
}
