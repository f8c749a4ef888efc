//! An attempt was settled, or asks inside its turn.

use skillrun_model::codes::ErrorCategory;
use skillrun_model::interaction::{OnDeadline, Pending, Scope};
use skillrun_model::rasp::data::{InteractionReplied, ResolutionMode};
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::status::Continuation;
use skillrun_model::verdict::{Rule, Verdict};
use skillrun_model::{InteractionId, RunId, RunStatus, Timestamp};

use super::decision::{Decision, Effect, ProcessLeft, Refusal, SettledAttempt};
use super::options::{RunOptions, Waits};
use super::state::{GivenReply, State};
use super::{quota, recover, reply, start, timeout};
use crate::advice;
use crate::closing::{self, ControlEvent};

pub(super) fn settled(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    attempt: SettledAttempt<'_>,
) -> Result<Decision, Refusal> {
    if !state.attempt_is_open {
        return Err(Refusal::OutOfPlace);
    }
    let SettledAttempt { facts, settled, ending, artifacts, process } = attempt;
    let mut events = closing::turn_record(facts, settled, &ending, run_id, artifacts);
    let then = match state.failing {
        // What the engine wrote after the deadline does not count, unless the run was canceled.
        Some(code) if settled.verdict.run_status != RunStatus::Canceled => {
            start::failed(run_id, timeout::unanswered(code))
        }
        Some(_) | None => after_turn(state, options, run_id, now, &settled.verdict, process),
    };
    events.extend(then.events);
    // A question inside the turn ended with it.
    let disarm = state.question.iter().map(|question| Effect::DisarmTimer { interaction_id: question.interaction_id });
    let effects = disarm.chain(then.effects).collect();
    Ok(Decision { events, opening: then.opening, effects })
}

/// What follows a turn record. Recovery uses the same when the batch was cut short.
pub(super) fn after_turn(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    verdict: &Verdict,
    process: ProcessLeft,
) -> Decision {
    let mut effects = Vec::new();
    let ends_process = match (process, verdict.run_status) {
        (ProcessLeft::Living, RunStatus::WaitingUser) => false,
        (ProcessLeft::Living, _) => true,
        (ProcessLeft::Gone, _) => false,
    };
    if ends_process {
        effects.push(Effect::EndProcess);
    }
    match &verdict.pending {
        Some(pending) => {
            let question = match pending.scope {
                // The user may take any time for the next prompt.
                Scope::Prompt => pending.clone(),
                Scope::Turn | Scope::Call | Scope::Step => {
                    timed(pending.clone(), options, options.waits_after_turn(), now)
                }
            };
            if is_session_lost_again(state, verdict) {
                return start::failed(run_id, timeout::session_lost());
            }
            effects.extend(timer(&question));
            let rests = Decision { events: requested(question.clone()), opening: None, effects };
            match state.say.clone().filter(|_| verdict.rule == Rule::Interrupted) {
                Some(text) => prompted(state, options, now, &question, text, process, rests),
                None => rests,
            }
        }
        None => {
            let retry = quota::planned(verdict, options.quota_wait, now);
            let next_actions = advice::after_retry(advice::next_actions(verdict, run_id), retry);
            let ended = closing::run_ended(verdict, next_actions, state.canceling.clone(), retry);
            Decision { events: ended.into_iter().collect(), opening: None, effects }
        }
    }
}

/// Whether the session was lost for the second time in a row; `state` is that before the turn was settled, or, where a
/// batch was cut, after it.
fn is_session_lost_again(state: &State, verdict: &Verdict) -> bool {
    let is_lost = verdict.error.as_ref().is_some_and(|error| error.category == ErrorCategory::Session);
    let lost_before = if state.attempt_is_open { state.lost_sessions } else { state.lost_sessions.saturating_sub(1) };
    is_lost && lost_before > 0
}

