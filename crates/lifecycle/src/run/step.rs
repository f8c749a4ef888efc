//! What a run needs next, as far as its state says it.

use skillrun_model::{AttemptNumber, RunStatus};

use super::start::next_attempt;
use super::state::State;

/// The next step of the worker that has a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStep {
    Start(AttemptNumber),
    /// The attempt runs.
    Follow,
    /// The attempt is over, and is judged from its evidence.
    Settle,
    /// The process waits for the answer that begins its next turn.
    Between,
    /// The run is a workflow: its next step is derived from its plan.
    Conduct,
    /// The run ends as soon as its children have ended.
    EndChildren,
    /// The check with this number is run, and its end is recorded; if the run is canceled, the check is ended.
    Check(u32),
    /// The run ends, with its process.
    End,
    /// The run is over; its process is not.
    AwaitExit,
    /// For the user, and no process waits.
    Wait,
    Over,
    /// The worker was asked to leave the run to another owner; this does not follow from the state.
    LetGo,
}

/// Derives it from the state and from the attempt that the attached host is at. `host`: none where there is no host.
pub fn next_step(state: &State, host: Option<AttemptNumber>) -> RunStep {
    if state.is_over() {
        return if host.is_some() { RunStep::AwaitExit } else { RunStep::Over };
    }
    if state.workflow.is_some() {
        return RunStep::Conduct;
    }
    if state.attempt_is_open {
        // A host that is at a later attempt has left this one behind.
        return if host.is_some_and(|at| at <= state.attempt) { RunStep::Follow } else { RunStep::Settle };
    }
    // A turn record without what follows it: the end was held back for the children or the checks.
    if state.lacks_end() || state.is_unfinished {
        if state.open_children().next().is_some() {
            return RunStep::EndChildren;
        }
        return state.open_check().map_or(RunStep::End, RunStep::Check);
    }
    match state.status {
        Some(RunStatus::WaitingUser) if host.is_some() => RunStep::Between,
        Some(RunStatus::WaitingUser) => RunStep::Wait,
        Some(RunStatus::Queued | RunStatus::Running) => RunStep::Start(next_attempt(state)),
        Some(RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled) | None => {
            RunStep::Over
        }
    }
}
