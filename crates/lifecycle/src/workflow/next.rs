//! The one thing to do next, derived from the state and the plan alone.

use std::collections::BTreeSet;
use std::time::Duration;

use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::delegation::SubagentRequested;
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::data::{RunCanceled, RunCompleted, RunFailed, RunStatusChange};
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::status::{Permission, Phase};
use skillrun_model::verdict::RunError;
use skillrun_model::workflow::{
    AskMoment, HoldReason, StepEnded, StepId, StepScheduled, StepState, StepSummary, WorkflowEnded, WorkflowOutcome,
    WorkflowPlan, WorkflowStarted, WorkflowStep,
};
use skillrun_model::{RunId, RunStatus, Timestamp};

use super::outcome::{StepResult, outcome};
use super::question::{HoldDecision, asked, hold};
use super::state::{HeldAnswer, StepEnding, StepProgress, UnjudgedChild, WorkflowState};
use crate::advice;
use crate::closing::{self, ControlEvent};
use crate::run::{Decision, Effect, RunOptions, State};

/// How long a child may take to end after it was canceled, before it counts as detached.
pub(super) const CHILD_END_TIMEOUT: Duration = Duration::from_secs(60);

/// How often children are looked at whose end was not reported: another process may have worked on them.
const LOOK_MIN: Duration = Duration::from_secs(5);
const LOOK_MAX: Duration = Duration::from_secs(600);

/// What the functions of this module need besides the state of the workflow.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowContext<'a> {
    pub run_id: RunId,
    pub run: &'a State,
    pub workflow: &'a WorkflowState,
    pub plan: &'a WorkflowPlan,
    pub options: RunOptions,
    /// Of steps that have none of their own.
    pub permission: Permission,
    /// The earlier run of the workflow whose ready steps count here too.
    pub reuses: Option<RunId>,
    /// Children whose question to the user waits until another one is answered.
    pub postponed: &'a [RunId],
    pub now: Timestamp,
}

/// What the conductor does next.
#[derive(Debug, Clone, PartialEq)]
pub enum ConductorStep {
    /// Append this, and ask again.
    Write(Decision),
    /// Read what this child has left, and ask [`judged`](super::judged).
    Judge(UnjudgedChild),
    /// Make a child of a step, after [`scheduled`].
    Begin(Beginning),
    /// Cancel the children that work, and rest.
    CancelChildren { until: Timestamp },
    /// These children did not end in time after they were canceled: record them as detached.
    Detach,
    /// Nothing happens until a child ends, the user answers, the deadline of the open question, or this moment.
    Rest { until: Option<Timestamp> },
    /// Resolve the outputs, and append [`ended`].
    End,
    /// The end of the run is in the Log.
    Over,
}

/// A step, or an item of one, that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    pub step_id: StepId,
    pub item: Option<u32>,
    /// The step repeats, and the length of its list is not known yet: it has to be found out first.
    pub wants_items: bool,
    pub items: Option<u32>,
    pub trial: u32,
    pub engine_index: u32,
    pub not_before: Option<Timestamp>,
    /// The child that the Log has for it, where only the request of the child is missing.
    pub child: Option<RunId>,
}

/// An event about a step.
pub(super) fn about(step: &StepId, level: Level, data: ControlData) -> ControlEvent {
    let correlation = Correlation { step_id: Some(step.0.clone()), ..Correlation::default() };
    ControlEvent { correlation, ..closing::control(level, data) }
}

fn written(events: Vec<ControlEvent>) -> ConductorStep {
    ConductorStep::Write(Decision { events, ..Decision::default() })
}

