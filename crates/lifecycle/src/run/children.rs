//! Children: runs that the open turn of a run has asked for. Each is in the Log before it is made, and its end is in the
//! Log before the end of its parent.

use serde::{Deserialize, Serialize};
use skillrun_model::codes::Code;
use skillrun_model::delegation::{OnParentEnd, SubagentEnded, SubagentRequested, SubagentStarted, SubagentStatus};
use skillrun_model::rasp::data::TextBlob;
use skillrun_model::rasp::{ControlData, Event, Level};
use skillrun_model::status::Phase;
use skillrun_model::{AttemptNumber, RunId, Timestamp};

use super::decision::{Decision, Effect, Refusal};
use super::options::RunOptions;
use super::state::State;
use crate::closing::{self, ControlEvent};

/// What a run knows of one of its children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildRun {
    pub run_id: RunId,
    pub key: String,
    pub engine: String,
    /// The name of its skill, or the beginning of its prompt.
    pub title: String,
    /// The attempt that has asked for it.
    pub attempt: AttemptNumber,
    pub requested_at: Timestamp,
    pub on_parent_end: OnParentEnd,
    pub timeout_ms: Option<u64>,
    /// The whole request.
    pub request: TextBlob,
    /// Why it could not be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    pub progress: ChildProgress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildProgress {
    /// It is made, or will be.
    Requested,
    Started,
    Ended(SubagentStatus),
}

impl ChildRun {
    /// Its end is not in the Log of its parent.
    pub fn is_open(&self) -> bool {
        match self.progress {
            ChildProgress::Requested | ChildProgress::Started => true,
            ChildProgress::Ended(_) => false,
        }
    }

    /// A record without anything that only the Log of the child has.
    pub fn ended(&self, status: SubagentStatus, reason: Code, now: Timestamp) -> SubagentEnded {
        SubagentEnded {
            child_run_id: self.run_id,
            child_session_id: None,
            status,
            reason,
            child_seq: None,
            summary: None,
            output_ref: None,
            details: None,
            elapsed_ms: now.millis_since(self.requested_at).unwrap_or(0),
            timeout_ms: self.timeout_ms,
            deadline_at: None,
            next_actions: Vec::new(),
        }
    }
}

impl State {
    /// Children whose end is not in the Log.
    pub fn open_children(&self) -> impl Iterator<Item = &ChildRun> {
        self.children.iter().filter(|child| child.is_open())
    }

    pub fn child(&self, run: RunId) -> Option<&ChildRun> {
        self.children.iter().find(|child| child.run_id == run)
    }

    pub(super) fn child_requested(&mut self, event: &Event, asked: &SubagentRequested) {
        self.children.push(ChildRun {
            run_id: asked.child_run_id,
            key: asked.key.clone(),
            engine: asked.engine.clone(),
            title: asked.title.clone(),
            attempt: event.attempt_number,
            requested_at: event.ts,
            on_parent_end: asked.on_parent_end,
            timeout_ms: asked.timeout_ms,
            request: asked.request.clone(),
            fault: None,
            progress: ChildProgress::Requested,
        });
    }

    pub(super) fn child_progressed(&mut self, run: RunId, progress: ChildProgress) {
        if let Some(child) = self.children.iter_mut().find(|child| child.run_id == run) {
            child.progress = progress;
        }
    }
}

/// The open turn asks for a child.
pub(super) fn requested(state: &State, options: RunOptions, asked: SubagentRequested) -> Result<Decision, Refusal> {
    // A call that the engine has repeated gets the same child, also if the turn can ask for no other.
    let is_same = |child: &&ChildRun| child.attempt == state.attempt && child.key == asked.key;
    if let Some(child) = state.children.iter().find(is_same) {
        return Err(Refusal::RepeatedChild { child: child.run_id });
    }
    if !state.attempt_is_open || state.is_ending() || state.interrupting.is_some() {
        return Err(Refusal::NoTurnForChild { status: state.status });
    }
    let Some(limit) = options.max_children else { return Err(Refusal::NoDelegation) };
    if state.open_children().count() >= limit as usize {
        return Err(Refusal::TooManyChildren { limit });
    }
    let effects = vec![Effect::MakeChild { child: asked.child_run_id }];
    Ok(Decision { effects, ..noted(ControlData::SubagentRequested(asked)) })
}

/// The children of an earlier owner may not have been made, or have no owner.
pub(super) fn made_again(state: &State) -> impl Iterator<Item = Effect> {
    let is_over = state.is_over();
    state.open_children().filter(move |_| !is_over).map(|child| Effect::MakeChild { child: child.run_id })
}

/// The child exists.
pub(super) fn started(state: &State, child_run_id: RunId) -> Decision {
    match state.child(child_run_id).map(|child| child.progress) {
        Some(ChildProgress::Requested) => noted(ControlData::SubagentStarted(SubagentStarted { child_run_id })),
        Some(ChildProgress::Started | ChildProgress::Ended(_)) | None => Decision::default(),
    }
}

/// The child has ended, or is no longer controlled.
pub(super) fn ended(state: &State, end: SubagentEnded) -> Decision {
    let is_news = match state.child(end.child_run_id).map(|child| child.progress) {
        Some(ChildProgress::Requested | ChildProgress::Started) => true,
        // How it really ended was found out later.
        Some(ChildProgress::Ended(SubagentStatus::Detached)) => end.status != SubagentStatus::Detached,
        Some(ChildProgress::Ended(_)) | None => false,
    };
    if is_news { noted(ControlData::SubagentEnded(end)) } else { Decision::default() }
}

fn noted(data: ControlData) -> Decision {
    Decision { events: vec![closing::control(Level::Info, data)], ..Decision::default() }
}

/// The end of a run waits for the ends of its children: it is taken out of the decision if the events before it, or the
/// state, say that it follows. If they do not, the children are recorded as detached before it, so that no run ever ends
/// with a child of which its Log says nothing.
pub(super) fn hold_end(state: &State, now: Timestamp, mut decision: Decision) -> Decision {
    let Some(end) = decision.events.iter().position(|event| event.data.end().is_some()) else { return decision };
    if state.open_children().next().is_none() {
        return decision;
    }
    if state.lacks_end() || decision.events[..end].iter().any(is_reason) {
        decision.events.truncate(end);
        return decision;
    }
    if state.is_unfinished {
        // The rest of a batch that was cut short. It is written with the end: a part of it, such as the question of a
        // process that is gone, would complete the turn record, and the end would not follow any more.
        decision.events.clear();
        decision.effects.retain(|effect| *effect == Effect::EndProcess);
        return decision;
    }
    let detached = |child: &ChildRun| {
        let end = child.ended(SubagentStatus::Detached, Code::ParentEnded, now);
        closing::control(Level::Warning, ControlData::SubagentEnded(end))
    };
    let records: Vec<ControlEvent> = state.open_children().map(detached).collect();
    decision.events.splice(end..end, records);
    decision
}

/// Whether the end of a run follows from this event.
fn is_reason(event: &ControlEvent) -> bool {
    if let ControlData::RunStatus(change) = &event.data {
        matches!(change.phase, Some(Phase::Canceling | Phase::Closing))
    } else if let ControlData::InteractionTimeout(timeout) = &event.data {
        timeout.fails_with.is_some()
    } else {
        matches!(event.data, ControlData::AttemptEnded(_))
    }
}
