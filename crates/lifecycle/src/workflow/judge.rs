//! What the end of a child means for its step: the step is ready, it begins again, the user decides, or it has ended.
//!
//! Only recorded facts count: the end event of the child, its validated output, its files. No text of an agent does.

use std::time::Duration;

use skillrun_model::Timestamp;
use skillrun_model::codes::Code;
use skillrun_model::delegation::SubagentStatus;
use skillrun_model::rasp::{ControlData, Level};
use skillrun_model::workflow::{AskMoment, HoldReason, OnStepFailure, RetryCause, StepEnded, StepState, WorkflowStep};

use super::next::{Beginning, ConductorStep, WorkflowContext, about, end_without_run, stops};
use super::question::{HoldDecision, hold};
use super::state::{HeldAnswer, InstanceState, UnjudgedChild};
use crate::run::Decision;

/// The first pause before a step is tried again; it doubles with each try.
const PAUSE: Duration = Duration::from_secs(5);
/// The same for quota whose reset is not known.
const QUOTA_PAUSE: Duration = Duration::from_secs(60);
const PAUSE_MAX: Duration = Duration::from_secs(3600);

/// What a child has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last event of its Log; none where it was not made.
    pub child_seq: Option<u64>,
    /// Of its end.
    pub reason: Code,
    /// Why it did not succeed.
    pub details: Option<String>,
    pub output: CheckpointOutput,
    /// The output says so itself, in a field that its schema declares.
    pub is_partial: bool,
    /// Required files that are not there.
    pub missing: Vec<String>,
    /// Why it may be tried again.
    pub cause: Option<TrialCause>,
    /// When the quota is available again.
    pub reset_at: Option<Timestamp>,
}

/// The output of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointOutput {
    /// No schema describes it.
    NotDeclared,
    Valid,
    /// In one sentence, why not.
    Invalid(String),
}

/// Why a step did not become ready, as far as trying again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialCause {
    Retry(RetryCause),
    /// The next engine may be installed.
    EngineMissing,
}

impl TrialCause {
    /// Another engine may not have this problem.
    fn is_of_engine(self) -> bool {
        match self {
            Self::EngineMissing | Self::Retry(RetryCause::Quota | RetryCause::Network) => true,
            Self::Retry(RetryCause::HostLost) => false,
        }
    }
}

/// Decides what follows from the end of a child.
pub fn judged(context: &WorkflowContext<'_>, child: &UnjudgedChild, left: &Checkpoint) -> ConductorStep {
    let nothing = || ConductorStep::Write(Decision::default());
    let Some(step) = context.plan.step(&child.step_id) else { return nothing() };
    let progress = context.workflow.steps.get(&child.step_id);
    let Some(instance) = progress.and_then(|progress| progress.instance(child.item)) else { return nothing() };
    let (state, reason, details) = state_of(context, child, left);
    let is_ready = state == StepState::Ready;
    let items = progress.and_then(|progress| progress.items);
    let end = StepEnded {
        item: child.item,
        items,
        child_run_id: Some(child.run_id),
        child_seq: left.child_seq,
        has_output: left.output == CheckpointOutput::Valid && matches!(state, StepState::Ready | StepState::Partial),
        details,
        fingerprint: is_ready.then(|| instance.fingerprint.clone()),
        // The end of all items says whether others may begin.
        stops: child.item.is_none() && stops(step, state),
        ..end_without_run(&step.id, state, reason, "")
    };
    let is_stopped = context.workflow.is_stopped;
    match answer(context, child) {
        // Another step has stopped the workflow meanwhile, so that this one cannot begin again.
        Some(HoldDecision::Retry) if is_stopped => return write(step, end),
        Some(decision) => return answered(step, child, instance, items, end, decision),
        None => {}
    }
    if !is_ready
        && !is_stopped
        && let Some(again) = again(context, step, child, instance, items, left)
    {
        return ConductorStep::Begin(again);
    }
    let wants_decision = match (is_ready, step.on_failure, step.ask) {
        (true, _, Some(AskMoment::After)) if child.item.is_none() => Some(HoldReason::After),
        (true, _, Some(AskMoment::Before | AskMoment::After) | None) => None,
        (false, OnStepFailure::Hold, _) => Some(HoldReason::Failure),
        (false, OnStepFailure::Stop | OnStepFailure::Continue, _) => None,
    };
    match wants_decision.filter(|_| !is_stopped) {
        None => write(step, end),
        Some(why) if context.workflow.held.is_none() => {
            let words = end.details.clone().unwrap_or_default();
            ConductorStep::Write(hold(context, &step.id, child.item, why, &words))
        }
        // Its question follows the one that is open.
        Some(_) => ConductorStep::Rest { until: None },
    }
}

fn write(step: &WorkflowStep, end: StepEnded) -> ConductorStep {
    let level = if end.state == StepState::Ready { Level::Info } else { Level::Warning };
    let events = vec![about(&step.id, level, ControlData::StepEnded(Box::new(end)))];
    ConductorStep::Write(Decision { events, ..Decision::default() })
}