/// Derives the next thing to do.
pub fn next(context: &WorkflowContext<'_>) -> ConductorStep {
    let WorkflowContext { run, workflow, plan, now, .. } = *context;
    if run.is_over() {
        return ConductorStep::Over;
    }
    if let Some(ended) = &workflow.ended {
        // The end of the workflow is in the Log, and that of its run is not.
        return written(vec![end_of_run(context, ended)]);
    }
    let Some(started) = &workflow.started else {
        return written(begin(context));
    };
    let is_canceled = run.canceling.is_some();
    let is_late = started.deadline_at.is_some_and(|deadline| deadline <= now);
    if is_late && !workflow.is_time_up && !is_canceled {
        let detail = Some("the time of the workflow is over".to_owned());
        let status = (run.status == Some(RunStatus::WaitingUser)).then_some(RunStatus::Running);
        let change = RunStatusChange::new(status, Some(Phase::TimeUp), detail);
        return written(vec![closing::control(Level::Warning, ControlData::RunStatus(change))]);
    }
    if is_canceled || workflow.is_time_up {
        if !workflow.open.is_empty() {
            let since = workflow.ending_since.unwrap_or(now);
            let until = since.plus_nanos(nanos(CHILD_END_TIMEOUT));
            return if now < until { ConductorStep::CancelChildren { until } } else { ConductorStep::Detach };
        }
        if is_canceled {
            return ConductorStep::End;
        }
    }
    let has_question = run.question.as_ref().is_some_and(|question| question.scope == Scope::Step);
    if has_question && workflow.held.is_none() {
        // Its step has ended without the answer, because another one stopped the workflow.
        return written(vec![super::question::close("the workflow has stopped".to_owned())]);
    }
    if let Some(step) = missing_request(context).or_else(|| held(context)) {
        return step;
    }
    let is_postponed = |child: &&UnjudgedChild| context.postponed.contains(&child.run_id);
    if let Some(child) = workflow.unjudged.iter().find(|child| !is_held(workflow, child) && !is_postponed(child)) {
        return ConductorStep::Judge(child.clone());
    }
    let events = settled_steps(context);
    if !events.is_empty() {
        return written(events);
    }
    if plan.steps.iter().all(|step| workflow.end_of(&step.id).is_some()) {
        return ConductorStep::End;
    }
    if let Some(step) = ready_to_begin(context) {
        return step;
    }
    ConductorStep::Rest { until: rest_until(context, started) }
}

/// The first events of a workflow.
fn begin(context: &WorkflowContext<'_>) -> Vec<ControlEvent> {
    let time = context.plan.timeout_sec.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let started = WorkflowStarted {
        name: context.plan.name.clone(),
        steps: u32::try_from(context.plan.steps.len()).unwrap_or(u32::MAX),
        deadline_at: time.map(|time| context.now.plus_nanos(nanos(time))),
        reuses: context.reuses,
    };
    let mut events = vec![closing::control(Level::Info, ControlData::WorkflowStarted(started))];
    if context.run.status != Some(RunStatus::Running) {
        events.insert(0, closing::status(RunStatus::Running));
    }
    events
}

pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A child that is scheduled and was not requested: the batch was cut between the two.
fn missing_request(context: &WorkflowContext<'_>) -> Option<ConductorStep> {
    let WorkflowContext { run, workflow, .. } = *context;
    let known: BTreeSet<RunId> = run.open_children().map(|child| child.run_id).collect();
    let (child, (step_id, item)) = workflow.open.iter().find(|(child, _)| !known.contains(child))?;
    let progress = workflow.steps.get(step_id)?;
    let instance = progress.instance(*item)?;
    Some(ConductorStep::Begin(Beginning {
        step_id: step_id.clone(),
        item: *item,
        wants_items: false,
        items: progress.items,
        trial: instance.trial,
        engine_index: instance.engine_index,
        not_before: instance.not_before,
        child: Some(*child),
    }))
}

/// The open question concerns this child.
fn is_held(workflow: &WorkflowState, child: &UnjudgedChild) -> bool {
    workflow.held.as_ref().is_some_and(|held| {
        held.step_id == child.step_id
            && held.item == child.item
            && matches!(held.answer, HeldAnswer::NotAsked | HeldAnswer::Open)
    })
}

