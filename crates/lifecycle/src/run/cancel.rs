//! A run is canceled, in any state except its end.

use skillrun_model::codes::Code;
use skillrun_model::rasp::data::{RunCanceled, RunStatusChange};
use skillrun_model::rasp::{ControlData, Level};
use skillrun_model::status::Phase;

use super::decision::{Decision, Effect, Refusal};
use super::state::State;
use crate::closing;

pub(super) fn cancel(state: &State, by: String) -> Result<Decision, Refusal> {
    if state.status.is_none() {
        return Err(Refusal::OutOfPlace);
    }
    if state.canceling.is_some() {
        // Once more: the process may not have received the first request.
        return Ok(Decision { effects: vec![Effect::EndProcess], ..Decision::default() });
    }
    let change = RunStatusChange::new(None, Some(Phase::Canceling), Some(by.clone()));
    let mut events = vec![closing::control(Level::Info, ControlData::RunStatus(change))];
    let mut effects: Vec<_> = state.question.iter().map(disarm).collect();
    effects.push(Effect::EndProcess);
    // The conductor of a workflow ends its children first, and then the run.
    if !state.attempt_is_open && state.workflow.is_none() {
        // No turn will end after this, so this is the end.
        let canceled = RunCanceled { reason_code: Code::Canceled, by: Some(by) };
        events.push(closing::control(Level::Info, ControlData::RunCanceled(canceled)));
    }
    Ok(Decision { events, opening: None, effects })
}

fn disarm(question: &skillrun_model::interaction::Pending) -> Effect {
    Effect::DisarmTimer { interaction_id: question.interaction_id }
}
