//! A workflow with its steps, from its record, its Log, and the Logs of its children.

use std::collections::BTreeSet;

use skillrun_lifecycle::run::State;
use skillrun_lifecycle::workflow::{HeldAnswer, InstanceState, StepProgress, WorkflowState};
use skillrun_log::{FileLog, LogError};
use skillrun_model::workflow::{
    CONDUCTOR, StepItemView, StepStanding, StepTask, StepView, WorkflowPlan, WorkflowStep, WorkflowView,
};
use skillrun_model::{RunId, RunStatus};
use skillrun_runs::data_folder::DataFolder;
use skillrun_runs::events::read_all;
use skillrun_runs::prompt;
use skillrun_runs::record::RunRecord;

use crate::InspectError;
use crate::step_questions::StepQuestions;

/// The workflow; none for a run that is not one. `state` is the fold over its Log.
pub fn workflow(
    data: &DataFolder,
    log: &FileLog,
    record: &RunRecord,
    state: &State,
) -> Result<Option<WorkflowView>, InspectError> {
    let (Some(plan), Some(workflow)) = (record.workflow(), state.workflow.as_deref()) else { return Ok(None) };
    let asking = StepQuestions::default().open(log, state).into_iter().map(|asked| asked.child).collect();
    let children = Children { data, log, asking };
    let ended = workflow.ended.as_ref();
    let steps = plan.steps.iter().map(|step| children.step(state, workflow, step)).collect();
    Ok(Some(WorkflowView {
        run_id: record.run_id,
        name: plan.name.clone(),
        status: state.status.unwrap_or(RunStatus::Queued),
        outcome: ended.map(|ended| ended.outcome),
        ok: ended.is_some_and(|ended| ended.ok),
        steps,
        deadline_at: workflow.started.as_ref().and_then(|started| started.deadline_at),
        retry_of: record.retry_of,
        next_actions: ended.map(|ended| ended.next_actions.clone()).unwrap_or_default(),
    }))
}

/// The steps of a plan that has not begun.
pub fn planned_steps(plan: &WorkflowPlan) -> Vec<StepView> {
    plan.steps.iter().map(|step| blank(step, StepStanding::Pending)).collect()
}

fn blank(step: &WorkflowStep, standing: StepStanding) -> StepView {
    StepView {
        step_id: step.id.clone(),
        title: title(step),
        engine: engine(step, 0),
        needs: step.needs.clone(),
        required: step.required,
        on_failure: step.on_failure,
        standing,
        reason: None,
        details: None,
        child_run_id: None,
        trials: 0,
        held: None,
        interaction_id: None,
        reused_from: None,
        items: Vec::new(),
        started_at: None,
        ended_at: None,
    }
}

fn title(step: &WorkflowStep) -> String {
    match &step.task {
        StepTask::Skill { name, .. } => name.clone(),
        StepTask::Prompt(text) => prompt::title(text),
        StepTask::Workflow(plan) => plan.name.clone(),
    }
}

fn engine(step: &WorkflowStep, index: u32) -> Option<String> {
    match &step.task {
        StepTask::Workflow(_) => Some(CONDUCTOR.to_owned()),
        StepTask::Skill { .. } | StepTask::Prompt(_) => step.engines.get(index as usize).cloned(),
    }
}

struct Children<'a> {
    data: &'a DataFolder,
    log: &'a FileLog,
    /// Those that ask a question, or in which a step does.
    asking: BTreeSet<RunId>,
}

