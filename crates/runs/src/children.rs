//! How a child ended, and how it stands: from its own Log alone.
//!
//! Nothing is appended to the Log of a run that has ended, so the record of a child that was detached with the end of
//! its parent stays `detached`. Views read how it really ended from the Log of the child, and say that they did.

use crate::copy::patch_path;
use crate::data_folder::{DataFolder, RunFolder};
use crate::events::read_lines;
use crate::result::{ResultFold, RunResult, finished_result};
use schemars::JsonSchema;
use serde::Serialize;
use skillrun_lifecycle::run::{ChildProgress, ChildRun, State};
use skillrun_log::{FileLog, LogError};
use skillrun_model::codes::Code;
use skillrun_model::delegation::{
    DelegatedPatch, DelegatedResult, DelegatedRun, DelegatedState, RefusalReason, SubagentEnded, SubagentStatus,
};
use skillrun_model::presenters::RunState;
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_model::{Classified, ErrorClass, RunId, RunStatus, Timestamp};

/// Longest summary in the Log of the parent.
const SUMMARY_MAX: usize = 4 * 1024;

/// What the Log of a child says.
#[derive(Debug)]
pub struct ChildLog {
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
    pub fn read(log: &FileLog, data: &DataFolder, child: &ChildRun) -> Result<Option<Self>, LogError> {
        Self::read_with(log, data, child, |_| ())
    }

    /// The same, with each event for the caller.
    pub fn read_with(
        log: &FileLog,
        data: &DataFolder,
        child: &ChildRun,
        mut each: impl FnMut(&Event),
    ) -> Result<Option<Self>, LogError> {
        let (mut state, mut fold) = (State::default(), ResultFold::default());
        let (mut at, mut deadline_at) = (child.requested_at, None);
        let read = read_lines(log, child.run_id, |line, event| {
            each(&event);
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
    pub fn ending(&self, child: &ChildRun) -> Option<SubagentEnded> {
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

    /// What the events of the child add up to.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The open question.
    pub fn question(&self) -> Option<skillrun_model::interaction::Pending> {
        self.state.question.clone()
    }
}

/// The patch of a run that has worked in a copy of a folder.
pub fn patch_of(result: &RunResult, folder: &RunFolder) -> Option<DelegatedPatch> {
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
                | RunState::FailedPartial
                | RunState::Canceled,
            )
            | None => SubagentStatus::Failed,
        },
        // A conversation cannot be a child, and the others are not ends.
        RunStatus::Closed | RunStatus::Queued | RunStatus::Running | RunStatus::WaitingUser => SubagentStatus::Failed,
    }
}

/// A child, as its parent sees it: the Log of the parent says whether it has ended, that of the child all else.
pub fn view(child: &ChildRun, log: Option<&ChildLog>, now: Timestamp) -> DelegatedRun {
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
        reconciled: false,
        next_actions: end.map(|end| end.next_actions).unwrap_or_default(),
    }
}

/// The end of a child, as a view shows it to a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnownEnd {
    pub run_id: RunId,
    pub engine: String,
    /// The name of the skill, or the beginning of the prompt.
    pub title: String,
    /// None while it has not ended.
    pub status: Option<SubagentStatus>,
    /// The record of the parent says `detached`; `status` follows from event `child_seq` of the child's own Log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reconciled: bool,
    /// The event of the child's own Log, where a view has read it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_seq: Option<u64>,
}

/// The end of a child: what its parent has recorded, or, where that is `detached`, what the child's own Log says.
pub fn known_end(log: &FileLog, data: &DataFolder, child: &ChildRun) -> KnownEnd {
    let told = match child.progress {
        ChildProgress::Requested | ChildProgress::Started => None,
        ChildProgress::Ended(status) => Some(status),
    };
    let own = reconciled(child, || ChildLog::read(log, data, child).ok().flatten());
    KnownEnd {
        run_id: child.run_id,
        engine: child.engine.clone(),
        title: child.title.clone(),
        status: own.as_ref().map(|end| end.status).or(told),
        reconciled: own.is_some(),
        child_seq: own.and_then(|end| end.child_seq),
    }
}

/// How a detached child has ended; none where its parent has recorded another state, or it still works.
fn reconciled(child: &ChildRun, log: impl FnOnce() -> Option<ChildLog>) -> Option<SubagentEnded> {
    match child.progress {
        ChildProgress::Ended(SubagentStatus::Detached) => log()?.ending(child),
        ChildProgress::Requested
        | ChildProgress::Started
        | ChildProgress::Ended(
            SubagentStatus::Completed | SubagentStatus::Failed | SubagentStatus::TimedOut | SubagentStatus::Cancelled,
        ) => None,
    }
}

/// The result of a child that has ended.
pub fn result(child: &ChildRun, log: Option<&ChildLog>, now: Timestamp) -> Result<DelegatedResult, RefusalReason> {
    let mut run = view(child, log, now);
    if !run.state.is_ended() {
        return Err(RefusalReason::WrongState);
    }
    if run.state == DelegatedState::Detached
        && let Some(end) = log.and_then(|log| log.ending(child))
    {
        run.state = end.status.into();
        run.reconciled = true;
        (run.reason, run.summary, run.elapsed_ms) = (Some(end.reason), end.summary, end.elapsed_ms);
        run.next_actions = end.next_actions;
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
