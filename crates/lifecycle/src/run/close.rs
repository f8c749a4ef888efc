//! The user ends a conversation that waits for the next prompt.

use skillrun_model::codes::Code;
use skillrun_model::rasp::data::{RunCompleted, RunStatusChange};
use skillrun_model::rasp::{ControlData, Level};
use skillrun_model::status::Phase;

use super::decision::{Decision, Effect, Refusal};
use super::state::State;
use crate::closing::{self, ControlEvent};

pub(super) fn close(state: &State, by: String) -> Result<Decision, Refusal> {
    // The owner died before it wrote the end of a conversation that was closed; any later close writes it.
    if state.closing.is_some() && state.canceling.is_none() && state.failing.is_none() {
        return Ok(Decision { events: vec![closed()], opening: None, effects: vec![Effect::EndProcess] });
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
