//! Workflows: checked, started, shown and retried. They are runs, so that everything else of them has the routes of runs.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use axum::Json;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::json;
use skillrun_auth::{Granted, Scope};
use skillrun_inspect::workflow::{planned_steps, workflow};
use skillrun_lifecycle::run::State as RunState;
use skillrun_model::status::Permission;
use skillrun_model::workflow::{StepTask, WorkflowOrigin, WorkflowPlan, WorkflowView};
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_runs::RunRecord;
use skillrun_runs::events::read_all;
use skillrun_runtime::NewRun;
use skillrun_runtime::workflows::{WorkflowFault, WorkflowSurroundings, again, planned, request};
use skillrun_skill::workflow::{WorkflowForm, read, read_file};

use super::Route;
use super::evidence::record;
use super::runs::{
    FromEarlier, WaitParams, accepted, begin_from, creating, key, may, only_admin, submit, watch, webhooks,
};
use crate::api::{
    CheckWorkflow, CreateWorkflow, PlannedInput, PlannedWorkflow, RetryWorkflow, RunOptions, WorkflowCheck,
};
use crate::blocking::blocking;
use crate::extract::{OfRun, Params, parsed, whole};
use crate::guard::{Reads, Runs};
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;

/// Where a skill keeps its workflow.
const OF_SKILL: [&str; 3] = ["assets/workflow.yaml", "assets/workflow.yml", "assets/workflow.json"];

const EXAMPLE: &str = "steps:\n  - id: greet\n    prompt: Say hello.\n    engine: scripted\n";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            operation: creating(
                Operation::post("/v1/workflows", "create_workflow", "Run a workflow")
                    .problems(&[ProblemCode::SkillNotFound]),
                "The workflow was accepted",
            )
            .json_body::<CreateWorkflow>(json!({ "workflow": EXAMPLE }))
            .problems(&[ProblemCode::RunRemoved]),
            handler: post(create),
        },
        Route {
            operation: Operation::post("/v1/workflows/validate", "validate_workflow", "Check the file of a workflow")
                .scope(Scope::Read)
                .json_body::<CheckWorkflow>(json!({ "workflow": EXAMPLE }))
                .answers::<WorkflowCheck>(StatusCode::OK, "Whether the file can be carried out, and its steps"),
            handler: post(validate),
        },
        Route {
            operation: Operation::get("/v1/runs/{run_id}/workflow", "get_workflow", "Show a workflow with its steps")
                .scope(Scope::Read)
                .answers::<WorkflowView>(StatusCode::OK, "The workflow")
                .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved, ProblemCode::CannotRun]),
            handler: get(show),
        },
        Route {
            operation: creating(
                Operation::post(
                    "/v1/runs/{run_id}/workflow/retry",
                    "retry_workflow",
                    "Run a workflow again with the same inputs",
                )
                .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved]),
                "The new workflow was accepted",
            )
            .json_body::<RetryWorkflow>(json!({"from_failed": true})),
            handler: post(retry),
        },
    ]
}

fn refused(fault: &WorkflowFault) -> Problem {
    Problem::field("workflow", fault.to_string()).with_code(ProblemCode::CannotRun)
}

/// The plan of a text, which has no folder and so can name no path.
fn plan_of(service: &Service, text: &str, engine: Option<&str>) -> Result<WorkflowPlan, WorkflowFault> {
    let form = if text.trim_start().starts_with('{') { WorkflowForm::Json } else { WorkflowForm::Yaml };
    let file = read("workflow", text, form)?;
    planned(&file, around(service, None, engine, None))
}

fn around<'a>(
    service: &'a Service,
    folder: Option<&'a std::path::Path>,
    engine: Option<&'a str>,
    origin: Option<&'a WorkflowOrigin>,
) -> WorkflowSurroundings<'a> {
    WorkflowSurroundings {
        folder,
        skills: &service.around.skills,
        engines: &service.around.engines,
        engine: engine.or(service.around.engine.as_deref()),
        origin,
    }
}

