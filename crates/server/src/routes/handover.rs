//! A run that continues the conversation of another one, usually on another engine.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;
use serde_json::json;
use skillrun_inspect::replay::replay;
use skillrun_model::ExecutionMode;
use skillrun_replay::handover::{self, DEFAULT_PROMPT};
use skillrun_runs::record::Workspace;
use skillrun_runs::{RunRecord, prompt};
use skillrun_runtime::NewRun;

use super::Route;
use super::runs::{FromEarlier, WaitParams, begin_from, creating, only_admin};
use crate::api::{ContinueRun, RunOptions};
use crate::extract::{OfRun, Params};
use crate::guard::Runs;
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use skillrun_auth::{Granted, Scope};

pub(super) fn routes() -> Vec<Route> {
    vec![Route {
        operation: creating(
            Operation::post(
                "/v1/runs/{run_id}/continue",
                "continue_run",
                "Start a conversation that begins with the transcript of a run",
            )
            .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved]),
            "The new run was accepted",
        )
        .json_body::<ContinueRun>(json!({"engine": "scripted", "prompt": "And now the tests."})),
        handler: post(continue_run),
    }]
}

async fn continue_run(
    Runs(who): Runs,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<WaitParams>,
    request: Request,
) -> HttpResult<Response> {
    let make = move |service: &Service, who: &Granted, old: &RunRecord, body: &ContinueRun| {
        let checked = body.prompt.as_deref().map_or(Ok(()), prompt::check);
        checked.map_err(|fault| {
            Problem::field("prompt", fault.to_string()).with_code(ProblemCode::CannotRun).of_run(run)
        })?;
        let missing = || Problem::field("engine", "is missing; use one of GET /v1/engines");
        let engine = body.engine.clone().or_else(|| service.around.engine.clone()).ok_or_else(missing)?;
        let workspace = match &old.request.workspace {
            Workspace::Folder { .. } if !who.scope.allows(Scope::Admin) => return Err(only_admin("workspace")),
            Workspace::Folder { path, sharing } => Some((path.as_path().to_owned(), *sharing)),
            // The conversation continues in a folder of its own, as that of any other run does.
            Workspace::Own | Workspace::Copy(_) => None,
        };
        let found = replay(&service.data, &service.log, run, None)?;
        let prompt = body.prompt.as_deref().unwrap_or(DEFAULT_PROMPT);
        let nothing = || Problem::new(ProblemCode::CannotRun, "the run has no turn that can be continued").of_run(run);
        let (message, continues) = handover::message(run, &found.replay, prompt).ok_or_else(nothing)?;
        Ok(NewRun {
            mode: Some(ExecutionMode::Conversation),
            workspace,
            profile: body.options.profile,
            continuation: body.options.continuation,
            options: body.options.options(body.model.clone())?.in_box_of(&old.request),
            continues: Some(continues),
            ..NewRun::ask(message, engine)
        })
    };
    begin_from(&service, who, run, params, request, make).await
}

impl FromEarlier for ContinueRun {
    const KIND: &'static str = "continue";

    fn options(&self) -> &RunOptions {
        &self.options
    }

    fn webhooks(&self) -> &[String] {
        &self.webhooks
    }
}
