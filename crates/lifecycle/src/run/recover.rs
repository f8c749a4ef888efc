//! Decides about a run whose owner is gone: no run stays `running` without an owner.
//!
//! An owner can die while a batch is being written, so that only its first events are in the Log. The missing events
//! are written first, by [`completed`]; then the run is in the state of a complete decision, and continues from there.

use skillrun_model::codes::Code;
use skillrun_model::interaction::{Pending, Scope};
use skillrun_model::rasp::data::{AttemptStarted, InteractionReplied, ResolutionMode, RunCanceled, RunStatusChange};
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::status::{Continuation, Phase};
use skillrun_model::verdict::Rule;
use skillrun_model::{RunId, RunStatus, Timestamp};

use super::decision::{Decision, Effect, ProcessLeft, SessionLeft};
use super::options::RunOptions;
use super::settled::{after_turn, timer};
use super::start::{failed, next_attempt, of_reply, opening};
use super::state::{GivenReply, State};
use super::timeout;
use super::{checks, children, close};
use crate::closing::{self, ControlEvent};

/// The state of the last attempt's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostState {
    /// No host has claimed the attempt.
    NoClaim,
    Alive,
    /// The host left a record.
    Ended,
    /// The host is gone without a record.
    Lost,
}

/// Decides how a run continues after a restart. `session` matters where a sticky process is gone.
pub fn recover(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    found: HostState,
    session: SessionLeft,
) -> Decision {
    if state.workflow.is_some() {
        // What comes next follows from the plan. Its children may not have been made, or have no owner.
        let effects = children::made_again(state).collect();
        return Decision { events: rest_of_acceptance(state), effects, ..Decision::default() };
    }
    let decision = children::hold_end(state, now, decided(state, options, run_id, now, found, session));
    let mut decision = checks::hold_end(state, options, run_id, decision);
    decision.effects.extend(children::made_again(state));
    decision
}

/// A workflow whose first batch was cut.
fn rest_of_acceptance(state: &State) -> Vec<ControlEvent> {
    let is_cut = state.status.is_none() && state.last_seq > 0;
    is_cut.then(|| closing::status(RunStatus::Queued)).into_iter().collect()
}

fn decided(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    found: HostState,
    session: SessionLeft,
) -> Decision {
    if let Some(decision) = completed(state, options, run_id, now, found, session) {
        return decision;
    }
    let Some(status) = state.status else { return Decision::default() };
    let only = |effect: Effect| Decision { effects: vec![effect], ..Decision::default() };
    match status {
        RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled => Decision::default(),
        RunStatus::Queued => only(Effect::Start { attempt: next_attempt(state) }),
        RunStatus::Running => running(state, options, found),
        RunStatus::WaitingUser => waiting(state, options, run_id, now, (found, session)),
    }
}

