//! About the service itself: numbers, its description, and how a browser gets in.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::Route;
use crate::auth::cookie::{Transport, forget_cookie, set_cookie};
use crate::auth::{Scope, links, random};
use crate::blocking::blocking;
use crate::extract::JsonBody;
use crate::guard::{From, Reads};
use crate::openapi::{self, Operation};
use crate::problem::{Problem, ProblemCode, Result};
use crate::service::Service;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            operation: Operation::get("/healthz", "healthz", "Whether the process answers")
                .answers_media(StatusCode::OK, "text/plain", "It does"),
            handler: get(|| async { "ok\n" }),
        },
        Route {
            operation: Operation::get("/readyz", "readyz", "Whether the runs of before are found")
                .answers_media(StatusCode::OK, "text/plain", "They are")
                .answers_media(StatusCode::SERVICE_UNAVAILABLE, "text/plain", "Not yet"),
            handler: get(|| async { "ready\n" }),
        },
        Route {
            operation: Operation::get("/metrics", "metrics", "Numbers, in the text format of OpenMetrics")
                .scope(Scope::Read)
                .answers_media(StatusCode::OK, "application/openmetrics-text", "The numbers"),
            handler: get(metrics),
        },
        Route {
            operation: Operation::get("/openapi.json", "openapi", "This description")
                .answers_media(StatusCode::OK, "application/json", "OpenAPI 3.1"),
            handler: get(|| async { Json(openapi::document()) }),
        },
        Route {
            operation: Operation::post("/v1/session", "begin_session", "Let a browser in, with the code of a one-time link")
                .json_body::<Begin>(json!({"code": "the code of a link"}))
                .answers_nothing(StatusCode::NO_CONTENT, "The cookie is set")
                .problems(&[ProblemCode::Unauthorized]),
            handler: post(begin),
        },
        Route {
            operation: Operation::post("/v1/session/end", "end_session", "Make this browser forget its session")
                .answers_nothing(StatusCode::NO_CONTENT, "The cookie is forgotten"),
            handler: post(end),
        },
    ]
}

async fn metrics(_: Reads, State(service): State<Arc<Service>>) -> Result<Response> {
    let text = blocking(move || crate::metrics::all(&service)).await?;
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Begin {
    #[schemars(length(max = 200))]
    code: String,
}

async fn begin(
    State(service): State<Arc<Service>>,
    axum::Extension(from): axum::Extension<From>,
    JsonBody(body): JsonBody<Begin>,
) -> Result<Response> {
    if matches!(from, From::Allowed(_)) {
        return Err(Problem::new(ProblemCode::OriginRefused, "a session is for the page of this server alone"));
    }
    let cookie = blocking(move || {
        let now = service.now();
        if !links::take(&service.data, &body.code, now) {
            let detail = "this link was used or is too old; `skillrun open` prints a new one";
            return Err(Problem::new(ProblemCode::Unauthorized, detail));
        }
        let random = random::bytes().map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()))?;
        Ok(service.guard.sessions().new_cookie(now, random))
    })
    .await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, set_cookie(&cookie, Transport::Plain))]).into_response())
}

async fn end() -> Response {
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, forget_cookie(Transport::Plain))]).into_response()
}