/// What the held step needs: its question, the status of the run, or the consequence of its answer. The answer to the
/// question about a child is considered when the child is judged.
fn held(context: &WorkflowContext<'_>) -> Option<ConductorStep> {
    let WorkflowContext { run, workflow, plan, .. } = *context;
    let held = workflow.held.as_ref()?;
    let (step, item) = (&held.step_id, held.item);
    match &held.answer {
        HeldAnswer::NotAsked => Some(written(asked(context, step, item, held.why, held.interaction_id, ""))),
        HeldAnswer::Open if run.status != Some(RunStatus::WaitingUser) => {
            Some(written(vec![closing::status(RunStatus::WaitingUser)]))
        }
        HeldAnswer::Open => None,
        HeldAnswer::Given(_) | HeldAnswer::Closed | HeldAnswer::Expired if run.status != Some(RunStatus::Running) => {
            Some(written(vec![closing::status(RunStatus::Running)]))
        }
        HeldAnswer::Closed | HeldAnswer::Expired => {
            let child = workflow.steps.get(step).and_then(|progress| progress.instance(item)?.child);
            let state = if workflow.is_time_up { StepState::TimedOut } else { StepState::Held };
            let reason = if workflow.is_time_up { Code::WorkflowTimedOut } else { Code::WorkflowHeld };
            let details = if held.answer == HeldAnswer::Expired {
                "no answer came before the deadline of the question"
            } else {
                "the question was closed without an answer"
            };
            let mut end = end_without_run(step, state, reason, details);
            (end.item, end.child_run_id, end.stops) = (item, child, true);
            Some(written(vec![about(step, Level::Warning, ControlData::StepEnded(Box::new(end)))]))
        }
        HeldAnswer::Given(answer) => {
            let is_about_child = workflow.unjudged.iter().any(|child| child.step_id == *step && child.item == item);
            let Some(decision) = HoldDecision::of(held.why, answer) else {
                let words = format!("\"{}\" is not one of the options.", answer.chars().take(80).collect::<String>());
                return Some(ConductorStep::Write(hold(context, step, item, held.why, &words)));
            };
            if is_about_child {
                return None;
            }
            match (held.why, decision) {
                // It begins when it is its turn.
                (HoldReason::Before, HoldDecision::Start) => None,
                (HoldReason::After, HoldDecision::Accept) => {
                    let repeated = plan.step(step).and_then(|step| end_of_items(workflow, step));
                    Some(written(vec![about(step, Level::Info, ControlData::StepEnded(Box::new(repeated?)))]))
                }
                (HoldReason::After, HoldDecision::Retry) if !workflow.is_stopped => first_trial_again(context, step),
                // Another step has stopped the workflow meanwhile: what is ready counts.
                (HoldReason::After, HoldDecision::Retry) => {
                    let end = plan.step(step).and_then(|step| end_of_items(workflow, step))?;
                    Some(written(vec![about(step, Level::Info, ControlData::StepEnded(Box::new(end)))]))
                }
                (HoldReason::Before | HoldReason::After | HoldReason::Failure, decision) => {
                    let state = if held.why == HoldReason::Before { StepState::Skipped } else { StepState::Failed };
                    let mut end = end_without_run(step, state, Code::StepRejected, "the user decided against it");
                    (end.item, end.stops) = (item, decision == HoldDecision::Stop);
                    end.items = workflow.steps.get(step).and_then(|progress| progress.items);
                    end.stops |= stops_after(plan.step(step), state, held.why);
                    Some(written(vec![about(step, Level::Warning, ControlData::StepEnded(Box::new(end)))]))
                }
            }
        }
    }
}

/// A step that the user rejects after its run counts as failed. One that is left out does not stop the others.
fn stops_after(step: Option<&WorkflowStep>, state: StepState, why: HoldReason) -> bool {
    why == HoldReason::After && step.is_some_and(|step| stops(step, state))
}

/// The user wants all items of a step once more: they begin with the first.
fn first_trial_again(context: &WorkflowContext<'_>, step: &StepId) -> Option<ConductorStep> {
    let progress = context.workflow.steps.get(step)?;
    let instance = progress.instances.first()?;
    Some(ConductorStep::Begin(Beginning {
        step_id: step.clone(),
        item: progress.items.map(|_| 0),
        wants_items: false,
        items: progress.items,
        trial: instance.trial + 1,
        engine_index: instance.engine_index,
        not_before: None,
        child: None,
    }))
}

