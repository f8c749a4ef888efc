//! A run is accepted, and its attempts begin.

use skillrun_model::RunId;
use skillrun_model::rasp::data::{AttemptStarted, RunFailed, RunStarted, UserMessage};
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::verdict::RunError;
use skillrun_model::{AttemptNumber, RunStatus};

use super::decision::{Decision, Effect, Opening, Refusal};
use super::state::{GivenReply, State};
use crate::advice;
use crate::closing::{self, ControlEvent};

/// The number of the attempt that begins next.
pub(super) fn next_attempt(state: &State) -> AttemptNumber {
    AttemptNumber(state.attempt.0 + 1)
}

pub(super) fn accepted(state: &State, started: RunStarted) -> Result<Decision, Refusal> {
    if state.status.is_some() {
        return Err(Refusal::OutOfPlace);
    }
    Ok(Decision {
        events: vec![
            closing::control(Level::Info, ControlData::RunStarted(started)),
            closing::status(RunStatus::Queued),
        ],
        opening: None,
        effects: vec![Effect::Start { attempt: next_attempt(state) }],
    })
}

pub(super) fn host_ready(state: &State, started: AttemptStarted, message: UserMessage) -> Result<Decision, Refusal> {
    if state.status != Some(RunStatus::Queued) || state.canceling.is_some() {
        return Err(Refusal::OutOfPlace);
    }
    let message = message_event(message, state.reply.as_ref());
    Ok(Decision { opening: Some(opening(state, started, message)), ..Decision::default() })
}

/// The events that open the next attempt.
pub(super) fn opening(state: &State, started: AttemptStarted, message: ControlEvent) -> Opening {
    let started = closing::control(Level::Info, ControlData::AttemptStarted(started));
    Opening { attempt: next_attempt(state), events: vec![closing::status(RunStatus::Running), started, message] }
}

/// The message that begins an attempt; `reply` is the answer that it carries.
pub fn message_event(message: UserMessage, reply: Option<&GivenReply>) -> ControlEvent {
    let interaction_id = reply.map(|reply| reply.interaction_id);
    let correlation = Correlation { interaction_id, ..Correlation::default() };
    ControlEvent { correlation, ..closing::control(Level::Info, ControlData::MessageUser(message)) }
}

/// The message of an attempt that begins with an answer.
pub(super) fn of_reply(reply: &GivenReply) -> ControlEvent {
    message_event(reply.message(), Some(reply))
}

pub(super) fn cannot_start(state: &State, run_id: RunId, error: RunError) -> Result<Decision, Refusal> {
    if state.status != Some(RunStatus::Queued) {
        return Err(Refusal::OutOfPlace);
    }
    Ok(failed(run_id, error))
}

/// The run ends here, without another turn record.
pub(super) fn failed(run_id: RunId, error: RunError) -> Decision {
    let next_actions = advice::next_actions_for(&error, run_id);
    let failed = RunFailed::new(error, next_actions);
    Decision {
        events: vec![closing::control(Level::Error, ControlData::RunFailed(failed))],
        opening: None,
        effects: Vec::new(),
    }
}

/// Several decisions as one.
pub(super) fn before(mut events: Vec<ControlEvent>, then: Decision) -> Decision {
    events.extend(then.events);
    Decision { events, ..then }
}