async fn create(
    Runs(who): Runs,
    State(service): State<Arc<Service>>,
    Params(params): Params<WaitParams>,
    request: Request,
) -> HttpResult<Response> {
    let wait = params.wait()?;
    let key = key(request.headers())?;
    let json = whole(request).await?;
    let create: CreateWorkflow = parsed(&json, "")?;
    let fingerprint = blake3::hash(&json);
    let urls = webhooks(&service, &create.webhooks)?;
    let making = service.clone();
    let run = service
        .heavily(move || {
            let run = submit(&making, key, fingerprint, || new_run(&making, &who, &create))?;
            watch(&making, run, urls);
            Ok::<_, Problem>(run)
        })
        .await?;
    accepted(&service, run, wait).await
}

/// Blocking.
fn new_run(service: &Service, who: &Granted, create: &CreateWorkflow) -> HttpResult<NewRun> {
    may(service, who, &create.options)?;
    let is_admin = who.scope.allows(Scope::Admin);
    if create.workspace.is_some() && !is_admin {
        return Err(only_admin("workspace"));
    }
    let engine = create.engine.as_deref();
    let plan = match (&create.workflow, &create.skill) {
        (Some(text), None) => plan_of(service, text, engine).map_err(|fault| refused(&fault))?,
        (None, Some(name)) => of_skill(service, name, engine)?,
        (Some(_), Some(_)) => {
            let problem = Problem::field("skill", "was given with a workflow; give only one of them");
            return Err(problem.with_code(ProblemCode::CannotRun));
        }
        (None, None) => {
            let problem = Problem::field("workflow", "is missing; give its text, or the name of a skill that has one");
            return Err(problem.with_code(ProblemCode::CannotRun));
        }
    };
    if !is_admin && let Some(field) = reaches_beyond(&plan) {
        return Err(only_admin(field));
    }
    let workspace = create.workspace.as_ref().map(|chosen| (PathBuf::from(&chosen.path), chosen.sharing()));
    if workspace.as_ref().is_some_and(|(path, _)| !path.is_absolute()) {
        return Err(Problem::field("workspace.path", "must be absolute"));
    }
    if create.workspace.as_ref().is_some_and(|chosen| chosen.copy) {
        let problem = Problem::field("workspace.copy", "does not apply to a workflow; leave it out");
        return Err(problem.with_code(ProblemCode::CannotRun));
    }
    for (field, is_given) in
        [("profile", create.options.profile.is_some()), ("continuation", create.options.continuation.is_some())]
    {
        if is_given {
            let problem = Problem::field(format!("options.{field}"), "does not apply to a workflow; leave it out");
            return Err(problem.with_code(ProblemCode::CannotRun));
        }
    }
    let options = create.options.options(create.model.clone())?;
    let new = request(plan, create.inputs.clone(), options).map_err(|fault| match fault {
        WorkflowFault::Input(error) => Problem::field("inputs", error.to_string()).with_code(ProblemCode::InputInvalid),
        other @ (WorkflowFault::File(_) | WorkflowFault::NoEngine(_) | WorkflowFault::NotWorkflow(_)) => {
            refused(&other)
        }
    })?;
    Ok(NewRun { workspace, ..new })
}

/// What only an administrator may ask for: commands that the server runs, and engines without limits.
fn reaches_beyond(plan: &WorkflowPlan) -> Option<&'static str> {
    plan.steps.iter().find_map(|step| {
        let nested = if let StepTask::Workflow(nested) = &step.task { reaches_beyond(nested) } else { None };
        let checks = (!step.checks.is_empty()).then_some("workflow.steps.check");
        let permission = (step.permission == Some(Permission::Full)).then_some("workflow.steps.permission");
        checks.or(permission).or(nested)
    })
}

