//! The tree of a run: the runs that it has asked for, and those that they have asked for.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use skillrun_auth::Scope;
use skillrun_catalog::TreeRow;
use skillrun_inspect::family::{self, FamilyDiagnosis, LinkedRun};

use super::Route;
use crate::blocking::blocking;
use crate::extract::OfRun;
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;

pub(super) fn routes() -> Vec<Route> {
    let missing = [ProblemCode::RunNotFound, ProblemCode::RunRemoved];
    vec![
        Route {
            operation: Operation::get("/v1/runs/{run_id}/tree", "run_tree", "List a run and all runs below it")
                .scope(Scope::Read)
                .answers::<RunTree>(StatusCode::OK, "The runs, each after its parent")
                .problems(&missing),
            handler: get(show),
        },
        Route {
            operation: Operation::get(
                "/v1/runs/{run_id}/tree/diagnosis",
                "diagnose_tree",
                "Compare what a run and all runs below it say of each other",
            )
            .scope(Scope::Read)
            .answers::<FamilyDiagnosis>(StatusCode::OK, "The runs, and what was checked")
            .problems(&missing),
            handler: get(diagnosis),
        },
    ]
}

/// A run and all runs below it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunTree {
    /// Each run after its parent; siblings in the order in which they were asked for. `parent` has the depth.
    runs: Vec<TreeRow>,
}

async fn show(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Json<RunTree>> {
    let runs = blocking(move || service.summaries.tree(run)).await?;
    if runs.is_empty() {
        return Err(Problem::run_not_found(run));
    }
    Ok(Json(RunTree { runs }))
}

async fn diagnosis(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
) -> HttpResult<Json<FamilyDiagnosis>> {
    service
        .clone()
        .heavily(move || {
            let links = service.summaries.linked(run)?;
            let linked: Vec<LinkedRun> =
                links.into_iter().map(|(run_id, parent)| LinkedRun { run_id, parent }).collect();
            let owner = |run| super::results::owner(&service, run);
            Ok(Json(family::diagnose(&service.data, &service.log, run, &linked, &owner, service.now())?))
        })
        .await
}