/// The rest of a batch that was cut short; none when the last batch is complete.
fn completed(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    found: HostState,
    session: SessionLeft,
) -> Option<Decision> {
    let Some(status) = state.status else {
        // Without a first event nothing was ever accepted.
        return (state.last_seq > 0).then(|| queued(state));
    };
    if status.is_terminal() {
        return None;
    }
    let verdict = state.verdict.as_ref().filter(|_| state.is_unfinished);
    if !state.attempt_is_open {
        // The turn record is there, or no turn will end any more. Nothing is settled again. A cancel that came after
        // the turn and before its end was written has canceled the run, as if the owner had not died.
        if let Some(by) = &state.canceling {
            return Some(canceled(by.clone()));
        }
        if state.closing.is_some() {
            let events = vec![close::closed()];
            return Some(ending_process(Decision { events, opening: None, effects: Vec::new() }));
        }
        if let Some(code) = state.failing.filter(|_| verdict.is_none_or(|v| v.run_status != RunStatus::Canceled)) {
            return Some(ending_process(failed(run_id, timeout::unanswered(code))));
        }
    }
    if let Some(verdict) = verdict {
        let process = if found == HostState::Alive { ProcessLeft::Living } else { ProcessLeft::Gone };
        let mut then = after_turn(state, options, run_id, now, verdict, process);
        if let Some(question) = &state.question {
            // The question was asked; only the status is missing.
            then.events = vec![closing::status(RunStatus::WaitingUser)];
            then.opening = None;
            then.effects.retain(|effect| *effect == Effect::EndProcess);
            then.effects.extend(timer(question));
            if let Some(text) = state.say.clone().filter(|_| verdict.rule == Rule::Interrupted) {
                return Some(and_then(then, say(state, options, run_id, now, (found, session), question, text)));
            }
        }
        if process == ProcessLeft::Gone
            && options.continuation == Continuation::Sticky
            && !answers(&then)
            && let Some(question) = state.question.clone().or_else(|| asked_by(&then))
        {
            // No process waits for the answer; the owner that settled the turn would have recorded that next.
            let gone = timeout::without_process(options, run_id, &question, session, state.process_ended);
            then.events.extend(gone.events);
            then.effects.extend(gone.effects);
        }
        return Some(then);
    }
    if let (Some(text), Some(question)) = (state.unsent_prompt(), &state.question) {
        return Some(say(state, options, run_id, now, (found, session), question, text.to_owned()));
    }
    match (status, &state.question, &state.reply) {
        (RunStatus::Running, Some(question), _) => {
            let mut then = running(state, options, found);
            then.events.push(closing::status(RunStatus::WaitingUser));
            then.effects.extend(timer(question));
            Some(then)
        }
        (RunStatus::WaitingUser, None, Some(reply)) if state.failing.is_none() => {
            Some(replied(state, options, run_id, now, (found, session), reply))
        }
        (RunStatus::Running, None, reply) if !state.attempt_is_open => match reply {
            Some(reply) => Some(replied(state, options, run_id, now, (found, session), reply)),
            // The attempt was about to begin, and begins now.
            None => Some(queued(state)),
        },
        _ => None,
    }
}

/// Whether a decision answers the question that it asks: with the prompt that came with an interrupt.
fn answers(decision: &Decision) -> bool {
    decision.events.iter().any(|event| matches!(event.data, ControlData::InteractionReplied(_)))
}

/// The question that a decision asks.
fn asked_by(decision: &Decision) -> Option<Pending> {
    decision.events.iter().find_map(|event| {
        let ControlData::InteractionRequested(question) = &event.data else { return None };
        Some(question.clone())
    })
}

fn queued(state: &State) -> Decision {
    Decision {
        events: vec![closing::status(RunStatus::Queued)],
        opening: None,
        effects: vec![Effect::Start { attempt: next_attempt(state) }],
    }
}

/// The same where the process that should receive the answer is gone. The code that starts another must know: the files
/// that the previous process left of the attempt are set aside.
pub(super) fn queued_without_process(state: &State) -> Decision {
    let detail = "the process that should receive the answer has ended; a new process is started and loads its session"
        .to_owned();
    let change = RunStatusChange::new(Some(RunStatus::Queued), Some(Phase::ProcessEnded), Some(detail));
    Decision { events: vec![closing::control(Level::Warning, ControlData::RunStatus(change))], ..queued(state) }
}

/// The answer is in the Log, and its consequences are not.
fn replied(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    (found, session): (HostState, SessionLeft),
    reply: &GivenReply,
) -> Decision {
    match (reply.scope, options.continuation) {
        (Scope::Call, _) => {
            let mut then = running(state, options, found);
            then.events.push(closing::status(RunStatus::Running));
            then
        }
        (Scope::Turn | Scope::Prompt, Continuation::Sticky) if state.process_ended => queued(state),
        (Scope::Turn | Scope::Prompt, Continuation::Sticky) => match (&state.started, found) {
            (Some(started), HostState::Alive) => Decision {
                events: Vec::new(),
                opening: Some(opening(state, AttemptStarted { started_at: now, ..started.clone() }, of_reply(reply))),
                effects: vec![Effect::WriteInput(reply.clone())],
            },
            (Some(_) | None, _) => match session {
                SessionLeft::Loadable => queued_without_process(state),
                // The next prompt of a run at rest may begin another session.
                SessionLeft::Lost if reply.scope == Scope::Prompt => queued_without_process(state),
                SessionLeft::Lost => failed(run_id, timeout::session_lost()),
            },
        },
        (Scope::Turn | Scope::Prompt, Continuation::Resumable | Continuation::None) => queued(state),
        // A workflow has no turn; its conductor derives what follows.
        (Scope::Step, _) => Decision::default(),
    }
}

