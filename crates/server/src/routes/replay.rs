//! What a model would see again of a run.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_auth::Scope;
use skillrun_inspect::replay::{RunReplay, replay};
use skillrun_replay::{Dialect, Rendering};

use super::Route;
use super::evidence::record;
use crate::extract::{OfRun, Params};
use crate::guard::Reads;
use crate::openapi::Operation;
use crate::problem::{HttpResult, ProblemCode};
use crate::service::Service;

pub(super) fn routes() -> Vec<Route> {
    vec![Route {
        operation: Operation::get(
            "/v1/runs/{run_id}/replay",
            "replay_run",
            "Show what a model would see again of a run",
        )
        .scope(Scope::Read)
        .query::<ReplayParams>()
        .answers::<ReplayView>(StatusCode::OK, "The turns that are over, and what was left out of them")
        .problems(&[ProblemCode::RunNotFound, ProblemCode::RunRemoved]),
        handler: get(show),
    }]
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ReplayParams {
    /// Also render the items in this dialect.
    dialect: Option<Dialect>,
    /// Only turns that ended at or before the event with this `seq`.
    upto: Option<u64>,
}

/// The replay of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReplayView {
    #[serde(flatten)]
    replay: RunReplay,
    /// The items in the requested dialect: a text, or an object with a member of the request to an API. Absent if no
    /// dialect was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    rendered: Option<Rendering>,
}

async fn show(
    _: Reads,
    State(service): State<Arc<Service>>,
    OfRun(run): OfRun,
    Params(params): Params<ReplayParams>,
) -> HttpResult<Json<ReplayView>> {
    service
        .clone()
        .heavily(move || {
            record(&service, run)?;
            let replay = replay(&service.data, &service.log, run, params.upto)?;
            let rendered = params.dialect.map(|dialect| dialect.render(&replay.replay));
            Ok(Json(ReplayView { replay, rendered }))
        })
        .await
}