/// The end of a step whose run did not decide it.
pub fn end_without_run(step: &StepId, state: StepState, reason: Code, details: &str) -> StepEnded {
    StepEnded {
        step_id: step.clone(),
        item: None,
        state,
        reason,
        child_run_id: None,
        child_seq: None,
        items: None,
        stops: false,
        has_output: false,
        details: Some(details.to_owned()),
        reused: None,
        fingerprint: None,
    }
}

/// Whether no other step begins after this end.
pub fn stops(step: &WorkflowStep, state: StepState) -> bool {
    use skillrun_model::workflow::OnStepFailure;
    match (state, step.on_failure) {
        (StepState::Ready, _) | (_, OnStepFailure::Continue | OnStepFailure::Hold) => false,
        (
            StepState::Partial
            | StepState::Failed
            | StepState::TimedOut
            | StepState::Held
            | StepState::Cancelled
            | StepState::Skipped,
            OnStepFailure::Stop,
        ) => true,
    }
}

/// Ends of steps that follow from the ends of others: of steps that repeat, and of those that do not begin.
fn settled_steps(context: &WorkflowContext<'_>) -> Vec<ControlEvent> {
    let WorkflowContext { workflow, plan, .. } = *context;
    let mut events = Vec::new();
    for step in &plan.steps {
        if workflow.end_of(&step.id).is_some() {
            continue;
        }
        let is_held = workflow.held.as_ref().is_some_and(|held| held.step_id == step.id);
        if let Some(end) = end_of_items(workflow, step).filter(|_| !is_held) {
            if end.state == StepState::Ready && step.ask == Some(AskMoment::After) {
                // One question about all items, as soon as no other is open.
                if workflow.held.is_none() && events.is_empty() {
                    return hold(context, &step.id, None, HoldReason::After, "").events;
                }
                continue;
            }
            let level = if end.state == StepState::Ready { Level::Info } else { Level::Warning };
            events.push(about(&step.id, level, ControlData::StepEnded(Box::new(end))));
            continue;
        }
        if has_begun(workflow.steps.get(&step.id)) || is_held && !workflow.is_stopped {
            continue;
        }
        let unready =
            step.needs.iter().find(|need| workflow.end_of(need).is_some_and(|end| end.state != StepState::Ready));
        let end = if workflow.is_stopped {
            let code = if workflow.is_time_up { Code::WorkflowTimedOut } else { Code::StepNotNeeded };
            end_without_run(&step.id, StepState::Skipped, code, "the workflow had stopped before it began")
        } else if let Some(need) = unready {
            let words = format!("it needs the step {need}, which is not ready");
            end_without_run(&step.id, StepState::Skipped, Code::StepNotReady, &words)
        } else {
            continue;
        };
        events.push(about(&step.id, Level::Warning, ControlData::StepEnded(Box::new(end))));
    }
    events
}

fn has_begun(progress: Option<&StepProgress>) -> bool {
    progress.is_some_and(|progress| !progress.instances.is_empty() || progress.items.is_some())
}

/// The end of a step that repeats, once all its items have ended, or those that have begun after the workflow stopped.
fn end_of_items(workflow: &WorkflowState, step: &WorkflowStep) -> Option<StepEnded> {
    let progress = workflow.steps.get(&step.id)?;
    let items = progress.items?;
    let is_working = |instance: &super::InstanceState| instance.child.is_some() && instance.end.is_none();
    let is_failed = progress.instances.iter().any(|one| one.end.as_ref().is_some_and(|end| stops(step, end.state)));
    let all_begun = progress.instances.len() as u64 == u64::from(items)
        && !progress.instances.iter().any(|instance| instance.is_wanted_again);
    if progress.instances.iter().any(is_working) || (!all_begun && !workflow.is_stopped && !is_failed) {
        return None;
    }
    let ends: Vec<&StepEnding> = progress.instances.iter().filter_map(|one| one.end.as_ref()).collect();
    let of_state = |state: StepState| ends.iter().filter(|end| end.state == state).count();
    let ready = of_state(StepState::Ready);
    let is_complete = ready as u64 == u64::from(items);
    let first_bad = ends.iter().find(|end| end.state != StepState::Ready);
    let has_output = ends.iter().any(|end| end.has_output);
    let state = if is_complete {
        StepState::Ready
    } else if ready > 0 || of_state(StepState::Partial) > 0 {
        StepState::Partial
    } else {
        first_bad.map_or(StepState::Skipped, |end| end.state)
    };
    let reason = match first_bad {
        None if is_complete => ends.last().map_or(Code::WorkflowCompleted, |end| end.reason),
        None => Code::StepNotNeeded,
        Some(end) => end.reason,
    };
    let details = format!("{ready} of {items} items are ready");
    Some(StepEnded {
        items: Some(items),
        stops: stops(step, state),
        has_output: has_output || ready > 0,
        child_run_id: None,
        details: Some(details),
        ..end_without_run(&step.id, state, reason, "")
    })
}