impl Children<'_> {
    fn step(&self, state: &State, workflow: &WorkflowState, step: &WorkflowStep) -> StepView {
        let held = workflow.held.as_ref().filter(|held| held.step_id == step.id && held.answer == HeldAnswer::Open);
        let Some(progress) = workflow.steps.get(&step.id) else {
            let standing = if held.is_some() { StepStanding::Held } else { StepStanding::Pending };
            let view = blank(step, standing);
            return StepView {
                held: held.map(|held| held.why),
                interaction_id: held.map(|held| held.interaction_id),
                ..view
            };
        };
        let last = progress.instances.last();
        let end = progress.end.as_ref();
        let standing = match end {
            Some(end) => end.state.into(),
            None if held.is_some() => StepStanding::Held,
            None => self.standing_of_all(state, progress),
        };
        let items = if progress.items.is_some() { self.items(state, progress) } else { Vec::new() };
        StepView {
            engine: engine(step, last.map_or(0, |one| one.engine_index)),
            reason: end.map(|end| end.reason),
            details: end.and_then(|end| end.details.clone()),
            child_run_id: end.and_then(|end| end.child).or(last.and_then(|one| one.child)),
            trials: progress.instances.iter().map(|one| one.trial).max().unwrap_or(0),
            held: held.map(|held| held.why),
            interaction_id: held.map(|held| held.interaction_id),
            reused_from: end.and_then(|end| end.reused.as_ref()).map(|reused| reused.run_id),
            items,
            started_at: progress.instances.iter().filter_map(|one| one.begun_at).min(),
            ended_at: end.map(|end| end.at),
            ..blank(step, standing)
        }
    }

    fn items(&self, state: &State, progress: &StepProgress) -> Vec<StepItemView> {
        let item = |(number, one): (u32, &InstanceState)| StepItemView {
            item: number,
            standing: self.standing(state, one),
            child_run_id: one.end.as_ref().and_then(|end| end.child).or(one.child),
            reason: one.end.as_ref().map(|end| end.reason),
        };
        let begun: Vec<StepItemView> = (0..).zip(&progress.instances).map(item).collect();
        let rest = u32::try_from(begun.len()).unwrap_or(u32::MAX)..progress.items.unwrap_or(0);
        let pending =
            rest.map(|item| StepItemView { item, standing: StepStanding::Pending, child_run_id: None, reason: None });
        begun.into_iter().chain(pending).collect()
    }

    /// Of a step that has begun and not ended.
    fn standing_of_all(&self, state: &State, progress: &StepProgress) -> StepStanding {
        let each: Vec<StepStanding> = progress.instances.iter().map(|one| self.standing(state, one)).collect();
        let order = [
            StepStanding::Asks,
            StepStanding::Running,
            StepStanding::WaitsForQuota,
            StepStanding::Queued,
            StepStanding::Pending,
        ];
        order.into_iter().find(|standing| each.contains(standing)).unwrap_or(if each.is_empty() {
            StepStanding::Pending
        } else {
            StepStanding::Running
        })
    }

    fn standing(&self, state: &State, one: &InstanceState) -> StepStanding {
        if let Some(end) = &one.end {
            return end.state.into();
        }
        let Some(child) = one.child else { return StepStanding::Pending };
        // What its parent knows counts; the rest is in the Log of the child.
        if state.child(child).is_none_or(|known| !known.is_open()) {
            return StepStanding::Running;
        }
        if self.asking.contains(&child) {
            return StepStanding::Asks;
        }
        match self.status(child) {
            Some(RunStatus::Queued) | None if one.not_before.is_some() => StepStanding::WaitsForQuota,
            Some(RunStatus::Queued) | None => StepStanding::Queued,
            Some(RunStatus::WaitingUser) => StepStanding::Asks,
            // Its end is not in the Log of the workflow yet.
            Some(
                RunStatus::Running | RunStatus::Succeeded | RunStatus::Closed | RunStatus::Failed | RunStatus::Canceled,
            ) => StepStanding::Running,
        }
    }

    fn status(&self, child: RunId) -> Option<RunStatus> {
        if !self.data.run(child).root().is_dir() {
            return None;
        }
        let mut state = State::default();
        let read = read_all(self.log, child, |event| {
            state.evolve(&event);
            Ok::<(), LogError>(())
        });
        read.ok().and(state.status)
    }
}
