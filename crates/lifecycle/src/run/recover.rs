//! What is to be done about a run whose owner is gone: nothing stays `running` without one.

use skillrun_model::status::Continuation;
use skillrun_model::{RunId, RunStatus, Timestamp};

use super::decision::{Decision, Effect, ProcessLeft};
use super::options::RunOptions;
use super::settled::{after_turn, timer};
use super::start::{failed, next_attempt};
use super::state::State;
use super::timeout;

/// What is found of the last attempt's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nobody has claimed it.
    NoClaim,
    Alive,
    /// It left a record.
    Ended,
    /// It is gone without one.
    Lost,
}

/// Decides how a run goes on after a restart.
pub fn recover(state: &State, options: RunOptions, run_id: RunId, now: Timestamp, found: Found) -> Decision {
    let Some(status) = state.status else { return Decision::default() };
    let only = |effect: Effect| Decision { effects: vec![effect], ..Decision::default() };
    if let Some(verdict) = state.verdict.as_ref().filter(|_| state.is_unfinished) {
        // The turn record is there and what follows is not. It is never settled again.
        if let Some(code) = state.failing.filter(|_| verdict.run_status != RunStatus::Canceled) {
            return failed(run_id, timeout::unanswered(code));
        }
        let process = if found == Found::Alive { ProcessLeft::Living } else { ProcessLeft::Gone };
        return after_turn(options, run_id, now, verdict, process);
    }
    match status {
        RunStatus::Succeeded | RunStatus::Failed | RunStatus::Canceled => only(Effect::WriteResult),
        RunStatus::Queued => only(Effect::Enqueue { attempt: next_attempt(state) }),
        RunStatus::Running => running(state, found),
        RunStatus::WaitingUser => waiting(state, options, run_id, found),
    }
}

fn running(state: &State, found: Found) -> Decision {
    let attempt = state.attempt;
    let mut effects = match found {
        // The claim is the fence: whoever takes it now is the only one.
        Found::NoClaim => vec![Effect::Enqueue { attempt }],
        Found::Alive => vec![Effect::Adopt { attempt }],
        Found::Ended | Found::Lost => vec![Effect::Settle { attempt }],
    };
    if found == Found::Alive {
        // The host refuses what it has written, so it does no harm to send it again.
        effects.extend(state.reply.clone().map(Effect::WriteInput));
        if state.canceling.is_some() || state.failing.is_some() {
            effects.push(Effect::EndProcess);
        }
    }
    Decision { effects, ..Decision::default() }
}

fn waiting(state: &State, options: RunOptions, run_id: RunId, found: Found) -> Decision {
    // A question that was closed without an answer leaves an attempt that is being ended.
    let Some(question) = &state.question else { return running(state, found) };
    let arm = timer(question);
    let attempt = state.attempt;
    let effects = match (state.attempt_is_open, options.continuation, found) {
        // A question inside a turn, or of a process that waits between two.
        (true, _, Found::Alive) | (false, Continuation::Sticky, Found::Alive) => {
            [Some(Effect::Adopt { attempt }), arm].into_iter().flatten().collect()
        }
        (true, _, Found::NoClaim | Found::Ended | Found::Lost) => vec![Effect::Settle { attempt }],
        (false, Continuation::Sticky, Found::NoClaim | Found::Ended | Found::Lost) => {
            return timeout::process_gone(state, options, run_id).unwrap_or_default();
        }
        (false, Continuation::Resumable | Continuation::None, _) => arm.into_iter().collect(),
    };
    Decision { effects, ..Decision::default() }
}
