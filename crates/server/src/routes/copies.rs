//! The changes that a run made in a copy of a folder.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::routing::post;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use skillrun_auth::Scope;
use skillrun_log::LogError;
use skillrun_runs::apply::{ApplyError, ApplyMode, ApplyReport, ApplyRequest, apply};
use skillrun_runs::events::read_all;

use super::Route;
use super::evidence::record;
use crate::extract::{JsonBody, OfRun};
use crate::guard::Administers;
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;

pub(super) fn routes() -> Vec<Route> {
    vec![Route {
        // It writes into a folder of the user, as a run with `workspace` does.
        operation: Operation::post(
            "/v1/runs/{run_id}/apply",
            "apply_changes",
            "Apply the changes of a run to the folder of which it has a copy",
        )
        .scope(Scope::Admin)
        .json_body::<ApplyChanges>(json!({"check": true}))
        .answers::<ApplyReport>(StatusCode::OK, "What was applied, or can be")
        .problems(&[
            ProblemCode::RunNotFound,
            ProblemCode::RunRemoved,
            ProblemCode::NotYet,
            ProblemCode::CannotRun,
            ProblemCode::ApplyConflict,
            ProblemCode::EvidenceRemoved,
        ]),
        handler: post(apply_changes),
    }]
}

/// Where the changes of a run are applied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApplyChanges {
    /// Change nothing, and report what would be changed.
    pub(crate) check: bool,
    /// A folder on the server's machine, absolute. Default: the folder that was copied.
    #[schemars(regex(pattern = "^/"))]
    pub(crate) to: Option<String>,
}

async fn apply_changes(
    _: Administers,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    JsonBody(body): JsonBody<ApplyChanges>,
) -> HttpResult<Json<ApplyReport>> {
    let to = body.to.as_deref().map(Path::new);
    if to.is_some_and(|to| !to.is_absolute()) {
        return Err(Problem::field("to", "must be absolute"));
    }
    service
        .clone()
        .heavily(move || {
            let record = record(&service, run)?;
            let mut state = skillrun_lifecycle::run::State::default();
            read_all(&service.log, run, |event| {
                state.evolve(&event);
                Ok::<(), LogError>(())
            })?;
            let request = ApplyRequest {
                run: &service.data.run(run),
                record: &record,
                state: &state,
                to: body.to.as_deref().map(Path::new),
                mode: if body.check { ApplyMode::Check } else { ApplyMode::Apply },
            };
            apply(&request).map(Json).map_err(|error| refused(&error).of_run(run))
        })
        .await
}

fn refused(error: &ApplyError) -> Problem {
    let code = match error {
        ApplyError::NotOver { .. } => ProblemCode::NotYet,
        ApplyError::Conflict { .. } | ApplyError::Lost { .. } => ProblemCode::ApplyConflict,
        ApplyError::NoChanges { .. } => ProblemCode::EvidenceRemoved,
        ApplyError::NoCopy { .. } | ApplyError::TooMany | ApplyError::Target { .. } => ProblemCode::CannotRun,
        ApplyError::Changes(_) | ApplyError::Write { .. } | ApplyError::NotPutBack { .. } => {
            return Problem::of_class(error, error.to_string());
        }
    };
    Problem::new(code, error.to_string())
}