/// The first step that may begin now, in the order of the file.
fn ready_to_begin(context: &WorkflowContext<'_>) -> Option<ConductorStep> {
    let WorkflowContext { workflow, plan, permission, .. } = *context;
    if workflow.is_stopped || workflow.open.len() >= plan.concurrency.max(1) as usize {
        return None;
    }
    let open: BTreeSet<&StepId> = workflow.open.values().map(|(step, _)| step).collect();
    let working: Vec<&WorkflowStep> = plan.steps.iter().filter(|step| open.contains(&step.id)).collect();
    let is_writer_at_work = working.iter().any(|step| step.may_write_shared(permission));
    let is_folder_in_use = working.iter().any(|step| step.is_in_shared_folder());
    for step in &plan.steps {
        let progress = workflow.steps.get(&step.id);
        if progress.is_some_and(|progress| progress.end.is_some()) {
            continue;
        }
        let Some(NextItem { item, again }) = next_item(progress, step) else { continue };
        let is_ready = |need: &StepId| workflow.end_of(need).is_some_and(|end| end.state == StepState::Ready);
        if !step.needs.iter().all(is_ready) {
            continue;
        }
        let is_agreed = step.ask != Some(AskMoment::Before)
            || progress.is_some_and(|progress| progress.is_agreed)
            || is_started_by_user(workflow, step);
        if !is_agreed {
            if workflow.held.is_none() {
                return Some(ConductorStep::Write(hold(context, &step.id, None, HoldReason::Before, "")));
            }
            continue;
        }
        // Steps that may write in the shared folder work alone there; readers work side by side.
        let writes = step.may_write_shared(permission);
        if (step.is_in_shared_folder() && is_writer_at_work) || (writes && is_folder_in_use) {
            continue;
        }
        return Some(ConductorStep::Begin(Beginning {
            step_id: step.id.clone(),
            item,
            wants_items: step.for_each.is_some() && progress.is_none_or(|progress| progress.items.is_none()),
            items: progress.and_then(|progress| progress.items),
            trial: again.map_or(1, |again| again.trial + 1),
            engine_index: again.map_or(0, |again| again.engine_index),
            not_before: None,
            child: None,
        }));
    }
    None
}

fn is_started_by_user(workflow: &WorkflowState, step: &WorkflowStep) -> bool {
    workflow.held.as_ref().is_some_and(|held| {
        let HeldAnswer::Given(answer) = &held.answer else { return false };
        held.step_id == step.id
            && held.why == HoldReason::Before
            && HoldDecision::of(held.why, answer) == Some(HoldDecision::Start)
    })
}

/// What of a step begins next.
struct NextItem<'a> {
    item: Option<u32>,
    /// It has ended before, and the user wants it once more.
    again: Option<&'a super::InstanceState>,
}

/// The item that has not begun; none where nothing of the step is left to begin.
fn next_item<'a>(progress: Option<&'a StepProgress>, step: &WorkflowStep) -> Option<NextItem<'a>> {
    let instances = progress.map_or(&[][..], |progress| &progress.instances);
    if step.for_each.is_none() {
        return instances.is_empty().then_some(NextItem { item: None, again: None });
    }
    // An item that failed for good ends the step, unless the others shall continue.
    if instances.iter().any(|one| one.end.as_ref().is_some_and(|end| stops(step, end.state))) {
        return None;
    }
    let number = |index: usize| Some(u32::try_from(index).unwrap_or(u32::MAX));
    if let Some(index) = instances.iter().position(|instance| instance.is_wanted_again) {
        return Some(NextItem { item: number(index), again: instances.get(index) });
    }
    let items = progress.and_then(|progress| progress.items);
    let is_left = items.is_none_or(|items| (instances.len() as u64) < u64::from(items));
    is_left.then(|| NextItem { item: number(instances.len()), again: None })
}

