//! From the file of a workflow to a request: every mistake that can be found in it is reported before anything starts.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use skillrun_engine::Engines;
use skillrun_model::workflow::{StepId, StepTask, WorkflowOrigin, WorkflowPlan};
use skillrun_model::{Classified, ErrorClass, RunId};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::record::{RecordedTask, RunRecord, Workspace};
use skillrun_skill::SearchPath;
use skillrun_skill::workflow::{PlanContext, WorkflowError, WorkflowFile, WorkflowInputError, inputs_of, plan};

use crate::accept::{NewRun, Options, RunTask};
use crate::conductor::reuse::present_plan;

/// Why a workflow cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowFault {
    #[error(transparent)]
    File(#[from] WorkflowError),
    #[error(transparent)]
    Input(#[from] WorkflowInputError),
    #[error(
        "step \"{0}\" has no engine; name one in the file or with --engine, or set a default with \
         `skillrun config set engine NAME`"
    )]
    NoEngine(StepId),
    #[error("run {0} is not a workflow; `skillrun retry {0}` runs it again")]
    NotWorkflow(RunId),
}

impl Classified for WorkflowFault {
    fn class(&self) -> ErrorClass {
        match self {
            Self::File(error) => error.class(),
            Self::Input(error) => error.class(),
            Self::NoEngine(_) | Self::NotWorkflow(_) => ErrorClass::Usage,
        }
    }
}

/// What surrounds the file of a workflow.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowSurroundings<'a> {
    /// The folder of the file. None: it came without one, and can name no path.
    pub folder: Option<&'a Path>,
    pub skills: &'a SearchPath,
    pub engines: &'a Engines,
    /// The engine of steps that name none.
    pub engine: Option<&'a str>,
    /// None: it came as a text, with the request of its author.
    pub origin: Option<&'a WorkflowOrigin>,
}

/// The plan of a file, with an engine for every step.
pub fn planned(file: &WorkflowFile, around: WorkflowSurroundings<'_>) -> Result<WorkflowPlan, WorkflowFault> {
    let engines: Vec<String> = around.engines.iter().map(|engine| engine.name.to_string()).collect();
    let mut find_skill = |name: &str, base: Option<&Path>| match base {
        Some(base) => around.skills.resolve(name, base),
        None => around.skills.find(name),
    };
    let mut context = PlanContext { folder: around.folder, find_skill: &mut find_skill, engines: &engines };
    let mut plan = WorkflowPlan { origin: around.origin.cloned(), ..plan(file, &mut context)? };
    fill_engines(&mut plan, around.engine)?;
    Ok(plan)
}

fn fill_engines(plan: &mut WorkflowPlan, engine: Option<&str>) -> Result<(), WorkflowFault> {
    for step in &mut plan.steps {
        match &mut step.task {
            StepTask::Workflow(nested) => fill_engines(nested, engine)?,
            StepTask::Skill { .. } | StepTask::Prompt(_) if step.engines.is_empty() => {
                let engine = engine.ok_or_else(|| WorkflowFault::NoEngine(step.id.clone()))?;
                step.engines.push(engine.to_owned());
            }
            StepTask::Skill { .. } | StepTask::Prompt(_) => {}
        }
    }
    Ok(())
}

/// The request of a workflow.
pub fn request(plan: WorkflowPlan, inputs: Map<String, Value>, options: Options) -> Result<NewRun, WorkflowFault> {
    let input = inputs_of(&plan, inputs)?;
    let task = RunTask::Workflow(Arc::new(plan));
    Ok(NewRun { input, options, ..NewRun::of(task, skillrun_model::workflow::CONDUCTOR) })
}

/// The same workflow with the same inputs once more, with its skills as they are now. `from_failed`: steps that are ready
/// there, and the same, count. `folder`: of the old run.
pub fn again(record: &RunRecord, folder: &RunFolder, from_failed: bool) -> Result<NewRun, WorkflowFault> {
    let RecordedTask::Workflow(plan) = record.task() else { return Err(WorkflowFault::NotWorkflow(record.run_id)) };
    let before = &record.request;
    let options = Options {
        permission: Some(before.permission),
        confinement: Some(before.confinement),
        network: Some(before.network),
        allow_hosts: before.allow_hosts.clone(),
        limits: before.limits,
        workspace_settings: Some(before.workspace_settings),
        home: Some(before.home),
        model: before.model.clone(),
        effort: before.effort.clone(),
        hard_timeout_sec: Some(before.timeouts.hard_sec),
        stall_timeout_sec: Some(before.timeouts.stall_sec),
        linger_sec: before.timeouts.linger_sec,
        max_bytes: Some(before.max_bytes),
        require_user_reply: Some(before.interactive_require_user_reply),
        session_timeout_sec: Some(before.session_timeout_sec),
        auto_decision_limit: Some(before.auto_decision_limit),
        priority: Some(before.priority),
        env: before.env.clone(),
        secrets: before.secrets.clone(),
        ..Options::default()
    };
    let own = folder.workspace();
    let (workspace, copy_of) = match &before.workspace {
        Workspace::Folder { path, sharing } => (Some((path.as_path().to_owned(), *sharing)), None),
        // Steps that are taken over have left their files there, and the others find them.
        Workspace::Own | Workspace::Copy(_) if from_failed => (None, Some(own).filter(|own| own.is_dir())),
        // The request does not have the folder that an earlier retry began with.
        Workspace::Copy(_) if before.reuses.is_some() => (None, None),
        Workspace::Copy(copy) => (None, Some(copy.from.as_path().to_owned())),
        Workspace::Own => (None, None),
    };
    Ok(NewRun {
        workspace,
        copy_of,
        retry_of: Some(record.run_id),
        reuses: from_failed.then_some(record.run_id),
        ..request(present_plan(plan), before.input.clone(), options)?
    })
}
