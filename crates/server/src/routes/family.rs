//! The tree of a run: the runs that it has asked for, and those that they have asked for.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use skillrun_auth::Scope;
use skillrun_catalog::Row;

use super::Route;
use crate::blocking::blocking;
use crate::extract::OfRun;
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;

pub(super) fn routes() -> Vec<Route> {
    vec![Route {
        operation: Operation::get("/v1/runs/{run_id}/tree", "run_tree", "List a run and all runs below it")
            .scope(Scope::Read)
            .answers::<RunTree>(StatusCode::OK, "The runs, each after its parent")
            .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved]),
        handler: get(show),
    }]
}

/// A run and all runs below it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunTree {
    /// Each run after its parent; siblings in the order in which they were asked for. `parent` has the depth.
    runs: Vec<Row>,
}

async fn show(_: Reads, State(service): State<Arc<Service>>, OfRun(run): OfRun) -> HttpResult<Json<RunTree>> {
    let runs = blocking(move || service.summaries.tree(run)).await?;
    if runs.is_empty() {
        return Err(Problem::run_not_found(run));
    }
    Ok(Json(RunTree { runs }))
}
