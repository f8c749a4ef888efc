//! How a child ended, and how it stands: from its own Log alone.

use skillrun_lifecycle::run::{ChildProgress, ChildRun, State};
use skillrun_log::{FileLog, LogError};
use skillrun_model::codes::Code;
use skillrun_model::delegation::{
    DelegatedPatch, DelegatedResult, DelegatedRun, DelegatedState, RefusalReason, SubagentEnded, SubagentStatus,
};
use skillrun_model::presenters::RunState;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{Classified, ErrorClass, RunStatus, Timestamp};
use skillrun_runs::copy::patch_path;
use skillrun_runs::data_folder::{DataFolder, RunFolder};
use skillrun_runs::events::read_lines;
use skillrun_runs::result::{ResultFold, RunResult, finished_result};

/// Longest summary in the Log of the parent.
const SUMMARY_MAX: usize = 4 * 1024;

/// What the Log of a child says.
#[derive(Debug)]
pub(crate) struct ChildLog {
    state: State,
    result: Option<RunResult>,
    /// The changes of its copy of a folder.
    patch: Option<DelegatedPatch>,
    /// Of the last event.
    at: Timestamp,
    /// Of the last turn that ran out of time.
    deadline_at: Option<Timestamp>,
}

impl ChildLog {
    /// None where the child was not made.
    pub(crate) fn read(log: &FileLog, data: &DataFolder, child: &ChildRun) -> Result<Option<Self>, LogError> {
        let (mut state, mut fold) = (State::default(), ResultFold::default());
        let (mut at, mut deadline_at) = (child.requested_at, None);
        let read = read_lines(log, child.run_id, |line, event| {
            state.evolve(&event);
            fold.linked(&event, line.prev());
            at = event.ts;
            if let Data::Control(ControlData::AttemptEnded(ended)) = &event.data {
                deadline_at = ended.deadline_at;
            }
            Ok::<(), LogError>(())
        });
        match read {
            Ok(()) => {}
            Err(error) if error.class() == ErrorClass::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        if state.status.is_none() {
            return Ok(None);
        }
        let folder = data.run(child.run_id);
        let result = finished_result(fold, child.run_id, &folder);
        let patch = result.as_ref().and_then(|result| patch_of(result, &folder));
        Ok(Some(Self { state, result, patch, at, deadline_at }))
    }

    /// The record for the parent; none while the child has not ended.
    pub(crate) fn ending(&self, child: &ChildRun) -> Option<SubagentEnded> {
        let result = self.result.as_ref()?;
        let status = status_of(result);
        let reason = match status {
            SubagentStatus::Cancelled => Code::Canceled,
            SubagentStatus::Completed
            | SubagentStatus::Failed
            | SubagentStatus::TimedOut
            | SubagentStatus::Detached => {
                let completion = result.completion.map(|completion| completion.reason_code);
                result.error.as_ref().map(|error| error.code).or(completion).unwrap_or(Code::Canceled)
            }
        };
        let is_completed = status == SubagentStatus::Completed;
        let text = result.text.clone().filter(|text| !text.trim().is_empty());
        // An answer may be an output and nothing else.
        let output = || result.output.clone().map(|output| serde_json::Value::Object(output).to_string());
        let answer = text.or_else(output).filter(|_| is_completed);
        Some(SubagentEnded {
            child_session_id: self.state.session_id.as_deref().map(ToOwned::to_owned),
            child_seq: Some(self.state.last_seq),
            summary: answer.map(|text| text[..text.floor_char_boundary(SUMMARY_MAX)].to_owned()),
            output_ref: is_completed.then(|| "result.json".to_owned()),
            elapsed_ms: self.at.millis_since(child.requested_at).unwrap_or(0),
            deadline_at: self.deadline_at.filter(|_| status == SubagentStatus::TimedOut),
            next_actions: result.next_actions.clone(),
            details: result.error.as_ref().map(|error| error.message.clone()),
            ..child.ended(status, reason, self.at)
        })
    }

    /// How a child stands that has not ended for its parent.
    fn open_state(&self) -> DelegatedState {
        match self.state.status {
            Some(RunStatus::Queued) | None => DelegatedState::Queued,
            Some(RunStatus::WaitingUser) => DelegatedState::NeedsOrchestrator,
            // Its end is not in the Log of its parent yet.
            Some(
                RunStatus::Running | RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled,
            ) => DelegatedState::Running,
        }
    }

    /// The open question.
    pub(crate) fn question(&self) -> Option<skillrun_model::interaction::Pending> {
        self.state.question.clone()
    }
}

/// The patch of a run that has worked in a copy of a folder.
pub(crate) fn patch_of(result: &RunResult, folder: &RunFolder) -> Option<DelegatedPatch> {
    let path = patch_path(result.run_id);
    let indexed = result.artifacts.iter().find(|artifact| artifact.path == path)?;
    let file = folder.workspace().join(&path).to_string_lossy().into_owned();
    Some(DelegatedPatch { artifact: path, file, size: indexed.size })
}

/// How an ended run counts for its parent.
fn status_of(result: &RunResult) -> SubagentStatus {
    match result.status {
        RunStatus::Succeeded => SubagentStatus::Completed,
        RunStatus::Canceled => SubagentStatus::Cancelled,
        RunStatus::Failed => match result.error.as_ref().map(RunState::of_error) {
            Some(RunState::FailedTimeout) => SubagentStatus::TimedOut,
            Some(
                RunState::Queued
                | RunState::Running
                | RunState::WaitingAnswer
                | RunState::WaitingPrompt
                | RunState::Succeeded
                | RunState::Closed
                | RunState::Failed
                | RunState::FailedOutput
                | RunState::Canceled,
            )
            | None => SubagentStatus::Failed,
        },
        // A conversation cannot be a child, and the others are not ends.
        RunStatus::Closed | RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser => SubagentStatus::Failed,
    }
}

/// A child, as its parent sees it: the Log of the parent says whether it has ended, that of the child all else.
pub(crate) fn view(child: &ChildRun, log: Option<&ChildLog>, now: Timestamp) -> DelegatedRun {
    let ended = log.and_then(|log| log.ending(child));
    let (state, end) = match child.progress {
        ChildProgress::Requested => (DelegatedState::Queued, None),
        ChildProgress::Started => (log.map_or(DelegatedState::Queued, ChildLog::open_state), None),
        ChildProgress::Ended(SubagentStatus::Detached) => (DelegatedState::Detached, None),
        ChildProgress::Ended(status) => (DelegatedState::from(status), ended),
    };
    let question = log.filter(|_| state == DelegatedState::NeedsOrchestrator).and_then(ChildLog::question);
    let elapsed_ms =
        end.as_ref().map_or_else(|| now.millis_since(child.requested_at).unwrap_or(0), |end| end.elapsed_ms);
    DelegatedRun {
        run_id: child.run_id,
        engine: child.engine.clone(),
        title: child.title.clone(),
        state,
        reason: end.as_ref().map(|end| end.reason),
        summary: end.as_ref().and_then(|end| end.summary.clone()),
        question: question.map(Box::new),
        elapsed_ms,
        next_actions: end.map(|end| end.next_actions).unwrap_or_default(),
    }
}

/// The result of a child that has ended.
pub(crate) fn result(
    child: &ChildRun,
    log: Option<&ChildLog>,
    now: Timestamp,
) -> Result<DelegatedResult, RefusalReason> {
    let run = view(child, log, now);
    if !run.state.is_ended() {
        return Err(RefusalReason::WrongState);
    }
    let result = log.and_then(|log| log.result.as_ref()).filter(|_| run.state == DelegatedState::Completed);
    let patch = log.and_then(|log| log.patch.clone());
    Ok(DelegatedResult {
        patch,
        text: result.and_then(|result| result.text.clone()),
        output: result.and_then(|result| result.output.clone()).map(serde_json::Value::Object),
        run,
    })
}
