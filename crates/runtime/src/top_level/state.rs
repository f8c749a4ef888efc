//! A row of the catalog, as an agent sees the run.

use skillrun_catalog::Row;
use skillrun_model::delegation::{DelegatedRun, DelegatedState};
use skillrun_model::interaction::Pending;
use skillrun_model::{Code, RunStatus, Timestamp};

/// Characters of a title.
const TITLE_MAX: usize = 100;

pub(super) fn run(row: Row, question: Option<Pending>, now: Timestamp) -> DelegatedRun {
    let state = of_row(&row);
    // The events before a damage do not show how the run ended.
    let reason = match row.damage {
        Some(_) => Some(Code::LogLost),
        None => row.error_code.or(row.reason_code),
    };
    let end = row.ended_at.unwrap_or(now);
    let title = row.skill.or(row.title).unwrap_or_default();
    DelegatedRun {
        run_id: row.run_id,
        engine: row.engine.unwrap_or_else(|| "?".to_owned()),
        title: title.chars().take(TITLE_MAX).collect(),
        state,
        reason: reason.filter(|_| state.is_ended()),
        summary: row.last_words.filter(|_| state == DelegatedState::Completed),
        question: question.filter(|_| state == DelegatedState::NeedsOrchestrator).map(Box::new),
        elapsed_ms: row.created_at.and_then(|begin| end.millis_since(begin)).unwrap_or(0),
        reconciled: false,
        next_actions: Vec::new(),
    }
}

fn of_row(row: &Row) -> DelegatedState {
    let (Some(status), None) = (row.status, &row.damage) else { return DelegatedState::Failed };
    match status {
        RunStatus::Queued => DelegatedState::Queued,
        RunStatus::Running => DelegatedState::Running,
        RunStatus::WaitingUser => DelegatedState::NeedsOrchestrator,
        RunStatus::Succeeded => DelegatedState::Completed,
        RunStatus::Failed => match row.error_code.or(row.reason_code) {
            Some(code) if is_timeout(code) => DelegatedState::TimedOut,
            Some(_) | None => DelegatedState::Failed,
        },
        // A closed conversation is not called a success; the turns have states of their own.
        RunStatus::Closed | RunStatus::Canceled => DelegatedState::Cancelled,
    }
}

fn is_timeout(code: Code) -> bool {
    code == Code::Timeout || code == Code::InteractionWaitTimeout
}
