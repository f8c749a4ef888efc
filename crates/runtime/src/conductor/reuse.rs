//! What a workflow takes over from an earlier run of it: steps that are ready there, and that ran what they would run now.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use skillrun_lifecycle::run::State;
use skillrun_lifecycle::workflow::{Beginning, InstanceState, StepProgress, end_without_run};
use skillrun_log::LogError;
use skillrun_model::RunId;
use skillrun_model::codes::Code;
use skillrun_model::workflow::{ReusedStep, StepEnded, StepState, StepTask, WorkflowPlan, WorkflowStep};
use skillrun_runs::events::read_all;
use skillrun_runs::record::RunRecord;
use skillrun_skill::Skill;

use super::list::StoredList;
use crate::error::RuntimeError;
use crate::run::Run;
use crate::runtime::RuntimeConfig;

/// A step, or an item of one, that is ready in the earlier run.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ReadyStep {
    fingerprint: String,
    child: Option<RunId>,
    seq: u64,
    reason: Code,
    has_output: bool,
}

/// The end of a step that is ready in the earlier run of the workflow, if it is the same. `task`: with its skills as they
/// are now.
pub(super) fn reused(
    config: &RuntimeConfig,
    run: &Run,
    plan: &WorkflowPlan,
    beginning: &Beginning,
    task: &StepTask,
    fingerprint: &str,
    items: Option<u32>,
) -> Result<Option<StepEnded>, RuntimeError> {
    // A step that is tried again was not the same, or is wanted once more.
    let earlier = run.record.request.reuses.filter(|_| beginning.trial == 1 && beginning.child.is_none());
    let Some(earlier) = earlier else { return Ok(None) };
    let Some(before) = ready_step(config, run, plan, earlier, beginning)? else { return Ok(None) };
    let ran_this = |child: RunId| ran(config, child, task);
    if before.fingerprint != fingerprint || !before.child.is_none_or(ran_this) {
        return Ok(None);
    }
    Ok(Some(StepEnded {
        item: beginning.item,
        items,
        child_run_id: before.child,
        has_output: before.has_output,
        details: None,
        reused: Some(ReusedStep { run_id: earlier, seq: before.seq }),
        fingerprint: Some(fingerprint.to_owned()),
        ..end_without_run(&beginning.step_id, StepState::Ready, before.reason, "")
    }))
}

