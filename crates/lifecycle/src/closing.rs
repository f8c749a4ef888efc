//! The events that open and close an attempt, in the order the contract gives them.

use skillrun_model::codes::NextAction;
use skillrun_model::rasp::data::{
    AttemptEnded, Diagnostic, Exit, RunCanceled, RunCompleted, RunFailed, RunStatusChange,
};
use skillrun_model::rasp::{Correlation, Data, Level};
use skillrun_model::verdict::Verdict;
use skillrun_model::{EndedBy, RunStatus};
use skillrun_translate::Facts;

use crate::control::ProcessExit;
use crate::settle::Settled;

/// An output larger than this does not stand in an event.
const OUTPUT_IN_EVENT: usize = 64 * 1024;

/// A control event that is still to get its place in the Log.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlEvent {
    pub level: Level,
    pub data: Data,
    pub correlation: Correlation,
}

fn control(level: Level, data: Data) -> ControlEvent {
    ControlEvent { level, data, correlation: Correlation::default() }
}

/// A change of the run's status.
pub fn status(status: RunStatus) -> ControlEvent {
    control(Level::Info, Data::RunStatus(RunStatusChange { status: Some(status), phase: None, detail: None }))
}

pub fn warning(code: skillrun_model::Code, message: String) -> ControlEvent {
    let diagnostic = Diagnostic { code, message, count: None, message_id: None, sanitized: false, spans: Vec::new() };
    control(Level::Warning, Data::ParserWarning(diagnostic))
}

/// What is written when an attempt is settled: what was noticed, usage, the turn record, and a question if there is one.
pub fn attempt_ended(
    facts: &Facts,
    settled: &Settled,
    exit: &ProcessExit,
    ended_by: Option<EndedBy>,
    elapsed_ms: Option<u64>,
) -> Vec<ControlEvent> {
    let verdict = &settled.verdict;
    let mut events: Vec<ControlEvent> =
        settled.notices.iter().map(|notice| warning(notice.code, notice.message.clone())).collect();
    if let Some(usage) = &facts.usage {
        events.push(control(Level::Info, Data::TurnUsage(usage.clone())));
    }
    let (code, signal) = match exit {
        ProcessExit::Code(code) => (Some(*code), None),
        ProcessExit::Signal(signal) => (None, Some(signal.clone())),
        ProcessExit::Unknown => (None, None),
    };
    let ended = AttemptEnded {
        terminal_status: verdict.turn,
        error_kind: verdict.error.as_ref().map(|e| e.category),
        details: verdict.error.as_ref().map(|e| e.message.clone()),
        timeout_ms: None,
        elapsed_ms,
        exit: Exit { code, signal, ended_by },
        verdict: for_event(verdict),
    };
    events.push(control(level(verdict.run_status), Data::AttemptEnded(Box::new(ended))));
    if let Some(pending) = &verdict.pending {
        let correlation = Correlation { interaction_id: Some(pending.interaction_id), ..Correlation::default() };
        let requested = control(Level::Info, Data::InteractionRequested(pending.clone()));
        events.push(ControlEvent { correlation, ..requested });
        events.push(status(RunStatus::WaitingUser));
    }
    events
}

/// The verdict without an output that is too large to stand in an event.
fn for_event(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    let bytes = verdict.output.as_ref().and_then(|o| serde_json::to_vec(o).ok()).map_or(0, |json| json.len());
    if bytes > OUTPUT_IN_EVENT {
        verdict.output = None;
        verdict.output_bytes = Some(bytes as u64);
    }
    verdict
}

fn level(status: RunStatus) -> Level {
    match status {
        RunStatus::Failed => Level::Error,
        RunStatus::Queued
        | RunStatus::Running
        | RunStatus::WaitingUser
        | RunStatus::Succeeded
        | RunStatus::Canceled => Level::Info,
    }
}

/// The last event of a run; none while it is not over.
pub fn run_ended(verdict: &Verdict, next_actions: Vec<NextAction>) -> Option<ControlEvent> {
    let reason_code = verdict.reason_code;
    let data = match verdict.run_status {
        RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser => return None,
        RunStatus::Succeeded => Data::RunCompleted(RunCompleted { reason_code, result: None }),
        RunStatus::Failed => {
            let error = verdict.error.clone()?;
            Data::RunFailed(RunFailed { reason_code, error, next_actions })
        }
        RunStatus::Canceled => Data::RunCanceled(RunCanceled { reason_code, by: None }),
    };
    Some(control(level(verdict.run_status), data))
}