/// When the conductor looks again by itself. The deadline of a question is an input of its own.
fn rest_until(context: &WorkflowContext<'_>, started: &WorkflowStarted) -> Option<Timestamp> {
    let WorkflowContext { workflow, now, .. } = *context;
    let look = (!workflow.open.is_empty()).then(|| {
        let last = workflow.steps.values().filter_map(|step| {
            step.instances.iter().filter_map(|one| one.end.as_ref().map(|end| end.at).max(one.begun_at)).max()
        });
        let quiet = last.max().and_then(|last| now.millis_since(last)).unwrap_or(0);
        now.plus_nanos(nanos(Duration::from_millis(quiet).clamp(LOOK_MIN, LOOK_MAX)))
    });
    let deadline = started.deadline_at.filter(|_| !workflow.is_time_up);
    [deadline, look].into_iter().flatten().min()
}

/// The events with which a step begins: the child is requested by the event that the caller adds.
pub fn scheduled(beginning: &Beginning, child: RunId, fingerprint: String) -> ControlEvent {
    let step = StepScheduled {
        step_id: beginning.step_id.clone(),
        item: beginning.item,
        items: beginning.items,
        trial: beginning.trial,
        engine_index: beginning.engine_index,
        child_run_id: Some(child),
        fingerprint,
        not_before: beginning.not_before,
    };
    about(&beginning.step_id, Level::Info, ControlData::StepScheduled(step))
}

/// The batch with which a step begins; `event` is absent where the Log has it.
pub fn requested(beginning: &Beginning, event: Option<ControlEvent>, asked: SubagentRequested) -> Decision {
    let child = asked.child_run_id;
    let asked = about(&beginning.step_id, Level::Info, ControlData::SubagentRequested(asked));
    let events = event.into_iter().chain([asked]).collect();
    Decision { events, opening: None, effects: vec![Effect::MakeChild { child }] }
}

/// A step or an item that ends without a child: it is taken over, has nothing to do, or cannot begin.
pub fn ended_at_once(end: StepEnded) -> Decision {
    let level = if end.state == StepState::Ready { Level::Info } else { Level::Warning };
    let step = end.step_id.clone();
    Decision { events: vec![about(&step, level, ControlData::StepEnded(Box::new(end)))], ..Decision::default() }
}

/// The end of the workflow and of its run. `output`: its outputs, as far as they are there.
pub fn ended(context: &WorkflowContext<'_>, output: Option<serde_json::Map<String, serde_json::Value>>) -> Decision {
    let WorkflowContext { run_id, run, workflow, plan, .. } = *context;
    let is_canceled = run.canceling.is_some();
    let mut events = Vec::new();
    let steps: Vec<StepSummary> = plan.steps.iter().map(|step| summary(workflow, step, is_canceled)).collect();
    let results: Vec<StepResult> = steps
        .iter()
        .map(|step| {
            let has_output = workflow.end_of(&step.step_id).is_some_and(|end| end.has_output);
            StepResult { required: step.required, state: step.state, has_output }
        })
        .collect();
    let how = outcome(is_canceled, workflow.is_time_up, &results);
    // A canceled workflow has steps without an end of their own.
    for (step, result) in plan.steps.iter().zip(&steps).filter(|(step, _)| workflow.end_of(&step.id).is_none()) {
        let end = StepEnded {
            child_run_id: result.child_run_id,
            ..end_without_run(&step.id, result.state, result.reason, "the workflow was canceled")
        };
        events.push(about(&step.id, Level::Info, ControlData::StepEnded(Box::new(end))));
    }
    let error = error_of(how, &steps);
    let next_actions = match &error {
        Some(error) => advice::next_actions_for(error, run_id),
        None if how.is_ok() => Vec::new(),
        None => advice::after_cancel(run_id),
    };
    let end = WorkflowEnded { outcome: how, ok: how.is_ok(), steps, output, next_actions };
    let level = if how.is_ok() { Level::Info } else { Level::Warning };
    let of_run = end_of_run(context, &end);
    events.push(closing::control(level, ControlData::WorkflowEnded(Box::new(end))));
    events.push(of_run);
    Decision { events, ..Decision::default() }
}

