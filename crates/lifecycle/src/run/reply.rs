//! A question is answered. The answer is on disk before the engine receives it.

use skillrun_model::interaction::{Pending, Scope};
use skillrun_model::rasp::data::{AttemptStarted, InteractionReplied, ResolutionMode};
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::status::Continuation;
use skillrun_model::{InteractionId, RunStatus, Timestamp};

use super::decision::{Decision, Effect, Refusal};
use super::options::RunOptions;
use super::start::{next_attempt, of_reply, opening};
use super::state::{GivenReply, State};
use crate::closing::{self, ControlEvent};

/// A person's answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) interaction_id: InteractionId,
    pub(super) text: String,
    pub(super) files: Vec<String>,
    pub(super) request_id: Option<String>,
}

pub(super) fn reply(state: &State, options: RunOptions, now: Timestamp, answer: Answer) -> Result<Decision, Refusal> {
    if let Some(refusal) = repeated(state, answer.request_id.as_deref()) {
        return Err(refusal);
    }
    let question = open(state, answer.interaction_id)?;
    Ok(answered(state, options, now, question, ResolutionMode::UserReply, answer))
}

/// The same request again.
pub(super) fn repeated(state: &State, request_id: Option<&str>) -> Option<Refusal> {
    let interaction_id = *state.requests.get(request_id?)?;
    Some(Refusal::Repeated { interaction_id })
}

/// The question, if it is the one that is waiting. A second answer finds it closed.
pub(super) fn open(state: &State, interaction_id: InteractionId) -> Result<&Pending, Refusal> {
    let question = state.question.as_ref().filter(|_| state.status == Some(RunStatus::WaitingUser));
    let is_open = state.canceling.is_none() && state.closing.is_none() && state.interrupting.is_none();
    // A prompt that came with an interrupt was acknowledged, and answers it first.
    let is_open = is_open && state.unsent_prompt().is_none();
    match question {
        Some(question) if question.interaction_id == interaction_id && is_open => Ok(question),
        other => {
            // One that was closed without an answer is not the open one.
            let open = other.map(|question| question.interaction_id).filter(|open| *open != interaction_id);
            Err(Refusal::Stale { asked: interaction_id, open })
        }
    }
}

/// The events and effects of an answer, from a user or a policy.
pub(super) fn answered(
    state: &State,
    options: RunOptions,
    now: Timestamp,
    question: &Pending,
    resolution_mode: ResolutionMode,
    answer: Answer,
) -> Decision {
    let Answer { interaction_id, text, files, request_id } = answer;
    let data =
        InteractionReplied { files: files.clone(), ..InteractionReplied::new(interaction_id, resolution_mode, &text) };
    let correlation = Correlation { interaction_id: Some(interaction_id), request_id, ..Correlation::default() };
    let replied = ControlEvent { correlation, ..closing::control(Level::Info, ControlData::InteractionReplied(data)) };
    let (scope, context) = (question.scope, question.context.clone());
    let given = GivenReply { interaction_id, scope, text, origin: resolution_mode.origin(), files, context };
    let disarm = Effect::DisarmTimer { interaction_id };
    match (question.scope, options.continuation) {
        // The conductor continues.
        (Scope::Step, _) => Decision {
            events: vec![replied, closing::status(RunStatus::Running)],
            opening: None,
            effects: vec![disarm],
        },
        // The turn continues.
        (Scope::Call, _) => Decision {
            events: vec![replied, closing::status(RunStatus::Running)],
            opening: None,
            effects: vec![disarm, Effect::WriteInput(given)],
        },
        // The process waits between two turns; the answer begins the next turn.
        (Scope::Turn | Scope::Prompt, Continuation::Sticky) if !state.process_ended => {
            let started = state.started.clone().map(|started| AttemptStarted { started_at: now, ..started });
            Decision {
                events: vec![replied],
                opening: started.map(|started| opening(state, started, of_reply(&given))),
                effects: vec![disarm, Effect::WriteInput(given)],
            }
        }
        (Scope::Turn | Scope::Prompt, Continuation::Resumable | Continuation::Sticky | Continuation::None) => {
            Decision {
                events: vec![replied, closing::status(RunStatus::Queued)],
                opening: None,
                effects: vec![disarm, Effect::Start { attempt: next_attempt(state) }],
            }
        }
    }
}
