//! The events that open and close an attempt, in the order of contract R6.17.

use skillrun_model::codes::{ErrorCategory, NextAction};
use skillrun_model::rasp::data::{
    AttemptEnded, Diagnostic, Exit, PlannedRetry, RunCanceled, RunCompleted, RunFailed, TurnLimit,
};
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::verdict::{Rule, Verdict};
use skillrun_model::{EndedBy, RunId, RunStatus, Timestamp};
use skillrun_translate::Facts;

use crate::advice;
use crate::control::ProcessExit;
use crate::reading::GateNotice;
use crate::settle::Settled;

/// An output larger than this is not included in an event.
pub const OUTPUT_IN_EVENT: u64 = 64 * 1024;

/// A control event that does not have its place in the Log yet.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlEvent {
    pub level: Level,
    pub data: ControlData,
    pub correlation: Correlation,
}

pub(crate) fn control(level: Level, data: ControlData) -> ControlEvent {
    ControlEvent { level, data, correlation: Correlation::default() }
}

/// A change of the run's status.
pub fn status(status: RunStatus) -> ControlEvent {
    control(Level::Info, ControlData::status(status))
}

pub fn warning(code: skillrun_model::Code, message: String) -> ControlEvent {
    noticed(&GateNotice { code, message, spans: Vec::new() })
}

/// A warning about these bytes.
fn noticed(notice: &GateNotice) -> ControlEvent {
    let GateNotice { code, message, spans } = notice.clone();
    control(Level::Warning, ControlData::ParserWarning(Diagnostic { spans, ..Diagnostic::new(code, message) }))
}

/// How the process of an attempt came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEnding {
    pub exit: ProcessExit,
    pub ended_by: Option<EndedBy>,
    pub elapsed_ms: Option<u64>,
    /// The limit that was reached, if any.
    pub limit: Option<TurnLimit>,
    /// Its length, if it is a time.
    pub timeout_ms: Option<u64>,
    /// When this time was over.
    pub deadline_at: Option<Timestamp>,
    /// The hash of the host's record, if it left one.
    pub host_hash: Option<String>,
}

impl ProcessEnding {
    /// Without what only the host's record can tell.
    pub fn new(exit: ProcessExit, ended_by: Option<EndedBy>) -> Self {
        let limit = ended_by.and_then(limit_of);
        Self { exit, ended_by, elapsed_ms: None, limit, timeout_ms: None, deadline_at: None, host_hash: None }
    }
}

/// The limit at which a process was ended, if it was ended at one.
pub fn limit_of(ended_by: EndedBy) -> Option<TurnLimit> {
    match ended_by {
        EndedBy::HardTimeout => Some(TurnLimit::HardSec),
        EndedBy::Stall => Some(TurnLimit::StallSec),
        EndedBy::WaitTimeout => Some(TurnLimit::SessionTimeoutSec),
        EndedBy::Budget => Some(TurnLimit::MaxBytes),
        EndedBy::MemoryLimit => Some(TurnLimit::MemoryBytes),
        EndedBy::ProcessLimit => Some(TurnLimit::Processes),
        EndedBy::CpuLimit => Some(TurnLimit::CpuSec),
        EndedBy::DiskLimit => Some(TurnLimit::DiskBytes),
        EndedBy::Exited
        | EndedBy::Linger
        | EndedBy::Canceled
        | EndedBy::Interrupted
        | EndedBy::HostError
        | EndedBy::HostLost
        | EndedBy::NotStarted => None,
    }
}

/// The events of a settled attempt: notices, usage, the turn record, and a question if there is one.
pub fn attempt_ended(facts: &Facts, settled: &Settled, ending: &ProcessEnding, run: RunId) -> Vec<ControlEvent> {
    let mut events = turn_record(facts, settled, ending, run, Vec::new());
    if let Some(pending) = &settled.verdict.pending {
        let correlation = Correlation { interaction_id: Some(pending.interaction_id), ..Correlation::default() };
        let requested = control(Level::Info, ControlData::InteractionRequested(pending.clone()));
        events.push(ControlEvent { correlation, ..requested });
        events.push(status(RunStatus::WaitingUser));
    }
    events
}

