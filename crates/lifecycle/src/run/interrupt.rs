//! The user stops the open turn of a run that continues after it. The Log has the request before the process receives
//! it; how the turn ended, and whether the engine had ended it before, the evidence shows.

use skillrun_model::ExecutionMode;
use skillrun_model::rasp::data::RunStatusChange;
use skillrun_model::rasp::{ControlData, Level};
use skillrun_model::status::Phase;

use super::decision::{Decision, Effect, Refusal};
use super::options::RunOptions;
use super::state::State;
use crate::closing;

pub(super) fn interrupt(
    state: &State,
    options: RunOptions,
    by: String,
    say: Option<String>,
) -> Result<Decision, Refusal> {
    match options.mode {
        ExecutionMode::Auto => return Err(Refusal::NotInterruptible),
        ExecutionMode::Interactive | ExecutionMode::Conversation => {}
    }
    if !state.attempt_is_open || state.is_ending() {
        return Err(Refusal::NoOpenTurn { status: state.status });
    }
    if state.interrupting.is_some() {
        let is_known = say.is_none() || say == state.say;
        if is_known {
            // Once more: the process may not have received the first request.
            return Ok(Decision { effects: vec![Effect::InterruptTurn], ..Decision::default() });
        }
        if state.say.is_some() {
            return Err(Refusal::OtherPrompt);
        }
    }
    let change = RunStatusChange { say, ..RunStatusChange::new(None, Some(Phase::Interrupting), Some(by)) };
    // A question inside the turn is closed with it, without an answer.
    let disarm = state.question.iter().map(|question| Effect::DisarmTimer { interaction_id: question.interaction_id });
    Ok(Decision {
        events: vec![closing::control(Level::Info, ControlData::RunStatus(change))],
        opening: None,
        effects: disarm.chain([Effect::InterruptTurn]).collect(),
    })
}