/// The workflow of a skill of the search path.
fn of_skill(service: &Service, name: &str, engine: Option<&str>) -> HttpResult<WorkflowPlan> {
    let unusable = |words: String| Problem::field("skill", words).with_code(ProblemCode::CannotRun);
    if name.contains('/') {
        return Err(unusable("is a name, and not a path".to_owned()));
    }
    let skill = service
        .around
        .skills
        .find(name)
        .map_err(|error| Problem::field("skill", error.to_string()).with_code(ProblemCode::SkillNotFound))?;
    let path = OF_SKILL.iter().map(|name| skill.root.join(name)).find(|path| path.is_file());
    let path = path.ok_or_else(|| unusable(format!("has no workflow; it would be in {}", OF_SKILL[0])))?;
    let file = read_file(&path).map_err(|error| refused(&error.into()))?;
    let origin = WorkflowOrigin::Skill(skill.name);
    planned(&file, around(service, path.parent(), engine, Some(&origin))).map_err(|fault| refused(&fault))
}

async fn validate(_: Reads, State(service): State<Arc<Service>>, request: Request) -> HttpResult<Json<WorkflowCheck>> {
    let json = whole(request).await?;
    let check: CheckWorkflow = parsed(&json, "")?;
    let checking = service.clone();
    let plan =
        service.heavily(move || Ok::<_, Problem>(plan_of(&checking, &check.workflow, check.engine.as_deref()))).await?;
    Ok(Json(match plan {
        Ok(plan) => WorkflowCheck { valid: true, problem: None, plan: Some(shown(plan)) },
        Err(fault) => WorkflowCheck { valid: false, problem: Some(fault.to_string()), plan: None },
    }))
}

fn shown(plan: WorkflowPlan) -> PlannedWorkflow {
    let steps = planned_steps(&plan);
    let input = |(name, input): (String, skillrun_model::workflow::WorkflowInput)| {
        let skillrun_model::workflow::WorkflowInput { description, schema, default } = input;
        (name, PlannedInput { description, schema, default })
    };
    PlannedWorkflow {
        name: plan.name,
        description: plan.description,
        inputs: plan.inputs.into_iter().map(input).collect(),
        steps,
    }
}

async fn show(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Json<WorkflowView>> {
    let view = blocking(move || {
        let record = record(&service, run)?;
        let mut state = RunState::default();
        read_all(&service.log, run, |event| {
            state.evolve(&event);
            Ok::<(), skillrun_log::LogError>(())
        })?;
        Ok::<_, Problem>(workflow(&service.data, &service.log, &record, &state)?)
    })
    .await?;
    let not_one = || Problem::new(ProblemCode::CannotRun, "the run is not a workflow").of_run(run);
    view.map(Json).ok_or_else(not_one)
}

async fn retry(
    Runs(who): Runs,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<WaitParams>,
    request: Request,
) -> HttpResult<Response> {
    let make = move |service: &Service, who: &Granted, old: &RunRecord, body: &RetryWorkflow| {
        let new = again(old, &service.data.run(run), body.from_failed)
            .map_err(|fault| Problem::new(ProblemCode::CannotRun, fault.to_string()).of_run(run))?;
        let is_admin = who.scope.allows(Scope::Admin);
        // Another user may have started it.
        let reaching = [
            ("workspace", new.workspace.is_some()),
            ("options.permission", new.options.permission == Some(Permission::Full)),
            ("options.workspace_settings", new.options.workspace_settings == Some(WorkspaceSettings::Allow)),
            ("options.env", !new.options.env.is_empty()),
            ("options.secrets", !new.options.secrets.is_empty()),
            ("workflow", old.workflow().is_some_and(|plan| reaches_beyond(plan).is_some())),
        ];
        match reaching.into_iter().find(|(_, reaches)| *reaches && !is_admin) {
            Some((field, _)) => Err(only_admin(field)),
            None => Ok(new),
        }
    };
    begin_from(&service, who, run, params, request, make).await
}

static NO_OPTIONS: LazyLock<RunOptions> = LazyLock::new(RunOptions::default);

impl FromEarlier for RetryWorkflow {
    const KIND: &'static str = "workflow";

    fn options(&self) -> &RunOptions {
        &NO_OPTIONS
    }

    fn webhooks(&self) -> &[String] {
        &self.webhooks
    }
}
