//! The state of a workflow: a fold over its Log, and nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use skillrun_model::codes::Code;
use skillrun_model::delegation::SubagentStatus;
use skillrun_model::interaction::{Pending, Scope};
use skillrun_model::rasp::data::InteractionReplied;
use skillrun_model::rasp::{ControlData, Event};
use skillrun_model::status::Phase;
use skillrun_model::workflow::{
    HoldReason, ReusedStep, StepEnded, StepHeld, StepId, StepScheduled, StepState, WorkflowEnded, WorkflowStarted,
};
use skillrun_model::{InteractionId, RunId, Timestamp};

use super::question::HoldDecision;

/// The state of a workflow, according to its Log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkflowState {
    /// None before the conductor began.
    pub started: Option<WorkflowStarted>,
    /// Steps that have begun or ended, by name.
    pub steps: BTreeMap<StepId, StepProgress>,
    /// Children that work, by their runs.
    pub open: BTreeMap<RunId, (StepId, Option<u32>)>,
    /// Children that have ended, and whose end has no consequence yet, in the order of their ends.
    pub unjudged: Vec<UnjudgedChild>,
    /// The step that waits for a decision of the user, or whose decision has no consequence yet.
    pub held: Option<HeldStep>,
    /// No other step begins.
    pub is_stopped: bool,
    /// The time of the workflow is over.
    pub is_time_up: bool,
    /// Since when its children are being canceled: it was canceled, or its time is over.
    pub ending_since: Option<Timestamp>,
    pub ended: Option<WorkflowEnded>,
}

/// A child of a workflow that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnjudgedChild {
    pub run_id: RunId,
    pub step_id: StepId,
    pub item: Option<u32>,
    pub status: SubagentStatus,
}

/// A step that asks the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldStep {
    pub step_id: StepId,
    pub item: Option<u32>,
    pub why: HoldReason,
    pub interaction_id: InteractionId,
    pub answer: HeldAnswer,
}

/// What became of the question of a held step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldAnswer {
    /// The Log has the hold and not yet its question.
    NotAsked,
    Open,
    Given(String),
    /// The question was closed without an answer.
    Closed,
    /// No answer came before the deadline of the question.
    Expired,
}

/// How far a step is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepProgress {
    /// The length of the list of a step that repeats, once it is known.
    pub items: Option<u32>,
    /// The user has agreed to its beginning.
    pub is_agreed: bool,
    /// One, or one per item in their order.
    pub instances: Vec<InstanceState>,
    pub end: Option<StepEnding>,
}

/// A step that does not repeat, or one item.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InstanceState {
    /// How often it has begun.
    pub trial: u32,
    pub engine_index: u32,
    /// How often it was tried again on an engine that had been tried before.
    pub retries: u32,
    /// Its last child.
    pub child: Option<RunId>,
    pub fingerprint: String,
    pub not_before: Option<Timestamp>,
    pub begun_at: Option<Timestamp>,
    /// The user wants all items once more, and this one has not begun again.
    #[serde(default)]
    pub is_wanted_again: bool,
    pub end: Option<StepEnding>,
}

/// How a step or an item ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepEnding {
    pub state: StepState,
    pub reason: Code,
    pub child: Option<RunId>,
    pub has_output: bool,
    pub details: Option<String>,
    pub reused: Option<ReusedStep>,
    pub fingerprint: Option<String>,
    pub at: Timestamp,
    pub seq: u64,
}

impl StepProgress {
    pub fn instance(&self, item: Option<u32>) -> Option<&InstanceState> {
        self.instances.get(item.unwrap_or(0) as usize)
    }

    fn instance_mut(&mut self, item: Option<u32>) -> &mut InstanceState {
        let index = item.unwrap_or(0) as usize;
        if self.instances.len() <= index {
            self.instances.resize_with(index + 1, InstanceState::default);
        }
        &mut self.instances[index]
    }
}

impl WorkflowState {
    pub fn end_of(&self, step: &StepId) -> Option<&StepEnding> {
        self.steps.get(step)?.end.as_ref()
    }

    /// The name of a child in the Log: the same step, item and try have the same one.
    pub fn key(step: &StepId, item: Option<u32>, trial: u32) -> String {
        format!("{}#{trial}", skillrun_model::workflow::item_name(step, item))
    }

    /// Applies one more event of the Log.
    pub fn evolve(&mut self, event: &Event, data: &ControlData) {
        match data {
            ControlData::WorkflowStarted(started) => self.started = Some(started.clone()),
            ControlData::StepScheduled(step) => self.scheduled(event.ts, step),
            ControlData::StepHeld(held) => self.hold(held),
            ControlData::StepEnded(step) => self.step_ended(event, step),
            ControlData::WorkflowEnded(ended) => self.ended = Some(ended.as_ref().clone()),
            ControlData::SubagentEnded(end) => self.child_ended(end.child_run_id, end.status),
            ControlData::InteractionRequested(question) => self.asked(question),
            ControlData::InteractionReplied(reply) => self.replied(reply),
            ControlData::InteractionTimeout(timeout) => self.expired(timeout.interaction_id),
            ControlData::RunStatus(change) => self.phase_changed(event.ts, change.phase),
            ControlData::RunStarted(_)
            | ControlData::RunHeartbeat(_)
            | ControlData::RunCompleted(_)
            | ControlData::RunFailed(_)
            | ControlData::RunCanceled(_)
            | ControlData::MessageUser(_)
            | ControlData::AutoDecision(_)
            | ControlData::ArtifactCreated(_)
            | ControlData::ArtifactIndexed(_)
            | ControlData::ArtifactPreviewReady(_)
            | ControlData::ParserWarning(_)
            | ControlData::AttemptStarted(_)
            | ControlData::AttemptEnded(_)
            | ControlData::TurnUsage(_)
            | ControlData::SubagentRequested(_)
            | ControlData::SubagentStarted(_)
            | ControlData::CheckEnded(_) => {}
        }
    }

