//! A step begins: its values are resolved, and the request of its child is stored, from which the child is made, or
//! the step is taken over from the earlier run of the workflow.

use std::time::Duration;

use serde_json::{Map, Value};
use skillrun_lifecycle::workflow::{Beginning, WorkflowState, end_without_run, stops};
use skillrun_model::codes::Code;
use skillrun_model::delegation::{OnParentEnd, SubagentRequested};
use skillrun_model::workflow::{CONDUCTOR, ITEMS_MAX, StepEnded, StepRequest, StepState, StepTask, WorkflowStep};
use skillrun_runs::prompt;
use skillrun_skill::workflow::{StepIdentity, fingerprint};

use super::list::StoredList;
use super::make::time_of;
use super::reuse::{present, reused};
use super::values::Values;
use crate::delegation::make::store;
use crate::error::RuntimeError;
use crate::run::Run;
use crate::runtime::RuntimeConfig;
use crate::worker::outside::PreparedStep;

/// Finds out with which values a step begins, and stores the request of its child.
pub(crate) fn prepare(config: &RuntimeConfig, run: &Run, beginning: &Beginning) -> Result<PreparedStep, RuntimeError> {
    let Beginning { step_id, item, trial, .. } = beginning;
    // Where the list of a step that repeats is not known, the whole step has ended.
    let faulty = |words: String, step: Option<&WorkflowStep>, items: Option<u32>| {
        let item = items.and(*item);
        let end = StepEnded {
            item,
            items,
            stops: item.is_none() && step.is_some_and(|step| stops(step, StepState::Failed)),
            ..end_without_run(step_id, StepState::Failed, Code::StepInputInvalid, &words)
        };
        Ok(PreparedStep::Ended(Box::new(end)))
    };
    let plan = run.record.workflow();
    let (Some(plan), Some(mut values)) = (plan, Values::of(&config.tools, run)) else {
        return faulty("the run is not a workflow".to_owned(), None, None);
    };
    let Some(step) = plan.step(step_id) else {
        return faulty("the plan has no such step".to_owned(), None, None);
    };
    let mut items = beginning.items;
    if let Some(list) = &step.for_each {
        let path = run.folder.audit().join("blobs").join(format!("items.{step_id}.jsonl"));
        let failed = |action: &'static str| RuntimeError::file(path.clone(), action);
        // The list is resolved for the first item alone: it may be the outputs of thousands of runs.
        let stored = match StoredList::open(&path).map_err(failed("read"))? {
            Some(stored) => stored,
            None => {
                let list = match values.resolve(list) {
                    Ok(Value::Array(list)) => list,
                    Ok(_) => return faulty("for_each is not a list".to_owned(), Some(step), None),
                    Err(fault) => return faulty(format!("for_each: {fault}"), Some(step), None),
                };
                if list.len() > ITEMS_MAX {
                    return faulty(format!("for_each has {} items; at most {ITEMS_MAX}", list.len()), Some(step), None);
                }
                StoredList::make(&path, &list).map_err(failed("written"))?
            }
        };
        items = u32::try_from(stored.len()).ok();
        if stored.len() == 0 {
            let end = StepEnded {
                item: None,
                ..end_without_run(step_id, StepState::Ready, Code::WorkflowCompleted, "its list is empty")
            };
            return Ok(PreparedStep::Ended(Box::new(end)));
        }
        if let Some(item) = item {
            values.item = stored.get(u64::from(*item)).map_err(failed("read"))?;
        }
    }
    let input = match values.resolve_fields(&step.with) {
        Ok(input) => input,
        Err(fault) => return faulty(fault.to_string(), Some(step), items),
    };
    let engine = match &step.task {
        StepTask::Workflow(_) => CONDUCTOR.to_owned(),
        StepTask::Skill { .. } | StepTask::Prompt(_) => {
            step.engines.get(beginning.engine_index as usize).cloned().unwrap_or_default()
        }
    };
    let task = present(&step.task);
    let fingerprint = fingerprint_of(run, step, &task, &engine, &input);
    if let Some(end) = reused(config, run, plan, beginning, &task, &fingerprint, items)? {
        return Ok(PreparedStep::Ended(Box::new(end)));
    }
    let now = config.tools.clock.now();
    let child = match beginning.child {
        Some(child) => child,
        None => config.new_id(now)?,
    };
    let not_before = beginning.not_before;
    let title = title(step);
    let request =
        StepRequest { step_id: step_id.clone(), item: *item, engine: engine.clone(), trial: *trial, not_before, input };
    let stored = store(&run.folder, child, &request).map_err(RuntimeError::file(run.folder.audit(), "written"))?;
    let seconds = match &step.task {
        StepTask::Skill { .. } | StepTask::Prompt(_) => step.timeout_sec,
        StepTask::Workflow(plan) => time_of(step, plan),
    };
    let time = Duration::try_from_secs_f64(seconds.unwrap_or(run.record.request.timeouts.hard_sec)).ok();
    let asked = SubagentRequested {
        child_run_id: child,
        key: WorkflowState::key(step_id, *item, *trial),
        engine,
        title,
        on_parent_end: OnParentEnd::Cancel,
        timeout_ms: time.and_then(|time| u64::try_from(time.as_millis()).ok()),
        request: stored,
    };
    Ok(PreparedStep::Child { child, items, fingerprint, asked: Box::new(asked) })
}

fn title(step: &WorkflowStep) -> String {
    match &step.task {
        // The name in the file may be a path.
        StepTask::Skill { name, .. } => name.rsplit('/').find(|part| !part.is_empty()).unwrap_or(name).to_owned(),
        StepTask::Prompt(text) => prompt::title(text),
        StepTask::Workflow(plan) => plan.name.clone(),
    }
}

/// BLAKE3 of everything that decides what a step does: the same step has the same one in another run of the workflow.
/// `task`: with its skills as they are now.
fn fingerprint_of(run: &Run, step: &WorkflowStep, task: &StepTask, engine: &str, input: &Map<String, Value>) -> String {
    let request = &run.record.request;
    fingerprint(&StepIdentity {
        task,
        input,
        engine,
        model: step.model.as_deref().or(request.model.as_deref()),
        permission: step.permission.unwrap_or(request.permission),
        workspace: step.workspace,
        output: &step.output,
        checks: &step.checks,
        timeout_sec: step.timeout_sec,
    })
}
