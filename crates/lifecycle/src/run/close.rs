//! The user ends a conversation that waits for the next prompt, or closes the question of a workflow without an answer.

use skillrun_model::RunStatus;
use skillrun_model::codes::Code;
use skillrun_model::rasp::data::{RunCompleted, RunStatusChange};
use skillrun_model::rasp::{ControlData, Level};
use skillrun_model::status::Phase;

use super::decision::{Decision, Effect, Refusal};
use super::state::State;
use crate::closing::{self, ControlEvent};
use crate::workflow;

pub(super) fn close(state: &State, by: String) -> Result<Decision, Refusal> {
    // The owner died before it wrote the end of a conversation that was closed; any later close writes it.
    if state.closing.is_some() && state.canceling.is_none() && state.failing.is_none() {
        return Ok(Decision { events: vec![closed()], opening: None, effects: vec![Effect::EndProcess] });
    }
    if state.workflow.is_some() {
        // A step waits for a decision, and gets none.
        let question = state.question.as_ref().filter(|_| state.status == Some(RunStatus::WaitingUser));
        let Some(question) = question.filter(|_| !state.is_ending()) else {
            return Err(Refusal::NothingHeld { status: state.status });
        };
        let effects = vec![Effect::DisarmTimer { interaction_id: question.interaction_id }];
        return Ok(Decision { events: vec![workflow::close(by)], opening: None, effects });
    }
    // A prompt that came with an interrupt was acknowledged, and is sent first.
    if !state.is_at_rest() || state.is_ending() || state.unsent_prompt().is_some() {
        return Err(Refusal::NotAtRest { status: state.status });
    }
    let change = RunStatusChange::new(None, Some(Phase::Closing), Some(by));
    let reason = closing::control(Level::Info, ControlData::RunStatus(change));
    Ok(Decision { events: vec![reason, closed()], opening: None, effects: vec![Effect::EndProcess] })
}

/// The last event of a conversation that was closed.
pub(super) fn closed() -> ControlEvent {
    closing::control(Level::Info, ControlData::RunCompleted(RunCompleted::new(Code::Closed)))
}