fn summary(workflow: &WorkflowState, step: &WorkflowStep, is_canceled: bool) -> StepSummary {
    let progress = workflow.steps.get(&step.id);
    let end = progress.and_then(|progress| progress.end.as_ref());
    let (state, reason) = match end {
        Some(end) => (end.state, end.reason),
        None if is_canceled && has_begun(progress) => (StepState::Cancelled, Code::Canceled),
        None => (StepState::Skipped, Code::StepNotNeeded),
    };
    let items = progress.and_then(|progress| {
        let is_ready = |one: &&super::InstanceState| one.end.as_ref().is_some_and(|end| end.state == StepState::Ready);
        let ready = progress.instances.iter().filter(is_ready).count();
        Some((u32::try_from(ready).unwrap_or(u32::MAX), progress.items?))
    });
    let child = progress.and_then(|progress| progress.instance(None)?.child).filter(|_| items.is_none());
    let result = StepResult { required: step.required, state, has_output: end.is_some_and(|end| end.has_output) };
    StepSummary {
        step_id: step.id.clone(),
        required: step.required,
        state,
        reason,
        child_run_id: end.and_then(|end| end.child).or(child),
        items,
        usable: result.is_usable(),
    }
}

/// None for an end that is not an error.
fn error_of(how: WorkflowOutcome, steps: &[StepSummary]) -> Option<RunError> {
    let category = match how {
        WorkflowOutcome::Completed | WorkflowOutcome::Cancelled => return None,
        WorkflowOutcome::Partial | WorkflowOutcome::Failed | WorkflowOutcome::Held => ErrorCategory::Workflow,
        WorkflowOutcome::TimedOut => ErrorCategory::Timeout,
    };
    /// Steps that the sentence names.
    const NAMED_MAX: usize = 5;
    let unready: Vec<&StepSummary> =
        steps.iter().filter(|step| step.required && step.state != StepState::Ready).collect();
    let mut named: Vec<String> =
        unready.iter().take(NAMED_MAX).map(|step| format!("{} ({})", step.step_id, step.state)).collect();
    if unready.len() > NAMED_MAX {
        named.push(format!("and {} more", unready.len() - NAMED_MAX));
    }
    let usable = steps.iter().filter(|step| step.usable).count();
    let usable = if usable > 0 { format!("; {usable} of {} steps can be used", steps.len()) } else { String::new() };
    let what = match how {
        WorkflowOutcome::TimedOut => "ran out of time; required steps that are not ready",
        WorkflowOutcome::Held => "a decision was not made; required steps that are not ready",
        WorkflowOutcome::Partial | WorkflowOutcome::Failed => "required steps that are not ready",
        WorkflowOutcome::Completed | WorkflowOutcome::Cancelled => return None,
    };
    Some(RunError::new(category, how.reason(), format!("{what}: {}{usable}", named.join(", "))))
}

/// The last event of the run of a workflow that has ended.
fn end_of_run(context: &WorkflowContext<'_>, ended: &WorkflowEnded) -> ControlEvent {
    match error_of(ended.outcome, &ended.steps) {
        Some(error) => {
            let failed = RunFailed::new(error, ended.next_actions.clone());
            closing::control(Level::Error, ControlData::RunFailed(failed))
        }
        None if ended.outcome.is_ok() => {
            let completed = RunCompleted::new(ended.outcome.reason());
            closing::control(Level::Info, ControlData::RunCompleted(completed))
        }
        None => {
            let canceled = RunCanceled { reason_code: Code::Canceled, by: context.run.canceling.clone() };
            closing::control(Level::Info, ControlData::RunCanceled(canceled))
        }
    }
}