/// The run rests after an interrupt, and the prompt that came with it is not in the Log as a reply.
fn say(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    found: (HostState, SessionLeft),
    question: &Pending,
    text: String,
) -> Decision {
    let interaction_id = question.interaction_id;
    let data = InteractionReplied::new(interaction_id, ResolutionMode::UserReply, &text);
    let correlation = Correlation { interaction_id: Some(interaction_id), ..Correlation::default() };
    let sent = ControlEvent { correlation, ..closing::control(Level::Info, ControlData::InteractionReplied(data)) };
    let (scope, origin, files) = (question.scope, ResolutionMode::UserReply.origin(), Vec::new());
    let reply = GivenReply { interaction_id, scope, text, origin, files, context: question.context.clone() };
    let then = replied(state, options, run_id, now, found, &reply);
    and_then(Decision { events: vec![sent], ..Decision::default() }, then)
}

/// Both decisions, one after the other.
fn and_then(mut first: Decision, then: Decision) -> Decision {
    first.events.extend(then.events);
    first.effects.extend(then.effects);
    Decision { opening: then.opening, ..first }
}

fn canceled(by: String) -> Decision {
    let canceled = RunCanceled { reason_code: Code::Canceled, by: Some(by) };
    let ended = closing::control(Level::Info, ControlData::RunCanceled(canceled));
    ending_process(Decision { events: vec![ended], opening: None, effects: Vec::new() })
}

/// A process may be waiting between two turns.
fn ending_process(mut decision: Decision) -> Decision {
    decision.effects.insert(0, Effect::EndProcess);
    decision
}

fn running(state: &State, options: RunOptions, found: HostState) -> Decision {
    let attempt = state.attempt;
    let mut effects = match found {
        // Nothing was started, and nothing will be started.
        HostState::NoClaim if state.canceling.is_some() || state.failing.is_some() => Vec::new(),
        // The claim is the fence: only one process can take it now.
        HostState::NoClaim => vec![Effect::Start { attempt }],
        HostState::Alive | HostState::Ended | HostState::Lost => Vec::new(),
    };
    if found == HostState::Alive {
        // The host refuses an answer that it has already written, so sending it again does no harm. A process that was
        // started with the answer has not had it written to its input.
        let is_written = |reply: &&GivenReply| match (reply.scope, options.continuation) {
            (Scope::Call, _) | (Scope::Turn | Scope::Prompt, Continuation::Sticky) => true,
            (Scope::Turn | Scope::Prompt, Continuation::Resumable | Continuation::None) | (Scope::Step, _) => false,
        };
        effects.extend(state.reply.as_ref().filter(is_written).cloned().map(Effect::WriteInput));
        if state.canceling.is_some() || state.failing.is_some() {
            effects.push(Effect::EndProcess);
        } else if state.interrupting.is_some() {
            effects.push(Effect::InterruptTurn);
        }
    }
    Decision { effects, ..Decision::default() }
}

fn waiting(
    state: &State,
    options: RunOptions,
    run_id: RunId,
    now: Timestamp,
    (found, session): (HostState, SessionLeft),
) -> Decision {
    // A question that was closed without an answer leaves an attempt that is being ended, and so does a cancel.
    let open = state.question.as_ref().filter(|_| state.canceling.is_none() && state.interrupting.is_none());
    let Some(question) = open else { return running(state, options, found) };
    let arm = timer(question);
    let effects = match (state.attempt_is_open, options.continuation, found) {
        // A question inside a turn, or of a process that waits between two turns.
        (true, _, HostState::Alive) | (false, Continuation::Sticky, HostState::Alive) => arm.into_iter().collect(),
        // The attempt is settled.
        (true, _, HostState::NoClaim | HostState::Ended | HostState::Lost) => Vec::new(),
        (false, Continuation::Sticky, HostState::NoClaim | HostState::Ended | HostState::Lost) => {
            return timeout::process_gone(state, options, run_id, now, session).unwrap_or_default();
        }
        (false, Continuation::Resumable | Continuation::None, _) => arm.into_iter().collect(),
    };
    Decision { effects, ..Decision::default() }
}