    fn phase_changed(&mut self, at: Timestamp, phase: Option<Phase>) {
        if phase == Some(Phase::Canceling) {
            self.ending_since = Some(at);
        } else if phase == Some(Phase::TimeUp) {
            self.is_time_up = true;
            self.is_stopped = true;
            self.ending_since = self.ending_since.or(Some(at));
            self.closed();
        } else if phase == Some(Phase::Closing) {
            self.closed();
        }
    }

    fn scheduled(&mut self, at: Timestamp, step: &StepScheduled) {
        let is_round = self.held.as_ref().is_some_and(|held| {
            let HeldAnswer::Given(answer) = &held.answer else { return false };
            held.step_id == step.step_id
                && held.item.is_none()
                && HoldDecision::of(held.why, answer) == Some(HoldDecision::Retry)
        });
        self.release(&step.step_id, step.item);
        let progress = self.steps.entry(step.step_id.clone()).or_default();
        if is_round {
            // The question was about all items, and so is its answer.
            for instance in &mut progress.instances {
                (instance.is_wanted_again, instance.child, instance.end) = (true, None, None);
            }
        }
        progress.items = step.items.or(progress.items);
        // Beginning at all shows that no user was asked, or agreed.
        progress.is_agreed = true;
        if step.child_run_id.is_none() {
            // The list is empty.
            return;
        }
        let instance = progress.instance_mut(step.item);
        let is_again = step.trial > 1 && step.engine_index <= instance.engine_index;
        *instance = InstanceState {
            trial: step.trial,
            engine_index: step.engine_index,
            retries: instance.retries + u32::from(is_again),
            child: step.child_run_id,
            fingerprint: step.fingerprint.clone(),
            not_before: step.not_before,
            begun_at: instance.begun_at.or(Some(at)),
            is_wanted_again: false,
            end: None,
        };
        self.unjudged.retain(|child| (&child.step_id, child.item) != (&step.step_id, step.item));
        if let Some(child) = step.child_run_id {
            self.open.insert(child, (step.step_id.clone(), step.item));
        }
    }

    fn hold(&mut self, held: &StepHeld) {
        self.held = Some(HeldStep {
            step_id: held.step_id.clone(),
            item: held.item,
            why: held.why,
            interaction_id: held.interaction_id,
            answer: HeldAnswer::NotAsked,
        });
    }

    fn asked(&mut self, question: &Pending) {
        if let Some(held) = self.held.as_mut().filter(|_| question.scope == Scope::Step) {
            held.answer = HeldAnswer::Open;
        }
    }

    fn replied(&mut self, reply: &InteractionReplied) {
        if let Some(held) = self.held.as_mut().filter(|held| held.interaction_id == reply.interaction_id) {
            held.answer = HeldAnswer::Given(reply.text.clone());
        }
    }

    /// The open question is closed without an answer.
    fn closed(&mut self) {
        self.unanswered(|_| true, HeldAnswer::Closed);
    }

    fn expired(&mut self, interaction_id: InteractionId) {
        self.unanswered(|held| held.interaction_id == interaction_id, HeldAnswer::Expired);
    }

    fn unanswered(&mut self, is_meant: impl Fn(&HeldStep) -> bool, answer: HeldAnswer) {
        let is_open = |held: &HeldStep| matches!(held.answer, HeldAnswer::NotAsked | HeldAnswer::Open);
        if let Some(held) = self.held.as_mut().filter(|held| is_open(held) && is_meant(held)) {
            held.answer = answer;
        }
    }

    fn step_ended(&mut self, event: &Event, step: &StepEnded) {
        self.release(&step.step_id, step.item);
        let progress = self.steps.entry(step.step_id.clone()).or_default();
        let ending = StepEnding {
            state: step.state,
            reason: step.reason,
            child: step.child_run_id,
            has_output: step.has_output,
            details: step.details.clone(),
            reused: step.reused.clone(),
            fingerprint: step.fingerprint.clone(),
            at: event.ts,
            seq: event.seq,
        };
        match step.item {
            Some(_) => {
                progress.items = step.items.or(progress.items);
                progress.instance_mut(step.item).end = Some(ending);
            }
            None => {
                if progress.items.is_none() {
                    progress.instance_mut(None).end = Some(ending.clone());
                }
                progress.end = Some(ending);
            }
        }
        self.is_stopped |= step.stops;
        self.unjudged.retain(|child| {
            let is_whole_step = step.item.is_none() && child.step_id == step.step_id;
            !is_whole_step && (&child.step_id, child.item) != (&step.step_id, step.item)
        });
    }

    /// The decision about a held step has had its consequence.
    fn release(&mut self, step: &StepId, item: Option<u32>) {
        // One question is asked for all items before they begin.
        self.held.take_if(|held| held.step_id == *step && (held.item.is_none() || held.item == item));
    }

    fn child_ended(&mut self, run_id: RunId, status: SubagentStatus) {
        if let Some((step_id, item)) = self.open.remove(&run_id) {
            self.unjudged.push(UnjudgedChild { run_id, step_id, item, status });
        } else if let Some(child) = self.unjudged.iter_mut().find(|child| child.run_id == run_id) {
            // A later record of the same child replaces one that says that it is detached.
            child.status = status;
        }
    }
}