/// Notices, usage, artifacts, and the turn record.
pub(crate) fn turn_record(
    facts: &Facts,
    settled: &Settled,
    ending: &ProcessEnding,
    run: RunId,
    artifacts: Vec<ControlEvent>,
) -> Vec<ControlEvent> {
    let verdict = &settled.verdict;
    let mut events: Vec<ControlEvent> = settled.notices.iter().map(noticed).collect();
    if let Some(usage) = &facts.usage {
        events.push(control(Level::Info, ControlData::TurnUsage(usage.clone())));
    }
    let (code, signal) = match &ending.exit {
        ProcessExit::Code(code) => (Some(*code), None),
        ProcessExit::Signal(signal) => (None, Some(signal.clone())),
        ProcessExit::Unknown => (None, None),
    };
    // A cancel and an interrupt are not errors of the run, but the turn record still states why the turn was
    // interrupted.
    let canceled = verdict.run_status == RunStatus::Canceled || verdict.rule == Rule::Interrupted;
    let reason_code = verdict.reason_code;
    let ended = AttemptEnded {
        terminal_status: verdict.turn,
        error_kind: verdict.error.as_ref().map(|e| e.category).or(canceled.then_some(ErrorCategory::Canceled)),
        details: verdict
            .error
            .as_ref()
            .map(|e| e.message.clone())
            .or(canceled.then(|| reason_code.summary().to_owned())),
        limit: ending.limit,
        timeout_ms: ending.timeout_ms,
        deadline_at: ending.deadline_at,
        elapsed_ms: ending.elapsed_ms,
        next_actions: advice::after_turn(verdict, run),
        exit: Exit { code, signal, ended_by: ending.ended_by },
        host_hash: ending.host_hash.clone(),
        verdict: for_event(verdict),
    };
    events.extend(artifacts);
    events.push(control(level(verdict.run_status), ControlData::AttemptEnded(Box::new(ended))));
    events
}

/// Counts the written bytes and keeps nothing.
#[derive(Default)]
struct Counted(u64);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The verdict without an output that is too large for an event.
fn for_event(verdict: &Verdict) -> Verdict {
    let mut size = Counted::default();
    let counted = serde_json::to_writer(&mut size, &verdict.output);
    let fits = counted.is_ok() && size.0 <= OUTPUT_IN_EVENT;
    if fits { verdict.clone() } else { Verdict { output: None, output_bytes: Some(size.0), ..verdict.clone() } }
}

fn level(status: RunStatus) -> Level {
    match status {
        RunStatus::Failed => Level::Error,
        RunStatus::Queued
        | RunStatus::Running
        | RunStatus::WaitingUser
        | RunStatus::Succeeded
        | RunStatus::Closed
        | RunStatus::Canceled => Level::Info,
    }
}

/// The last event of a run; none while it is not over. `by`: who canceled it, where that is known. `retry`: the run
/// that takes its place.
pub fn run_ended(
    verdict: &Verdict,
    next_actions: Vec<NextAction>,
    by: Option<String>,
    retry: Option<PlannedRetry>,
) -> Option<ControlEvent> {
    let reason_code = verdict.reason_code;
    let data = match verdict.run_status {
        RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser => return None,
        RunStatus::Succeeded | RunStatus::Closed => {
            let warnings = verdict.warnings.clone();
            ControlData::RunCompleted(RunCompleted { warnings, ..RunCompleted::new(reason_code) })
        }
        RunStatus::Failed => {
            let error = verdict.error.clone()?;
            ControlData::RunFailed(RunFailed { reason_code, error, next_actions, retry })
        }
        RunStatus::Canceled => ControlData::RunCanceled(RunCanceled { reason_code, by }),
    };
    Some(control(level(verdict.run_status), data))
}