/// What the earlier run has of a step. Its Log is read once; then there is a file, which first has where each step of the
/// plan begins, and then the steps and their items.
fn ready_step(
    config: &RuntimeConfig,
    run: &Run,
    plan: &WorkflowPlan,
    earlier: RunId,
    beginning: &Beginning,
) -> Result<Option<ReadyStep>, RuntimeError> {
    let path = path(run);
    let failed = |action: &'static str| RuntimeError::file(path.clone(), action);
    let list = match StoredList::open(&path).map_err(failed("read"))? {
        Some(list) => list,
        None => {
            let Some(state) = state_of(config, earlier) else { return Ok(None) };
            StoredList::make(&path, &ready_steps(plan, &state)).map_err(failed("written"))?
        }
    };
    let Some(place) = (0..).zip(&plan.steps).find(|(_, step)| step.id == beginning.step_id).map(|(place, _)| place)
    else {
        return Ok(None);
    };
    let entry = |index| list.get::<Entry>(index).map_err(failed("read"));
    let (Some(Entry::Begin(begin)), Some(Entry::Begin(end))) = (entry(place)?, entry(place + 1)?) else {
        return Ok(None);
    };
    let index = begin + u64::from(beginning.item.unwrap_or(0));
    match if index < end { entry(index)? } else { None } {
        Some(Entry::Ready(ready)) => Ok(Some(ready)),
        Some(Entry::Begin(_) | Entry::Unready) | None => Ok(None),
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Begin(u64),
    Ready(ReadyStep),
    Unready,
}

fn path(run: &Run) -> PathBuf {
    run.folder.audit().join("blobs").join("reuse.jsonl")
}

fn ready_steps(plan: &WorkflowPlan, state: &State) -> Vec<Entry> {
    let workflow = state.workflow.as_deref();
    let instances = |step: &WorkflowStep| -> &[InstanceState] {
        let progress: Option<&StepProgress> = workflow.and_then(|workflow| workflow.steps.get(&step.id));
        progress.map_or(&[], |progress| &progress.instances)
    };
    let mut begin = plan.steps.len() as u64 + 1;
    let mut entries = Vec::with_capacity(2 * plan.steps.len() + 1);
    for step in &plan.steps {
        entries.push(Entry::Begin(begin));
        begin += instances(step).len() as u64;
    }
    entries.push(Entry::Begin(begin));
    let entry = |one: &InstanceState| {
        let end = one.end.as_ref().filter(|end| end.state == StepState::Ready);
        let ready = end.and_then(|end| {
            let fingerprint = end.fingerprint.clone()?;
            let (child, seq, reason, has_output) = (end.child, end.seq, end.reason, end.has_output);
            Some(ReadyStep { fingerprint, child, seq, reason, has_output })
        });
        ready.map_or(Entry::Unready, Entry::Ready)
    };
    entries.extend(plan.steps.iter().flat_map(instances).map(entry));
    entries
}

fn state_of(config: &RuntimeConfig, run: RunId) -> Option<State> {
    let mut state = State::default();
    let read = read_all(&config.tools.log, run, |event| {
        state.evolve(&event);
        Ok::<(), LogError>(())
    });
    read.ok().map(|()| state)
}

/// The same task with its skills as they are in their folders now. A skill that cannot be read there stays as it was.
pub(super) fn present(task: &StepTask) -> StepTask {
    present_task(task, &mut HashMap::new())
}

/// The same plan with its skills as they are now.
pub(crate) fn present_plan(plan: &WorkflowPlan) -> WorkflowPlan {
    present_steps(plan, &mut HashMap::new())
}

/// `known`: the hashes of skills that were read, by their folders. Thousands of steps may have the same skill.
fn present_task(task: &StepTask, known: &mut HashMap<String, String>) -> StepTask {
    match task {
        StepTask::Skill { name, source, hash } => {
            let now = known.entry(source.clone()).or_insert_with(|| {
                let now = Skill::load(source.as_ref()).and_then(|skill| skill.hash());
                now.map_or_else(|_| hash.clone(), |hash| hash.to_string())
            });
            StepTask::Skill { name: name.clone(), source: source.clone(), hash: now.clone() }
        }
        StepTask::Prompt(_) => task.clone(),
        StepTask::Workflow(plan) => StepTask::Workflow(Box::new(present_steps(plan, known))),
    }
}

fn present_steps(plan: &WorkflowPlan, known: &mut HashMap<String, String>) -> WorkflowPlan {
    let mut plan = plan.clone();
    for step in &mut plan.steps {
        step.task = present_task(&step.task, known);
    }
    plan
}

/// Whether a run, and the runs of its steps, ran this task. A skill may have been edited after its step began to be
/// prepared: only the record of the run has the hash of what it ran.
fn ran(config: &RuntimeConfig, run: RunId, task: &StepTask) -> bool {
    match task {
        StepTask::Prompt(_) => true,
        StepTask::Skill { hash, .. } => {
            let record = RunRecord::read(&config.tools.data.run(run).record());
            record.is_ok_and(|record| record.skill.is_some_and(|skill| skill.hash == *hash))
        }
        StepTask::Workflow(plan) => state_of(config, run).is_some_and(|state| {
            let Some(workflow) = state.workflow.as_deref() else { return false };
            plan.steps.iter().all(|step| {
                let instances = workflow.steps.get(&step.id).map_or(&[][..], |progress| &progress.instances);
                let children = instances.iter().filter_map(|one| one.end.as_ref().map_or(one.child, |end| end.child));
                children.into_iter().all(|child| ran(config, child, &step.task))
            })
        }),
    }
}
