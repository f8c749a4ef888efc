//! A question is answered. The answer is on disk before the engine gets it.

use skillrun_model::interaction::{Pending, Scope};
use skillrun_model::rasp::data::{InteractionReplied, ResolutionMode};
use skillrun_model::rasp::{Correlation, Data, Level};
use skillrun_model::status::Continuation;
use skillrun_model::{InteractionId, RunStatus};

use super::decision::{Decision, Effect, Refusal};
use super::options::RunOptions;
use super::start::next_attempt;
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

pub(super) fn reply(state: &State, options: RunOptions, answer: Answer) -> Result<Decision, Refusal> {
    if let Some(refusal) = repeated(state, answer.request_id.as_deref()) {
        return Err(refusal);
    }
    let question = open(state, answer.interaction_id)?;
    Ok(answered(state, options, question, ResolutionMode::UserReply, answer))
}

/// The same request again.
pub(super) fn repeated(state: &State, request_id: Option<&str>) -> Option<Refusal> {
    let interaction_id = *state.requests.get(request_id?)?;
    Some(Refusal::Repeated { interaction_id })
}

/// The question, if it is the one that waits. Whoever comes second finds it closed.
pub(super) fn open(state: &State, interaction_id: InteractionId) -> Result<&Pending, Refusal> {
    let question = state.question.as_ref().filter(|_| state.status == Some(RunStatus::WaitingUser));
    match question {
        Some(question) if question.interaction_id == interaction_id && state.canceling.is_none() => Ok(question),
        other => Err(Refusal::Stale { open: other.map(|question| question.interaction_id) }),
    }
}

/// The events and effects of an answer, whoever gave it.
pub(super) fn answered(
    state: &State,
    options: RunOptions,
    question: &Pending,
    resolution_mode: ResolutionMode,
    answer: Answer,
) -> Decision {
    let Answer { interaction_id, text, files, request_id } = answer;
    let data = InteractionReplied { interaction_id, resolution_mode, text: text.clone(), files: files.clone() };
    let correlation = Correlation { interaction_id: Some(interaction_id), request_id, ..Correlation::default() };
    let replied = ControlEvent { correlation, ..closing::control(Level::Info, Data::InteractionReplied(data)) };
    let given = GivenReply { interaction_id, scope: question.scope, text, files };
    let (status, go_on) = match (question.scope, options.continuation) {
        // The process waits, in the turn or between two.
        (Scope::Call, _) | (Scope::Turn, Continuation::Sticky) => (RunStatus::Running, Effect::WriteInput(given)),
        (Scope::Turn, Continuation::Resumable | Continuation::None) => {
            (RunStatus::Queued, Effect::Enqueue { attempt: next_attempt(state) })
        }
    };
    let effects = vec![Effect::DisarmTimer { interaction_id }, go_on];
    Decision { events: vec![replied, closing::status(status)], effects, attempt: None }
}