/// The prompt that came with an interrupt is sent as soon as the run rests.
fn prompted(
    state: &State,
    options: RunOptions,
    now: Timestamp,
    question: &Pending,
    text: String,
    process: ProcessLeft,
    rests: Decision,
) -> Decision {
    let interaction_id = question.interaction_id;
    let answer = reply::Answer { interaction_id, text, files: Vec::new(), request_id: None };
    let mut then = reply::answered(state, options, now, question, ResolutionMode::UserReply, answer);
    if options.continuation == Continuation::Sticky && process == ProcessLeft::Gone {
        // The process was ended with its turn; another one gets the prompt.
        then.opening = None;
        then.effects.retain(|effect| !matches!(effect, Effect::WriteInput(_)));
        let queued = recover::queued_without_process(state);
        then.events.extend(queued.events);
        then.effects.extend(queued.effects);
    }
    let effects = rests.effects.into_iter().chain(then.effects).collect();
    Decision { effects, ..start::before(rests.events, Decision { effects: Vec::new(), ..then }) }
}

/// A question inside a turn: the attempt stays open, and its process waits.
pub(super) fn call_asked(
    state: &State,
    options: RunOptions,
    now: Timestamp,
    question: Pending,
) -> Result<Decision, Refusal> {
    let question = of_call(state, question)?;
    let question = timed(question, options, Waits::Process, now);
    let effects = timer(&question).into_iter().collect();
    Ok(Decision { events: requested(question), opening: None, effects })
}

/// A question inside a turn in auto mode: asked and answered in one step, outside of the limit for automatic decisions.
pub(super) fn call_decided(state: &State, question: Pending, text: String) -> Result<Decision, Refusal> {
    let question = of_call(state, question)?;
    let interaction_id = question.interaction_id;
    let replied = InteractionReplied::new(interaction_id, ResolutionMode::PermissionPolicy, &text);
    let given = GivenReply {
        interaction_id,
        scope: Scope::Call,
        text,
        origin: replied.resolution_mode.origin(),
        files: Vec::new(),
        context: question.context.clone(),
    };
    let correlation = Correlation { interaction_id: Some(interaction_id), ..Correlation::default() };
    let about =
        |data: ControlData| ControlEvent { correlation: correlation.clone(), ..closing::control(Level::Info, data) };
    let events =
        vec![about(ControlData::InteractionRequested(question)), about(ControlData::InteractionReplied(replied))];
    Ok(Decision { events, opening: None, effects: vec![Effect::WriteInput(given)] })
}

/// The question as the next one of the run. Only an open turn can ask inside it.
fn of_call(state: &State, question: Pending) -> Result<Pending, Refusal> {
    let is_in_place = state.status == Some(RunStatus::Running)
        && state.attempt_is_open
        && state.question.is_none()
        && state.canceling.is_none()
        && state.interrupting.is_none();
    if !is_in_place {
        return Err(Refusal::OutOfPlace);
    }
    Ok(Pending {
        interaction_id: InteractionId(state.interactions + 1),
        scope: Scope::Call,
        source_attempt: state.attempt,
        ..question
    })
}

/// The question with its deadline, which is in the Log.
fn timed(question: Pending, options: RunOptions, waits: Waits, now: Timestamp) -> Pending {
    let on_deadline = options.on_deadline(waits);
    let deadline = match on_deadline {
        OnDeadline::Wait => None,
        OnDeadline::AutoReply | OnDeadline::FailRun | OnDeadline::HoldStep => {
            Some(now.plus_nanos(u64::try_from(options.session_timeout.as_nanos()).unwrap_or(u64::MAX)))
        }
    };
    Pending { deadline, on_deadline, ..question }
}

pub(super) fn timer(question: &Pending) -> Option<Effect> {
    question.deadline.map(|at| Effect::ArmTimer { interaction_id: question.interaction_id, at })
}

fn requested(question: Pending) -> Vec<ControlEvent> {
    let correlation = Correlation { interaction_id: Some(question.interaction_id), ..Correlation::default() };
    let requested = closing::control(Level::Info, ControlData::InteractionRequested(question));
    vec![ControlEvent { correlation, ..requested }, closing::status(RunStatus::WaitingUser)]
}