/// The user's decision about this child.
fn answer(context: &WorkflowContext<'_>, child: &UnjudgedChild) -> Option<HoldDecision> {
    let held = context.workflow.held.as_ref()?;
    let HeldAnswer::Given(answer) = &held.answer else { return None };
    (held.step_id == child.step_id && held.item == child.item).then(|| HoldDecision::of(held.why, answer)).flatten()
}

fn answered(
    step: &WorkflowStep,
    child: &UnjudgedChild,
    instance: &InstanceState,
    items: Option<u32>,
    end: StepEnded,
    decision: HoldDecision,
) -> ConductorStep {
    match decision {
        HoldDecision::Accept | HoldDecision::Start => write(step, StepEnded { stops: false, ..end }),
        HoldDecision::Reject | HoldDecision::Skip => {
            let end = StepEnded {
                state: StepState::Failed,
                reason: Code::StepRejected,
                details: Some("the user decided against its result".to_owned()),
                has_output: false,
                fingerprint: None,
                stops: stops(step, StepState::Failed),
                ..end
            };
            write(step, end)
        }
        HoldDecision::Continue => write(step, StepEnded { stops: false, ..end }),
        HoldDecision::Stop => write(step, StepEnded { stops: true, ..end }),
        HoldDecision::Retry => ConductorStep::Begin(Beginning {
            step_id: step.id.clone(),
            item: child.item,
            wants_items: false,
            items,
            trial: instance.trial + 1,
            engine_index: instance.engine_index,
            not_before: None,
            child: None,
        }),
    }
}

/// The next try, if there is one: on the next engine, or on one that was tried before.
fn again(
    context: &WorkflowContext<'_>,
    step: &WorkflowStep,
    child: &UnjudgedChild,
    instance: &InstanceState,
    items: Option<u32>,
    left: &Checkpoint,
) -> Option<Beginning> {
    let cause = left.cause?;
    let next_engine = instance.engine_index + 1;
    let has_next = (next_engine as usize) < step.engines.len();
    let (engine_index, not_before) = if cause.is_of_engine() && has_next {
        (next_engine, None)
    } else {
        let TrialCause::Retry(cause) = cause else { return None };
        if instance.retries >= step.retries.max || !step.retries.on.contains(&cause) {
            return None;
        }
        let pause = |first: Duration| {
            let pause = first.saturating_mul(1 << instance.retries.min(20)).min(PAUSE_MAX);
            context.now.plus_nanos(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX))
        };
        let not_before = match cause {
            RetryCause::Quota => left.reset_at.unwrap_or_else(|| pause(QUOTA_PAUSE)),
            RetryCause::Network => pause(PAUSE),
            RetryCause::HostLost => context.now,
        };
        (0, Some(not_before).filter(|at| *at > context.now))
    };
    Some(Beginning {
        step_id: step.id.clone(),
        item: child.item,
        wants_items: false,
        items,
        trial: instance.trial + 1,
        engine_index,
        not_before,
        child: None,
    })
}

/// How a step ended, with the reason and a sentence.
fn state_of(
    context: &WorkflowContext<'_>,
    child: &UnjudgedChild,
    left: &Checkpoint,
) -> (StepState, Code, Option<String>) {
    let of_child = |state| (state, left.reason, left.details.clone());
    match child.status {
        SubagentStatus::Completed => match &left.output {
            CheckpointOutput::Invalid(why) => (StepState::Failed, Code::StepOutputInvalid, Some(why.clone())),
            CheckpointOutput::NotDeclared | CheckpointOutput::Valid if !left.missing.is_empty() => {
                let words = format!("required files are missing: {}", left.missing.join(", "));
                (StepState::Partial, Code::ArtifactMissing, Some(words))
            }
            CheckpointOutput::NotDeclared | CheckpointOutput::Valid if left.is_partial => {
                (StepState::Partial, Code::OutputPartial, Some("its output says that it is partial".to_owned()))
            }
            CheckpointOutput::NotDeclared | CheckpointOutput::Valid => (StepState::Ready, left.reason, None),
        },
        SubagentStatus::Failed if left.reason == Code::WorkflowPartial => of_child(StepState::Partial),
        SubagentStatus::Failed | SubagentStatus::TimedOut if is_undecided(left.reason) => of_child(StepState::Held),
        SubagentStatus::Failed => of_child(StepState::Failed),
        SubagentStatus::TimedOut => of_child(StepState::TimedOut),
        // Its time was that of the workflow.
        SubagentStatus::Cancelled | SubagentStatus::Detached if context.workflow.is_time_up => {
            let words = Some("the time of the workflow was over".to_owned());
            (StepState::TimedOut, Code::WorkflowTimedOut, words)
        }
        SubagentStatus::Cancelled | SubagentStatus::Detached => of_child(StepState::Cancelled),
    }
}

/// A question was closed without an answer.
fn is_undecided(reason: Code) -> bool {
    matches!(reason, Code::InteractionWaitTimeout | Code::InteractionAbortedByPolicy | Code::WorkflowHeld)
}
